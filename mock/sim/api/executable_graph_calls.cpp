// SPDX-License-Identifier: Apache-2.0
// Executable graphs: instantiation, launches, updates.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "api/graph_objects.hpp"
#include "graphs/capturing.hpp"
#include "graphs/update.hpp"

namespace cushim::sim {
namespace {

constexpr unsigned long long kUpload = 2;  // CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD
constexpr unsigned long long kDeviceLaunch = 4;
constexpr unsigned long long kFlags = 15;  // all that CUDA 13 defines
constexpr int kInvalidStructure = 2;       // CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
constexpr int kForbiddenNode = 3;          // CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED
constexpr int kSeveralContexts = 4;        // CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED
constexpr int kUnusedHandle = 5;           // CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED

// Finds the first node that a graph that devices launch must not have: of another type, or in another context
// than the first node. Copies count as nodes of the current context, memsets as nodes of the context of their
// memory. Measured on an H200, driver 580. (No kernel launches a graph.)
class DeviceLaunchCheck {
 public:
  DeviceLaunchCheck(System &system, CUcontext current) : system_(system), current_(current) {}

  Refusal refusal_of(const Graph &graph) {
    const Refusal found = refusal_of_nodes(graph);
    // Child graphs without nodes do not count: measured, driver 580.
    if (found.code == CUDA_SUCCESS && !has_work_) return {CUDA_ERROR_INVALID_VALUE};
    return found;
  }

 private:
  Refusal refusal_of_nodes(const Graph &graph) {
    Refusal found;
    graph.for_each_node([&](const GraphNode &node) {
      if (found.code == CUDA_SUCCESS) found = refusal_of(node);
    });
    return found;
  }
  Refusal refusal_of(const GraphNode &node) {
    if (const auto *const child = std::get_if<ChildGraph>(&node.command))
      return refusal_of_nodes(*child->graph);
    if (!std::holds_alternative<Memcpy>(node.command) && !std::holds_alternative<Memset>(node.command) &&
        !std::holds_alternative<KernelLaunch>(node.command))
      return {CUDA_ERROR_INVALID_VALUE, kForbiddenNode, handle_of(node)};
    has_work_ = true;
    const CUcontext context = context_of(node);
    if (context_ == nullptr) context_ = context;
    if (context != context_) return {CUDA_ERROR_INVALID_VALUE, kSeveralContexts, handle_of(node)};
    return {};
  }

  CUcontext context_of(const GraphNode &node) const {
    if (std::holds_alternative<Memcpy>(node.command)) return current_;
    const auto *const set = std::get_if<Memset>(&node.command);
    const Allocation *const memory = set != nullptr ? system_.memory.find(set->parameters.dst) : nullptr;
    return memory != nullptr && memory->context != nullptr
               ? reinterpret_cast<CUcontext>(memory->context->handle)
               : node.context;
  }

