// SPDX-License-Identifier: Apache-2.0
// Parameters of the nodes of executable graphs, named by the nodes of the graph that was instantiated.
#include "api/graph_objects.hpp"
#include "api/reserved.hpp"
#include "graphs/update.hpp"

namespace cushim::sim {
namespace {

const ExecutableGraph::Place &find_place(Call &call, CUgraphExec executable, CUgraphNode node) {
  ExecutableGraph &graph = executable_of(call, executable);
  const ExecutableGraph::Place *const found = graph.find(node_of(call, node));
  require(found != nullptr);
  return *found;
}

FlatGraph::Node &find(Call &call, CUgraphExec executable, CUgraphNode node) {
  return find_place(call, executable, node).node();
}

// The parameters of a copy of more than one dimension stay the same, byte by byte. Those of a memset stay the
// same except the value and the address. Measured on an H200, driver 580.
void check_change(Call &call, const Memcpy &before, const Memcpy &after) {
  const CUDA_MEMCPY3D &a = before.parameters(), &b = after.parameters();
  const bool is_one_row = a.Height == 1 && a.Depth == 1 && b.Height == 1 && b.Depth == 1;
  require((is_one_row || has_same_bytes(a, b)) && has_same_sources_of_memory(call.system, before, after));
}
void check_change(Call &, const Memset &before, const Memset &after) {
  const CUDA_MEMSET_NODE_PARAMS &a = before.parameters, &b = after.parameters;
  const bool is_same =
      a.pitch == b.pitch && a.elementSize == b.elementSize && a.width == b.width && a.height == b.height;
  require((a.height == 1 && b.height == 1) || is_same);
}
// The attributes of a kernel node stay.
void check_change(Call &call, const KernelLaunch &before, KernelLaunch &after) {
  keep_attributes(call, before, after);
}
template <class OneCommand>
void check_change(Call &, const OneCommand &, const OneCommand &) {}

template <class OneCommand>
CUresult set(Call &call, FlatGraph::Node &node, NodeParameters &&parameters) {
  auto &wanted = std::get<OneCommand>(parameters.command);
  check_change(call, command_of<OneCommand>(node), wanted);
  // Kernels and operations on memory stay in their context: measured on an H200, driver 580.
  if constexpr (std::is_same_v<OneCommand, BatchMemOp> || std::is_same_v<OneCommand, KernelLaunch>)
    require(node.context == parameters.context);
  require(may_replace(node.command, parameters.command));
  node.command = std::move(parameters.command);
  node.context = parameters.context;
  return CUDA_SUCCESS;
}

template <class OneCommand, class Parameters>
CUresult set_in_context(Call &call, CUgraphExec executable, CUgraphNode handle, const Parameters *parameters,
                        CUcontext context) {
  FlatGraph::Node &node = find(call, executable, handle);
  command_of<OneCommand>(node);
  return set<OneCommand>(call, node, parameters_of(call, parameters, context));
}

template <class OneCommand, class Parameters>
CUresult set_parameters(Call &call, CUgraphExec executable, CUgraphNode handle,
                        const Parameters *parameters) {
  FlatGraph::Node &node = find(call, executable, handle);
  command_of<OneCommand>(node);
  return set<OneCommand>(call, node, parameters_of(call, parameters));
}

template <class EventCommand>
CUresult set_event(Call &call, CUgraphExec executable, CUgraphNode handle, CUevent event) {
  FlatGraph::Node &node = find(call, executable, handle);
  command_of<EventCommand>(node);
  require(event != nullptr);
  // The context stays the same: measured on an H200, driver 580.
  const Event *const before = call.system.handles.find<Event>(std::get<EventCommand>(node.command).event);
  require(before == nullptr || call.event_despite_fault(event).context == before->context);
  return set<EventCommand>(call, node, {EventCommand{event}});
}

// Replaces the parameters of the nodes of a child graph by those of a graph of the same structure.
CUresult set_child(Call &call, CUgraphExec executable, CUgraphNode handle, CUgraph wanted) {
  const Graph &graph = graph_of(call, wanted);
  // Before the executable graph: measured, driver 580.
  require(!graph.has_memory_nodes, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  const ExecutableGraph::Place &end = find_place(call, executable, handle);
  GraphNode &node = node_of(call, handle);
  command_of<ChildGraph>(node);
  require(!graph.has_conditional_nodes, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  auto flat = flatten(graph);
  require(flat.has_value(), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  Pairing pairing;
  const Difference difference = compare_child(call.system, *end.graph, end.node(), *flat, pairing);
  require(difference.result == CU_GRAPH_EXEC_UPDATE_SUCCESS, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  replace_commands(*end.graph, std::move(*flat), pairing);
  replace_user_objects(call, executable_of(call, executable), node, graph);
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12020
CUresult set_any(Call &call, CUgraphExec executable, CUgraphNode handle, CUgraphNodeParams *parameters) {
  // An empty node need not belong to the executable graph: measured, driver 580.
  if (std::holds_alternative<Empty>(node_of(call, handle).command) && parameters != nullptr &&
      parameters->type == CU_GRAPH_NODE_TYPE_EMPTY)
    return executable_of(call, executable), CUDA_SUCCESS;
  require_settable(parameters);
  require_type(node_of(call, handle), parameters);
  require(parameters != nullptr);
  if (parameters->type == CU_GRAPH_NODE_TYPE_GRAPH)
    return set_child(call, executable, handle, parameters->graph.graph);
  FlatGraph::Node &node = find(call, executable, handle);
  NodeParameters wanted = parameters_of(call, parameters);
  return std::visit(
      [&](auto &command) {
        return set<std::remove_cvref_t<decltype(command)>>(call, node, std::move(wanted));
      },
      node.command);
}
#endif

// ---- Disabled nodes do nothing; only nodes with work of a device can be disabled ----

FlatGraph::Node &find_device_work(Call &call, CUgraphExec executable, CUgraphNode handle) {
  FlatGraph::Node &node = find(call, executable, handle);
  require(std::holds_alternative<KernelLaunch>(node.command) ||
          std::holds_alternative<Memcpy>(node.command) || std::holds_alternative<Memset>(node.command));
  return node;
}

CUresult get_enabled(Call &call, CUgraphExec executable, CUgraphNode node, unsigned *is_enabled) {
  require(is_enabled != nullptr);
  *is_enabled = find_device_work(call, executable, node).is_enabled ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult set_enabled(Call &call, CUgraphExec executable, CUgraphNode node, unsigned is_enabled) {
  find_device_work(call, executable, node).is_enabled = is_enabled != 0;
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_executable_nodes = {
    entry<"cuGraphExecMemcpyNodeSetParams", set_in_context<Memcpy, CUDA_MEMCPY3D>>,
    entry<"cuGraphExecMemsetNodeSetParams", set_in_context<Memset, CUDA_MEMSET_NODE_PARAMS>>,
    entry<"cuGraphExecHostNodeSetParams", set_parameters<HostFunction, CUDA_HOST_NODE_PARAMS>>,
    entry<"cuGraphExecKernelNodeSetParams", set_parameters<KernelLaunch, CUDA_KERNEL_NODE_PARAMS_v1>>,
    entry<"cuGraphExecBatchMemOpNodeSetParams", set_parameters<BatchMemOp, CUDA_BATCH_MEM_OP_NODE_PARAMS>>,
    entry<"cuGraphExecExternalSemaphoresSignalNodeSetParams",
          set_parameters<ExternalSignal, CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v1>>,
    entry<"cuGraphExecExternalSemaphoresWaitNodeSetParams",
          set_parameters<ExternalWait, CUDA_EXT_SEM_WAIT_NODE_PARAMS_v1>>,
    entry<"cuGraphExecEventRecordNodeSetEvent", set_event<EventRecord>>,
    entry<"cuGraphExecEventWaitNodeSetEvent", set_event<EventWait>>,
    entry<"cuGraphExecChildGraphNodeSetParams", set_child>,
    entry<"cuGraphNodeGetEnabled", get_enabled>,
    entry<"cuGraphNodeSetEnabled", set_enabled>,
#if CUDA_VERSION >= 12000
    entry<"cuGraphExecKernelNodeSetParams", set_parameters<KernelLaunch, CUDA_KERNEL_NODE_PARAMS_v2>>,
#endif
#if CUDA_VERSION >= 12020
    entry<"cuGraphExecNodeSetParams", set_any>,
#endif
};

}  // namespace cushim::sim
