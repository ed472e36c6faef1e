// SPDX-License-Identifier: Apache-2.0
#include "graphs/recapture.hpp"

#include <algorithm>
#include <memory>
#include <tuple>
#include <type_traits>

#include "api/graph_objects.hpp"
#include "api/reserved.hpp"
#include "graphs/capturing.hpp"
#include "graphs/update.hpp"

#if CUDA_VERSION >= 12020

namespace cushim::sim {

namespace {

template <class T>
bool have_same_bytes(const std::vector<T> &all, const std::vector<T> &others) {
  return std::ranges::equal(all, others, [](const T &a, const T &b) { return has_same_bytes(a, b); });
}

bool is_same(const Memcpy &before, const Memcpy &after) {
  const auto fields = [](const CUDA_MEMCPY3D &c) {
    return std::tie(c.srcXInBytes, c.srcY, c.srcZ, c.srcLOD, c.srcMemoryType, c.srcHost, c.srcDevice,
                    c.srcArray, c.srcPitch, c.srcHeight, c.dstXInBytes, c.dstY, c.dstZ, c.dstLOD,
                    c.dstMemoryType, c.dstHost, c.dstDevice, c.dstArray, c.dstPitch, c.dstHeight,
                    c.WidthInBytes, c.Height, c.Depth);
  };
  return fields(before.parameters()) == fields(after.parameters());
}
bool is_same(const Memset &before, const Memset &after) {
  const auto fields = [](const CUDA_MEMSET_NODE_PARAMS &p) {
    return std::tie(p.dst, p.pitch, p.value, p.elementSize, p.width, p.height);
  };
  return fields(before.parameters) == fields(after.parameters);
}
bool is_same(const KernelLaunch &before, const KernelLaunch &after) {
  const auto shape = [](const KernelLaunch &launch) {
    const ptx::LaunchShape &s = launch.shape;
    return std::tie(s.grid.x, s.grid.y, s.grid.z, s.block.x, s.block.y, s.block.z, s.cluster.x, s.cluster.y,
                    s.cluster.z, s.dynamic_shared_bytes);
  };
  const NodeAttributes none;
  const NodeAttributes &a = before.attributes != nullptr ? *before.attributes : none;
  const NodeAttributes &b = after.attributes != nullptr ? *after.attributes : none;
  const bool has_same_attributes = std::ranges::equal(a, b, [](const auto &x, const auto &y) {
    return x.first == y.first && has_same_bytes(x.second, y.second);
  });
  return before.function == after.function && shape(before) == shape(after) && has_same_attributes &&
         before.is_cooperative == after.is_cooperative && before.parameters == after.parameters;
}
bool is_same(const HostFunction &before, const HostFunction &after) {
  return before.function == after.function && before.data == after.data;
}
bool is_same(const EventRecord &before, const EventRecord &after) { return before.event == after.event; }
bool is_same(const EventWait &before, const EventWait &after) { return before.event == after.event; }
bool is_same(const BatchMemOp &before, const BatchMemOp &after) {
  return have_same_bytes(before.operations, after.operations);
}
template <class Parameters>
bool is_same(const SemaphoreList<Parameters> &before, const SemaphoreList<Parameters> &after) {
  return before.semaphores == after.semaphores && have_same_bytes(before.parameters, after.parameters);
}
// A recapture asks for new memory, and gets that of the node.
bool is_same(const MemoryAllocation &before, const MemoryAllocation &after) {
  const GraphMemory &a = *before.memory, &b = *after.memory;
  return a.device == b.device && a.size == b.size && a.is_managed == b.is_managed && a.access.empty();
}
bool is_same(const MemoryFree &before, const MemoryFree &after) { return before.memory == after.memory; }
// Streams do not capture these.
bool is_same(const Empty &, const Empty &) { return true; }
bool is_same(const ChildGraph &, const ChildGraph &) { return false; }
bool is_same(const Conditional &, const Conditional &) { return false; }

bool is_same(const GraphNode &node, const Command &command, CUcontext context) {
  return node.context == context && std::visit(
                                        [&](const auto &before) {
                                          using Type = std::remove_cvref_t<decltype(before)>;
                                          return is_same(before, std::get<Type>(command));
                                        },
                                        node.command);
}

// Returns whether the node depends on exactly the nodes of the point, with the same data of the edges.
bool has_dependencies(const Call &call, const GraphNode &node, CapturePoint point) {
  remove_duplicates(point);
  std::size_t count = 0;
  for (std::size_t i = 0; i < point.dependencies.size(); ++i) {
    const GraphNode *const from = call.system.handles.find<GraphNode>(point.dependencies[i]);
    if (from == nullptr) continue;
    const GraphEdge *const edge = find_edge(*from, node);
    if (edge == nullptr || edge->data != point.edges[i]) return false;
    ++count;
  }
  return node.dependencies.size() == count;
}

// Returns the result of the program's callback.
CUresult ask(Call &call, const Recapture &with, GraphNode &node, const Command &command, CUcontext context) {
  GraphNode wanted;
  wanted.command = command;
  wanted.context = context;
  const CUgraphNodeParams before = parameters_of_any(call, node), after = parameters_of_any(call, wanted);
  const bool is_eligible = result_of_replacement(call.system, node.command, node.context, command, context) ==
                           CU_GRAPH_EXEC_UPDATE_SUCCESS;
  const auto status = static_cast<CushimGraphRecaptureStatus>(is_eligible ? 0 : 1);
  const CUgraphNode handle = handle_of(node);
  call.lock.unlock();
  const CUresult code = with.callback(with.data, handle, &before, &after, status);
  call.lock.lock();
  return code;
}

}  // namespace

GraphNode &recapture(Call &call, Stream &stream, Command command, CUcontext context) {
  const std::shared_ptr<Capture> capture = stream.capture->capture;
  Recapture &state = *capture->recapture;
  const auto require_going_on = [&](bool condition) {
    if (!condition) capture->is_valid = false;
    require(condition, kRecaptureFailure);
  };
  const auto next_node = [&] { return call.system.handles.find<GraphNode>(state.nodes[state.next]); };
  require_going_on(!state.is_complete());
  GraphNode *node = next_node();
  require_going_on(node != nullptr && node->command.index() == command.index() &&
                   has_dependencies(call, *node, *stream.capture));
  if (!is_same(*node, command, context)) {
    require_going_on(!is_of_memory(command));
    if (state.callback != nullptr) {
      require_going_on(ask(call, state, *node, command, context) == CUDA_SUCCESS);
      // The callback may have destroyed objects.
      node = next_node();
      require_going_on(node != nullptr && capture->is_valid && is_active(call.system, *capture) &&
                       std::ranges::find(capture->streams, &stream) != capture->streams.end());
    }
    node->command = std::move(command);
    node->context = context;
  }
  ++state.next;
  return *node;
}

}  // namespace cushim::sim

#else

namespace cushim::sim {
GraphNode &recapture(Call &, Stream &, Command, CUcontext) { fail(kRecaptureFailure); }
}  // namespace cushim::sim

#endif