  System &system_;
  CUcontext current_, context_ = nullptr;  // context_: of the first node
  bool has_work_ = false;
};

// Returns the first node that is in a cycle or follows one; null if there is none.
CUgraphNode node_of_cycle(const Graph &graph) {
  const std::vector<GraphNode *> ordered = in_topological_order(graph);
  const std::set<const GraphNode *> others(ordered.begin(), ordered.end());
  const GraphNode *found = nullptr;
  graph.for_each_node([&](const GraphNode &node) {
    if (found == nullptr && !others.contains(&node)) found = &node;
  });
  return found != nullptr ? sim::handle_of(*found) : nullptr;
}

// Returns null, and sets `refusal`, if the graph has a cycle or breaks a rule of conditional nodes.
// `upload` is the stream of the upload; null: none.
ExecutableGraph *make(Call &call, Graph &graph, unsigned long long flags, const Stream *upload,
                      Refusal &refusal) {
  // An upload needs no current context: measured, driver 580.
  const Context &context = upload != nullptr ? *upload->context : call.context();
  // Child graphs and bodies: measured, driver 580.
  if (graph.parent != nullptr) return refusal = {CUDA_ERROR_NOT_SUPPORTED}, nullptr;
  if (has_unused_condition(graph)) return refusal = {CUDA_ERROR_INVALID_VALUE, kUnusedHandle}, nullptr;
  if ((flags & kDeviceLaunch) != 0) {
    if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0)
      return refusal = {CUDA_ERROR_INVALID_VALUE}, nullptr;
    refusal = DeviceLaunchCheck(call.system, reinterpret_cast<CUcontext>(context.handle)).refusal_of(graph);
    if (refusal.code != CUDA_SUCCESS) return nullptr;
    flags = kDeviceLaunch;
  }
  refusal = refusal_of(call, graph);
  if (refusal.code != CUDA_SUCCESS) return nullptr;
  // A graph with conditional nodes that has another executable graph or a clone: measured, driver 580.
  if (graph.has_conditional_nodes && graph.identity.use_count() > 1)
    return refusal = {CUDA_ERROR_NOT_SUPPORTED}, nullptr;
  // A graph with memory nodes has one executable graph at a time; those of before it had them do not count.
  // Measured, driver 580.
  if (graph.has_memory_nodes && graph.executables == nullptr)
    graph.executables = std::make_shared<unsigned>(0);
  if (graph.executables != nullptr && *graph.executables != 0)
    return refusal = {CUDA_ERROR_NOT_SUPPORTED}, nullptr;
  auto flat = flatten(graph);
  if (!flat) return refusal = {CUDA_ERROR_INVALID_VALUE, kInvalidStructure, node_of_cycle(graph)}, nullptr;
  auto made = std::make_unique<ExecutableGraph>();
  made->id = ++call.system.last_graph_id;
  made->flags = flags;
  set_graph(*made, std::move(*flat));
  hold_user_objects(*made, graph);
  made->executables = graph.executables;
  if (made->executables != nullptr) ++*made->executables;
  made->identity_of_graph = graph.identity;
  return &call.system.handles.add(std::move(made));
}

CUgraphExec handle_of(const ExecutableGraph &graph) { return reinterpret_cast<CUgraphExec>(graph.handle); }

// Checked after the flags. Measured, driver 580.
void require_instantiable(Call &call) {
  call.context();
  require_no_strict_capture(call);
}

CUresult instantiate(Call &call, CUgraphExec *out, CUgraph graph, unsigned long long flags,
                     Refusal &refusal) {
  // Only cuGraphInstantiateWithParams has a stream for the upload.
  require((flags & ~(kFlags & ~kUpload)) == 0);
  require_instantiable(call);
  require(out != nullptr);
  ExecutableGraph *const made = make(call, graph_of(call, graph), flags, nullptr, refusal);
  if (made != nullptr) *out = handle_of(*made);
  return refusal.code;
}

CUresult instantiate_with_flags(Call &call, CUgraphExec *out, CUgraph graph, unsigned long long flags) {
  Refusal refusal;
  return instantiate(call, out, graph, flags, refusal);
}

CUresult instantiate_with_log(Call &call, CUgraphExec *out, CUgraph graph, CUgraphNode *error, char *log,
                              std::size_t size) {
  if (error != nullptr) *error = nullptr;
  if (log != nullptr && size != 0) *log = '\0';
  Refusal refusal;
  const CUresult code = instantiate(call, out, graph, 0, refusal);
  if (error != nullptr) *error = refusal.node;
  return code;
}

#if CUDA_VERSION >= 12000
CUresult instantiate_with_parameters(Call &call, CUgraphExec *out, CUgraph handle,
                                     CUDA_GRAPH_INSTANTIATE_PARAMS *parameters) {
  require(out != nullptr && parameters != nullptr);
  parameters->hErrNode_out = nullptr;
  parameters->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
  require((parameters->flags & ~kFlags) == 0);
  Stream *const upload =
      (parameters->flags & kUpload) != 0 ? &call.stream(parameters->hUploadStream) : nullptr;
  // An upload is work of a stream, which captures of other streams allow. Measured, driver 580.
  if (upload == nullptr) require_instantiable(call);
  Graph &graph = graph_of(call, handle);
  Refusal refusal;
  ExecutableGraph *const made = make(call, graph, parameters->flags, upload, refusal);
  parameters->result_out = static_cast<CUgraphInstantiateResult>(refusal.result);
  parameters->hErrNode_out = refusal.node;
  require(made != nullptr, refusal.code);
  parameters->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  *out = handle_of(*made);
  if (upload != nullptr) {
    back_memory(call.system, *made);
    call.enqueue(*upload, {});
  }
  return CUDA_SUCCESS;
}

CUresult get_flags(Call &call, CUgraphExec handle, cuuint64_t *flags) {
  require(flags != nullptr);
  // Measured, driver 580: without the flags of the upload and of priorities.
  *flags =
      executable_of(call, handle).flags & (CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | kDeviceLaunch);
  return CUDA_SUCCESS;
}
#endif

CUresult get_id(Call &call, CUgraphExec handle, unsigned *id) {
  require(id != nullptr);
  *id = static_cast<unsigned>(executable_of(call, handle).id);
  return CUDA_SUCCESS;
}

// Launches in progress continue.
CUresult destroy(Call &call, CUgraphExec handle) {
  ExecutableGraph &graph = executable_of(call, handle);
  release_user_objects(call, graph);
  leave_graph(graph);
  if (graph.executables != nullptr) --*graph.executables;
  const Work last = graph.last;
  call.system.handles.erase(graph, call.name);
  call_destructors(call, last);
  return CUDA_SUCCESS;
}

// Calls `visit` with the nodes of the path that an H200 runs in the stream of the launch: the first node
// without dependencies, the first node that depends on it, and so on; empty nodes do not count. Derived from
// random programs, driver 580.
template <class Visit>
void for_each_on_first_path(const FlatGraph &graph, Visit visit) {
  // For each node, the number of nodes of the path before it if it follows the last of them or, where that is
  // 0, if it follows no node; else `elsewhere`. Empty nodes do not count.
  constexpr auto elsewhere = static_cast<std::uint32_t>(-1);
  std::vector<std::uint32_t> follows(graph.nodes.size(), elsewhere);
  std::uint32_t length = 0;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const auto after = graph.dependencies_of(graph.nodes[i]);
    const auto is_on_path = [&](std::uint32_t earlier) { return follows[earlier] == length; };
    if (length == 0 ? std::ranges::all_of(after, is_on_path) : std::ranges::any_of(after, is_on_path))
      follows[i] = length;
    if (std::holds_alternative<Empty>(graph.nodes[i].command)) continue;
    if (std::exchange(follows[i], elsewhere) != length) continue;
    follows[i] = ++length;
    visit(graph.nodes[i]);
  }
}

