// SPDX-License-Identifier: Apache-2.0
// Parameters of the nodes of executable graphs, named by the nodes of the graph that was instantiated.
#include "api/graph_objects.hpp"

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

// Executable nodes cannot change the number of dimensions of a copy or memset.
void check_change(const Memcpy &before, const Memcpy &after) {
  require(before.parameters().srcMemoryType == after.parameters().srcMemoryType &&
          before.parameters().dstMemoryType == after.parameters().dstMemoryType);
}
void check_change(const Memset &before, const Memset &after) {
  require((before.parameters.height == 1) == (after.parameters.height == 1));
}
template <class OneCommand>
void check_change(const OneCommand &, const OneCommand &) {}

template <class OneCommand>
CUresult set(FlatGraph::Node &node, NodeParameters &&parameters) {
  check_change(command_of<OneCommand>(node), std::get<OneCommand>(parameters.command));
  node.command = std::move(parameters.command);
  node.context = parameters.context;
  return CUDA_SUCCESS;
}

template <class OneCommand, class Parameters>
CUresult set_in_context(Call &call, CUgraphExec executable, CUgraphNode handle, const Parameters *parameters,
                        CUcontext context) {
  FlatGraph::Node &node = find(call, executable, handle);
  command_of<OneCommand>(node);
  return set<OneCommand>(node, parameters_of(call, parameters, context));
}

template <class OneCommand, class Parameters>
CUresult set_parameters(Call &call, CUgraphExec executable, CUgraphNode handle,
                        const Parameters *parameters) {
  FlatGraph::Node &node = find(call, executable, handle);
  command_of<OneCommand>(node);
  return set<OneCommand>(node, parameters_of(call, parameters));
}

template <class EventCommand>
CUresult set_event(Call &call, CUgraphExec executable, CUgraphNode handle, CUevent event) {
  FlatGraph::Node &node = find(call, executable, handle);
  command_of<EventCommand>(node);
  require(event != nullptr);
  call.event(event);
  return set<EventCommand>(node, {EventCommand{event}});
}

// Replaces the parameters of the nodes of a child graph by those of a graph of the same structure.
CUresult set_child(Call &call, CUgraphExec executable, CUgraphNode handle, CUgraph wanted) {
  const ExecutableGraph::Place &end = find_place(call, executable, handle);
  GraphNode &node = node_of(call, handle);
  const ChildGraph &child = command_of<ChildGraph>(node);
  const Graph &graph = graph_of(call, wanted);
  const auto flat = flatten(graph);
  require(flat.has_value(), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  const auto own = flatten(*child.graph);
  require(own.has_value() && compare(*own, *flat).result == CU_GRAPH_EXEC_UPDATE_SUCCESS &&
              flat->nodes.size() <= end.index,
          CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  for (std::size_t i = 0; i < flat->nodes.size(); ++i) {
    FlatGraph::Node &target = end.graph->nodes[end.index - flat->nodes.size() + i];
    target.command = flat->nodes[i].command;
    target.context = flat->nodes[i].context;
  }
  replace_user_objects(call, executable_of(call, executable), node, graph);
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12020
CUresult set_any(Call &call, CUgraphExec executable, CUgraphNode handle, CUgraphNodeParams *parameters) {
  FlatGraph::Node &node = find(call, executable, handle);
  require_settable(parameters);
  NodeParameters wanted = parameters_of(call, parameters);
  if (const auto *const child = std::get_if<ChildGraph>(&wanted.command))
    return set_child(call, executable, handle, handle_of(*child->graph));
  require(node.command.index() == wanted.command.index());
  return std::visit(
      [&](auto &command) { return set<std::remove_cvref_t<decltype(command)>>(node, std::move(wanted)); },
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

void serve_executable_nodes(Service &service) {
  service.serve<"cuGraphExecMemcpyNodeSetParams", set_in_context<Memcpy, CUDA_MEMCPY3D>>();
  service.serve<"cuGraphExecMemsetNodeSetParams", set_in_context<Memset, CUDA_MEMSET_NODE_PARAMS>>();
  service.serve<"cuGraphExecHostNodeSetParams", set_parameters<HostFunction, CUDA_HOST_NODE_PARAMS>>();
  service.serve<"cuGraphExecKernelNodeSetParams", set_parameters<KernelLaunch, CUDA_KERNEL_NODE_PARAMS_v1>>();
  service.serve<"cuGraphExecBatchMemOpNodeSetParams",
                set_parameters<BatchMemOp, CUDA_BATCH_MEM_OP_NODE_PARAMS>>();
  service.serve<"cuGraphExecEventRecordNodeSetEvent", set_event<EventRecord>>();
  service.serve<"cuGraphExecEventWaitNodeSetEvent", set_event<EventWait>>();
  service.serve<"cuGraphExecChildGraphNodeSetParams", set_child>();
  service.serve<"cuGraphNodeGetEnabled", get_enabled>();
  service.serve<"cuGraphNodeSetEnabled", set_enabled>();
#if CUDA_VERSION >= 12000
  service.serve<"cuGraphExecKernelNodeSetParams", set_parameters<KernelLaunch, CUDA_KERNEL_NODE_PARAMS_v2>>();
#endif
#if CUDA_VERSION >= 12020
  service.serve<"cuGraphExecNodeSetParams", set_any>();
#endif
}

}  // namespace cushim::sim
