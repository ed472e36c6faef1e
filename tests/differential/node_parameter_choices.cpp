// SPDX-License-Identifier: Apache-2.0
// Parameters of nodes, and executable graphs.
#include <algorithm>

#include "node_parameters.hpp"

namespace differential {
namespace {

std::string offset_in(Walk &w, CUdeviceptr address) {
  const GraphObjects &o = objects(w);
  if (address >= o.memory && address < o.memory + GraphObjects::bytes_of_memory)
    return std::to_string(address - o.memory);
  return address == 0 ? "0" : "elsewhere";
}

void get(Walk &w) {
  const CUgraphNodeType type = a_type(w);
  const auto node = a_node(w, type);
  CUDA_KERNEL_NODE_PARAMS kernel{};
  CUDA_MEMCPY3D copy{};
  CUDA_MEMSET_NODE_PARAMS set{};
  CUDA_HOST_NODE_PARAMS host{};
  CUDA_BATCH_MEM_OP_NODE_PARAMS batch{};
  CUevent event = nullptr;
  const bool has_place = !w.dice.once_in(50);
  const auto to = [&](auto &place) {
    return argument(has_place ? &place : nullptr, has_place ? "&found" : "nullptr");
  };
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      if (CALL(w, cuGraphKernelNodeGetParams, node, to(kernel)) == CUDA_SUCCESS)
        w.also(fmt::format("{} {} {} {} {} {} {} {}", name_of(w, kernel.func), kernel.gridDimX,
                           kernel.gridDimY, kernel.blockDimX, kernel.sharedMemBytes,
                           kernel.kernelParams != nullptr, kernel.extra != nullptr,
                           w.shared.name_of(kernel.ctx, {})));
      return;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      if (CALL(w, cuGraphMemcpyNodeGetParams, node, to(copy)) == CUDA_SUCCESS)
        w.also(fmt::format("{} {} {}x{}x{}", offset_in(w, copy.srcDevice), offset_in(w, copy.dstDevice),
                           copy.WidthInBytes, copy.Height, copy.Depth));
      return;
    case CU_GRAPH_NODE_TYPE_MEMSET:
      if (CALL(w, cuGraphMemsetNodeGetParams, node, to(set)) == CUDA_SUCCESS)
        w.also(fmt::format("{} {} {} {}x{} {}", offset_in(w, set.dst), set.value, set.elementSize, set.width,
                           set.height, set.pitch));
      return;
    case CU_GRAPH_NODE_TYPE_HOST:
      if (CALL(w, cuGraphHostNodeGetParams, node, to(host)) == CUDA_SUCCESS)
        w.also(host.userData == &w.host_functions ? "same" : "other");
      return;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      if (CALL(w, cuGraphBatchMemOpNodeGetParams, node, to(batch)) == CUDA_SUCCESS)
        w.also(fmt::format("{} {} {}", w.shared.name_of(batch.ctx, {}), batch.count, batch.flags));
      return;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: {
      const CUresult code = type == CU_GRAPH_NODE_TYPE_EVENT_RECORD
                                ? CALL(w, cuGraphEventRecordNodeGetEvent, node, to(event))
                                : CALL(w, cuGraphEventWaitNodeGetEvent, node, to(event));
      if (code != CUDA_SUCCESS) return;
      for (unsigned i = 0; i < w.e.size(); ++i)
        if (event == w.e[i].handle) return w.also(std::to_string(i));
      return;
    }
    default: {
      Result<CUgraphNodeType> found("found");
      if (CALL(w, cuGraphNodeGetType, node, found.argument()) == CUDA_SUCCESS)
        w.also(std::to_string(static_cast<int>(found.value)));
    }
  }
}

// Passes chosen parameters in the form that the functions for one type of nodes take.
template <class Set>
void pass_parameters(Walk &w, const ChosenParameters &p, const Set &set) {
  const bool has_parameters = !w.dice.once_in(60);
  const auto with = [&](const auto &parameters) {
    return argument(has_parameters ? &parameters : nullptr, has_parameters ? p.text : "nullptr");
  };
  switch (p.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return set(with(p.kernel));
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return set(with(p.copy));
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return set(with(p.set));
    case CU_GRAPH_NODE_TYPE_HOST:
      return set(with(p.host));
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return set(with(p.batch));
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return set(argument(p.event, p.text));
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return set(argument(p.graph, p.text));
    default:
      return;
  }
}

// Sets the parameters of a node.
struct SetParameters {
  void operator()(Argument<const CUDA_KERNEL_NODE_PARAMS *> p) const {
    CALL(w, cuGraphKernelNodeSetParams, node, p);
  }
  void operator()(Argument<const CUDA_MEMCPY3D *> p) const { CALL(w, cuGraphMemcpyNodeSetParams, node, p); }
  void operator()(Argument<const CUDA_MEMSET_NODE_PARAMS *> p) const {
    CALL(w, cuGraphMemsetNodeSetParams, node, p);
  }
  void operator()(Argument<const CUDA_HOST_NODE_PARAMS *> p) const {
    CALL(w, cuGraphHostNodeSetParams, node, p);
  }
  void operator()(Argument<const CUDA_BATCH_MEM_OP_NODE_PARAMS *> p) const {
    CALL(w, cuGraphBatchMemOpNodeSetParams, node, p);
  }
  void operator()(Argument<CUevent> event) const {
    if (type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
      CALL(w, cuGraphEventRecordNodeSetEvent, node, event);
    else
      CALL(w, cuGraphEventWaitNodeSetEvent, node, event);
  }
  void operator()(Argument<CUgraph>) const {}  // there is no such function

  Walk &w;
  Argument<CUgraphNode> node;
  CUgraphNodeType type;
};

void set(Walk &w) {
  const CUgraphNodeType type = a_type(w);
  const auto node = a_node(w, type);
  ChosenParameters p;
  choose_parameters(w, type, p);
  if (w.dice.once_in(4)) {
    CUgraphNodeParams all;
    fill(w, p, all);
    CALL(w, cuGraphNodeSetParams, node, argument(&all, fmt::format("{} {}", static_cast<int>(type), p.text)));
    return;
  }
  pass_parameters(w, p, SetParameters{w, node, type});
}

void kernel_attribute(Walk &w) {
  const auto node = a_node(w, CU_GRAPH_NODE_TYPE_KERNEL);
  const auto which =
      static_cast<CUlaunchAttributeID>(w.dice.one_of({2, 2, 4, 4, 8, 1, 9, 14, 5, 3, 99, 0, 10, 11}));
  const auto name = argument(which, std::to_string(static_cast<int>(which)));
  CUlaunchAttributeValue value;
  std::memset(&value, 0, sizeof value);
  switch (w.dice.below(5)) {
    case 0: {
      const auto from = a_node(w, CU_GRAPH_NODE_TYPE_KERNEL);
      CALL(w, cuGraphKernelNodeCopyAttributes, node, from);
      return;
    }
    case 1:
    case 2: {
      const unsigned number = w.dice.below(3);
      if (which == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
        value.clusterDim = {number, 1, 1};
      else if (which != CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW)
        std::memcpy(&value, &number, sizeof number);
      CALL(w, cuGraphKernelNodeSetAttribute, node, name,
           argument<const CUlaunchAttributeValue *>(&value, std::to_string(number)));
      return;
    }
    default: {
      if (CALL(w, cuGraphKernelNodeGetAttribute, node, name, argument(&value, "&value")) != CUDA_SUCCESS)
        return;
      std::array<int, 3> first{};
      std::memcpy(first.data(), &value, sizeof first);
      if (which == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
        w.also(fmt::format("{} {} {}", first[0], first[1], first[2]));
      else if (which != CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW)
        w.also(std::to_string(first[0]));
    }
  }
}

// ---- Executable graphs ----

void instantiate(Walk &w) {
  GraphObjects &o = objects(w);
  const unsigned at = w.dice.below(static_cast<unsigned>(o.x.size()));
  if (o.x[at].handle != nullptr) return;
  const auto graph = a_graph(w);
  const unsigned long long flags = w.dice.one_of({0U, 0U, 0U, 0U, 1U, 1U, 2U, 8U, 4U, 16U, 3U});
  const auto out = argument(&o.x[at].handle, fmt::format("&x[{}]", at));
  CUresult code{};
  if (w.dice.once_in(3)) {
    CUDA_GRAPH_INSTANTIATE_PARAMS with{};
    with.flags = flags;
    with.hUploadStream = w.a_live_stream_or_null().value;
    code = CALL(w, cuGraphInstantiateWithParams, out, graph, argument(&with, std::to_string(flags)));
    w.also(std::to_string(static_cast<int>(with.result_out)));
    if (with.hErrNode_out != nullptr) w.also(name_of(w, with.hErrNode_out));
  } else {
    code = CALL(w, cuGraphInstantiate, out, graph, argument(flags, std::to_string(flags)));
  }
  if (code == CUDA_SUCCESS)
    o.x[at].graph = graph.value;
  else
    o.x[at] = {};
  settle(w);
}

void destroy(Walk &w) {
  const auto executable = an_executable(w);
  settle(w);
  if (CALL(w, cuGraphExecDestroy, executable) != CUDA_SUCCESS) return;
  for (ExecutableSlot &slot : objects(w).x)
    if (slot.handle == executable.value) slot = {};
}

void launch(Walk &w) {
  const auto executable = an_executable(w);
  const auto stream = a_graph_stream(w);
  CALL(w, cuGraphLaunch, executable, stream);
  settle(w);
}

void upload(Walk &w) {
  const auto executable = an_executable(w);
  const auto stream = a_graph_stream(w);
  CALL(w, cuGraphUpload, executable, stream);
  settle(w);
}

void update(Walk &w) {
  const auto executable = an_executable(w);
  const auto slot = std::ranges::find(objects(w).x, executable.value, &ExecutableSlot::handle);
  auto graph = a_graph(w);
  if (w.dice.once_in(2) && slot != objects(w).x.end())
    for (unsigned i = 0; i < objects(w).g.size(); ++i)
      if (slot->graph == objects(w).g[i].handle) graph = {slot->graph, fmt::format("g[{}]", i)};
  CUgraphExecUpdateResultInfo info{};
  CALL(w, cuGraphExecUpdate, executable, graph, argument(&info, "&info"));
  w.also(fmt::format("{} {} {}", static_cast<int>(info.result),
                     info.errorNode == nullptr ? "" : name_of(w, info.errorNode),
                     info.errorFromNode == nullptr ? "" : name_of(w, info.errorFromNode)));
}

void flags(Walk &w) {
  const auto executable = an_executable(w);
  Result<cuuint64_t> flags("flags");
  if (CALL(w, cuGraphExecGetFlags, executable, flags.argument()) == CUDA_SUCCESS) w.also_number(flags);
}

Argument<CUgraphNode> a_node_of(Walk &w, CUgraphExec executable, CUgraphNodeType type) {
  const GraphObjects &o = objects(w);
  const auto slot = std::ranges::find(o.x, executable, &ExecutableSlot::handle);
  std::vector<CUgraphNode> found;
  for (const NodeSlot &node : o.n)
    if (slot != o.x.end() && node.graph == slot->graph && node.type == type) found.push_back(node.handle);
  if (found.empty() || w.dice.once_in(6)) return a_node(w, type);
  const CUgraphNode node = found[w.dice.below(static_cast<unsigned>(found.size()))];
  return {node, name_of(w, node)};
}

// Sets the parameters of a node of an executable graph.
struct SetInExecutable {
  void operator()(Argument<const CUDA_KERNEL_NODE_PARAMS *> p) const {
    CALL(w, cuGraphExecKernelNodeSetParams, x, node, p);
  }
  void operator()(Argument<const CUDA_MEMCPY3D *> p) const {
    CALL(w, cuGraphExecMemcpyNodeSetParams, x, node, p, context);
  }
  void operator()(Argument<const CUDA_MEMSET_NODE_PARAMS *> p) const {
    CALL(w, cuGraphExecMemsetNodeSetParams, x, node, p, context);
  }
  void operator()(Argument<const CUDA_HOST_NODE_PARAMS *> p) const {
    CALL(w, cuGraphExecHostNodeSetParams, x, node, p);
  }
  void operator()(Argument<const CUDA_BATCH_MEM_OP_NODE_PARAMS *> p) const {
    CALL(w, cuGraphExecBatchMemOpNodeSetParams, x, node, p);
  }
  void operator()(Argument<CUevent> event) const {
    if (type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
      CALL(w, cuGraphExecEventRecordNodeSetEvent, x, node, event);
    else
      CALL(w, cuGraphExecEventWaitNodeSetEvent, x, node, event);
  }
  void operator()(Argument<CUgraph> graph) const {
    CALL(w, cuGraphExecChildGraphNodeSetParams, x, node, graph);
  }

  Walk &w;
  Argument<CUgraphExec> x;
  Argument<CUgraphNode> node;
  CUgraphNodeType type;
  Argument<CUcontext> context;
};

void set_in_executable(Walk &w) {
  const auto x = an_executable(w);
  const CUgraphNodeType type = a_type(w);
  const auto node = a_node_of(w, x.value, type);
  ChosenParameters p;
  choose_parameters(w, type, p);
  settle(w);
  const auto context =
      w.dice.once_in(12) ? w.dice.one_of<Argument<CUcontext>>({{nullptr, "nullptr"}, {w.shared.c[1], "c[1]"}})
                         : argument(w.shared.c[0], "c[0]");
  if (w.dice.once_in(4)) {
    CUgraphNodeParams all;
    fill(w, p, all);
    CALL(w, cuGraphExecNodeSetParams, x, node,
         argument(&all, fmt::format("{} {}", static_cast<int>(type), p.text)));
    return;
  }
  pass_parameters(w, p, SetInExecutable{w, x, node, type, context});
}

void enable(Walk &w) {
  const auto x = an_executable(w);
  const auto node = a_node_of(
      w, x.value,
      w.dice.one_of({CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_MEMCPY,
                     CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_HOST}));
  Result<unsigned> is_enabled("is_enabled");
  if (w.dice.once_in(2)) {
    if (CALL(w, cuGraphNodeGetEnabled, x, node, is_enabled.argument()) == CUDA_SUCCESS)
      w.also_number(is_enabled);
    return;
  }
  const auto value = number(w.dice.one_of({0U, 0U, 1U, 2U}));
  CALL(w, cuGraphNodeSetEnabled, x, node, value);
}

}  // namespace

Choices node_parameter_choices() {
  return Choices({
      {5, get},
      {6, set},
      {4, kernel_attribute},
  });
}

Choices executable_choices() {
  return Choices({
      {8, instantiate},
      {2, destroy},
      {8, launch},
      {1, upload},
      {4, update},
      {1, flags},
      {8, set_in_executable},
      {3, enable},
  });
}

}  // namespace differential