// As by cuStreamWaitEvent, the stream joins the capture of the first event of a capture that these nodes wait
// for. Measured on an H200, driver 580.
void join_capture_of_waits(const Call &call, const ExecutableGraph &executable, Stream &stream) {
  if (call.system.captures.empty()) return;
  for_each_on_first_path(executable.graph, [&](const FlatGraph::Node &node) {
    const auto *const wait = std::get_if<EventWait>(&node.command);
    const Event *const event = wait != nullptr ? call.system.handles.find<Event>(wait->event) : nullptr;
    if (event == nullptr || event->captured == nullptr || stream.capture != nullptr) return;
    const Capture &capture = *event->captured->capture;
    if (capture.is_valid && is_active(call.system, capture)) join_capture(stream, *event->captured);
  });
}

CUresult launch_in_stream(Call &call, CUgraphExec handle, CUstream into) {
  Stream &stream = call.stream(into);
  ExecutableGraph &executable = executable_of(call, handle);
  launch(call, executable, stream);
  join_capture_of_waits(call, executable, stream);
  return CUDA_SUCCESS;
}

CUresult upload(Call &call, CUgraphExec handle, CUstream into) {
  Stream &stream = call.stream(into);
  back_memory(call.system, executable_of(call, handle));
  call.enqueue(stream, {});
  return CUDA_SUCCESS;
}

// ---- Updates by a graph of the same structure ----

struct UpdateResult {
  CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  CUgraphNode node = nullptr, from = nullptr;
};

// Returns a node of a graph or of its parts; null if the id is 0.
CUgraphNode node_with(const Graph &graph, unsigned long id) {
  CUgraphNode found = nullptr;
  if (id != 0)
    for_each_part(graph, [&](const Graph &part) {
      part.for_each_node([&](const GraphNode &node) {
        if (node.id == id) found = sim::handle_of(node);
      });
    });
  return found;
}

// An update by a graph with memory nodes makes the executable graph one of this graph. Measured on an H200,
// driver 580.
void count_for(ExecutableGraph &executable, Graph &graph) {
  if (!graph.has_memory_nodes) return;
  if (graph.executables == nullptr) graph.executables = std::make_shared<unsigned>(0);
  if (executable.executables != nullptr) --*executable.executables;
  executable.executables = graph.executables;
  ++*executable.executables;
}

CUresult update(Call &call, CUgraphExec handle, CUgraph by, UpdateResult &out) {
  ExecutableGraph &executable = executable_of(call, handle);
  Graph &graph = graph_of(call, by);
  // Measured, driver 580: no child graphs and bodies; no graph with memory nodes that has another executable
  // graph.
  require(graph.parent == nullptr);
  const bool has_another =
      graph.executables != nullptr && *graph.executables != 0 && executable.executables != graph.executables;
  require(!graph.has_memory_nodes || !has_another, CUDA_ERROR_NOT_SUPPORTED);
  auto wanted = flatten(graph);
  out.result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  if (!wanted.has_value()) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  Pairing pairing;
  const Difference difference = compare(call.system, executable.graph, *wanted, pairing);
  out.result = difference.result;
  if (difference.result == CU_GRAPH_EXEC_UPDATE_SUCCESS) {
    if (!set_commands(executable, std::move(*wanted), pairing)) {
      out.result = CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
      return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    count_for(executable, graph);
    // CUDA Programming Guide, CUDA User Objects.
    replace_user_objects(call, executable, graph);
    return CUDA_SUCCESS;
  }
  out.node = node_with(graph, difference.node);
  out.from = node_with(graph, difference.from);
  return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

CUresult update_with_node(Call &call, CUgraphExec handle, CUgraph graph, CUgraphNode *node,
                          CUgraphExecUpdateResult *result) {
  UpdateResult found;
  const CUresult code = update(call, handle, graph, found);
  if (result != nullptr) *result = found.result;
  if (node != nullptr) *node = found.node;
  return code;
}

#if CUDA_VERSION >= 12000
CUresult update_with_info(Call &call, CUgraphExec handle, CUgraph graph, CUgraphExecUpdateResultInfo *info) {
  UpdateResult found;
  const CUresult code = update(call, handle, graph, found);
  if (info != nullptr) *info = {found.result, found.node, found.from};
  return code;
}
#endif

}  // namespace

constinit const Entries entries_of_executable_graphs = {
    entry<"cuGraphInstantiateWithFlags", instantiate_with_flags>,
    entry<"cuGraphInstantiate", instantiate_with_log>,
    entry<"cuGraphExecDestroy", destroy>,
    entry<"cuGraphLaunch", launch_in_stream>,
    entry<"cuGraphUpload", upload>,
    entry<"cuGraphExecGetId", get_id>,
    entry<"cuGraphExecUpdate", update_with_node>,
#if CUDA_VERSION >= 12000
    entry<"cuGraphInstantiateWithParams", instantiate_with_parameters>,
    entry<"cuGraphExecGetFlags", get_flags>,
    entry<"cuGraphExecUpdate", update_with_info>,
#endif
};

}  // namespace cushim::sim
