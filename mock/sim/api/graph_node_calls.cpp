// SPDX-License-Identifier: Apache-2.0
// Nodes of graphs: creation and parameters.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include "api/graph_objects.hpp"
#include "commands/submit.hpp"

namespace cushim::sim {
namespace {

// ---- Creation ----

CUresult add_empty(Call &call, CUgraphNode *out, CUgraph graph, const CUgraphNode *after, std::size_t count) {
  return add_with_dependencies(call, out, graph_of(call, graph), after, count, nullptr, {Empty{}});
}

template <class Parameters>
CUresult add_in_context(Call &call, CUgraphNode *out, CUgraph handle, const CUgraphNode *after,
                        std::size_t count, const Parameters *parameters, CUcontext context) {
  Graph &graph = graph_of(call, handle);
  return add_with_dependencies(call, out, graph, after, count, nullptr,
                               parameters_of(call, parameters, context));
}

template <class Parameters>
CUresult add_with_parameters(Call &call, CUgraphNode *out, CUgraph handle, const CUgraphNode *after,
                             std::size_t count, const Parameters *parameters) {
  Graph &graph = graph_of(call, handle);
  return add_with_dependencies(call, out, graph, after, count, nullptr, parameters_of(call, parameters));
}

template <NodeParameters (*parameters_of)(Call &, CUevent)>
CUresult add_event(Call &call, CUgraphNode *out, CUgraph handle, const CUgraphNode *after, std::size_t count,
                   CUevent event) {
  Graph &graph = graph_of(call, handle);
  return add_with_dependencies(call, out, graph, after, count, nullptr, parameters_of(call, event));
}

CUresult add_child(Call &call, CUgraphNode *out, CUgraph handle, const CUgraphNode *after, std::size_t count,
                   CUgraph child) {
  Graph &graph = graph_of(call, handle);
  return add_with_dependencies(call, out, graph, after, count, nullptr, {ChildGraph{&graph_of(call, child)}});
}

// ---- Parameters that a node has ----

CUresult get(Call &call, CUgraphNode node, CUDA_MEMCPY3D *out) {
  require(out != nullptr);
  *out = command_of<Memcpy>(node_of(call, node)).parameters();
  return CUDA_SUCCESS;
}

CUresult get(Call &call, CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *out) {
  require(out != nullptr);
  *out = command_of<Memset>(node_of(call, node)).parameters;
  return CUDA_SUCCESS;
}

CUresult get(Call &call, CUgraphNode node, CUDA_HOST_NODE_PARAMS *out) {
  require(out != nullptr);
  const auto &command = command_of<HostFunction>(node_of(call, node));
  *out = {command.function, command.data};
  return CUDA_SUCCESS;
}

CUresult get(Call &call, CUgraphNode handle, CUDA_BATCH_MEM_OP_NODE_PARAMS *out) {
  require(out != nullptr);
  GraphNode &node = node_of(call, handle);
  auto &operations = command_of<BatchMemOp>(node).operations;
  *out = {node.context, static_cast<unsigned>(operations.size()), operations.data(), 0};
  return CUDA_SUCCESS;
}

// Sets the members that all versions of the struct have.
template <class Parameters>
GraphNode &get_launch(Call &call, CUgraphNode handle, Parameters *out) {
  require(out != nullptr);
  GraphNode &node = node_of(call, handle);
  auto &launch = command_of<KernelLaunch>(node);
  const Function &function = call.function(launch.function);
  node.arguments.clear();
  for (const ptx::Variable &parameter : function.entry->parameters)
    node.arguments.push_back(launch.parameters.data() + parameter.offset);
  *out = {};
  out->func = launch.function;
  out->gridDimX = launch.shape.grid.x;
  out->gridDimY = launch.shape.grid.y;
  out->gridDimZ = launch.shape.grid.z;
  out->blockDimX = launch.shape.block.x;
  out->blockDimY = launch.shape.block.y;
  out->blockDimZ = launch.shape.block.z;
  out->sharedMemBytes = launch.shape.dynamic_shared_bytes;
  out->kernelParams = node.arguments.data();
  return node;
}

CUresult get(Call &call, CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *out) {
  get_launch(call, node, out);
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12000
CUresult get(Call &call, CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2 *out) {
  const GraphNode &found = get_launch(call, node, out);
  out->ctx = found.context;
  return CUDA_SUCCESS;
}
#endif

template <class Parameters>
CUresult get_parameters(Call &call, CUgraphNode node, Parameters *out) {
  return get(call, node, out);
}

template <class EventCommand>
CUresult get_event(Call &call, CUgraphNode node, CUevent *event) {
  require(event != nullptr);
  *event = command_of<EventCommand>(node_of(call, node)).event;
  return CUDA_SUCCESS;
}

CUresult get_child(Call &call, CUgraphNode node, CUgraph *graph) {
  require(graph != nullptr);
  *graph = handle_of(*command_of<ChildGraph>(node_of(call, node)).graph);
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12020
// Sets the member of the node's type. Pointers in it are valid until the node is destroyed.
CUresult get_any(Call &call, CUgraphNode handle, CUgraphNodeParams *out) {
  require(out != nullptr);
  GraphNode &node = node_of(call, handle);
  CUgraphNodeParams found{};
  if (const auto *const copy = std::get_if<Memcpy>(&node.command)) {
    found.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    found.memcpy.copyCtx = node.context;
    found.memcpy.copyParams = copy->parameters();
  } else if (const auto *const set = std::get_if<Memset>(&node.command)) {
    const CUDA_MEMSET_NODE_PARAMS &with = set->parameters;
    found.type = CU_GRAPH_NODE_TYPE_MEMSET;
    found.memset = {with.dst,   with.pitch,  with.value,  with.elementSize,
                    with.width, with.height, node.context};
  } else if (std::holds_alternative<KernelLaunch>(node.command)) {
    get_launch(call, handle, &found.kernel);
    found.type = CU_GRAPH_NODE_TYPE_KERNEL;
    found.kernel.ctx = node.context;
  } else if (const auto *const host = std::get_if<HostFunction>(&node.command)) {
    found.type = CU_GRAPH_NODE_TYPE_HOST;
    found.host.fn = host->function;
    found.host.userData = host->data;
  } else if (const auto *const record = std::get_if<EventRecord>(&node.command)) {
    found.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    found.eventRecord.event = record->event;
  } else if (const auto *const wait = std::get_if<EventWait>(&node.command)) {
    found.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
    found.eventWait.event = wait->event;
  } else if (auto *const batch = std::get_if<BatchMemOp>(&node.command)) {
    found.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    found.memOp = {node.context, static_cast<unsigned>(batch->operations.size()), batch->operations.data(),
                   0};
  } else if (const auto *const child = std::get_if<ChildGraph>(&node.command)) {
    found.type = CU_GRAPH_NODE_TYPE_GRAPH;
    found.graph.graph = handle_of(*child->graph);
  } else if (const auto *const made = std::get_if<MemoryAllocation>(&node.command)) {
    const CUDA_MEM_ALLOC_NODE_PARAMS with = parameters_of(*made);
    found.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    found.alloc.poolProps = with.poolProps;
    found.alloc.bytesize = with.bytesize;
    found.alloc.dptr = with.dptr;
  } else if (const auto *const free = std::get_if<MemoryFree>(&node.command)) {
    found.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
    found.free.dptr = free->memory->address;
  } else if (std::holds_alternative<ExternalSignal>(node.command)) {
    found.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL;
  } else if (std::holds_alternative<ExternalWait>(node.command)) {
    found.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT;
#if CUDA_VERSION >= 12030
  } else if (std::holds_alternative<Conditional>(node.command)) {
    found.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    found.conditional = parameters_of(node);
#endif
  } else {
    found.type = CU_GRAPH_NODE_TYPE_EMPTY;
  }
  *out = found;
  return CUDA_SUCCESS;
}
#endif

// ---- Attributes of kernel nodes ----

// Sets whether the launch is cooperative, and its cluster. Returns the errors of cuLaunchKernelEx.
void set_attributes(Call &call, KernelLaunch &launch, bool is_cooperative, const ptx::Dim3 &cluster) {
  require(cluster.count() != 0);
  ptx::LaunchShape shape = launch.shape;
  shape.cluster = cluster;
  std::size_t size = launch.parameters.size();
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, launch.parameters.data(), CU_LAUNCH_PARAM_BUFFER_SIZE,
                   &size, CU_LAUNCH_PARAM_END};
  launch = describe_launch(call, call.function(launch.function), shape, is_cooperative, nullptr, extra);
}

// INVALID_VALUE for attributes that the documentation of CUlaunchAttributeID does not list as valid for graph
// nodes; NOT_SUPPORTED for the others that are not implemented.
[[noreturn]] void refuse_attribute(Call &call, CUkernelNodeAttrID attribute) {
  constexpr int kOfNodes[] = {1, 5, 8, 9, 10, 11, 13, 16};
  require(std::ranges::find(kOfNodes, static_cast<int>(attribute)) != std::end(kOfNodes));
  call.system.engine.report(std::string(call.name) + ": attribute " + std::to_string(attribute) +
                            " is not implemented");
  fail(CUDA_ERROR_NOT_SUPPORTED);
}

CUresult get_attribute(Call &call, CUgraphNode handle, CUkernelNodeAttrID attribute,
                       CUkernelNodeAttrValue *out) {
  const auto &launch = command_of<KernelLaunch>(node_of(call, handle));
  require(out != nullptr);
  if (attribute == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
    out->cooperative = launch.is_cooperative ? 1 : 0;
  } else if (attribute == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
    const ptx::Dim3 &cluster = launch.shape.cluster;
    out->clusterDim.x = cluster.x;
    out->clusterDim.y = cluster.y;
    out->clusterDim.z = cluster.z;
  } else {
    refuse_attribute(call, attribute);
  }
  return CUDA_SUCCESS;
}

CUresult set_attribute(Call &call, CUgraphNode handle, CUkernelNodeAttrID attribute,
                       const CUkernelNodeAttrValue *value) {
  auto &launch = command_of<KernelLaunch>(node_of(call, handle));
  require(value != nullptr);
  if (attribute == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
    set_attributes(call, launch, value->cooperative != 0, launch.shape.cluster);
  else if (attribute == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
    set_attributes(call, launch, launch.is_cooperative,
                   {value->clusterDim.x, value->clusterDim.y, value->clusterDim.z});
  else
    refuse_attribute(call, attribute);
  return CUDA_SUCCESS;
}

CUresult copy_attributes(Call &call, CUgraphNode to, CUgraphNode from) {
  GraphNode &destination = node_of(call, to), &source = node_of(call, from);
  auto &launch = command_of<KernelLaunch>(destination);
  const auto &like = command_of<KernelLaunch>(source);
  require(destination.context == source.context);
  set_attributes(call, launch, like.is_cooperative, like.shape.cluster);
  return CUDA_SUCCESS;
}

// ---- Other parameters for a node; its type stays the same ----

CUresult set(GraphNode &node, NodeParameters &&parameters) {
  require(node.command.index() == parameters.command.index());
  node.command = std::move(parameters.command);
  node.context = parameters.context;
  return CUDA_SUCCESS;
}

template <class OneCommand, class Parameters>
CUresult set_in_context(Call &call, CUgraphNode handle, const Parameters *parameters) {
  GraphNode &node = node_of(call, handle);
  command_of<OneCommand>(node);
  return set(node, parameters_of(call, parameters, node.context));
}

template <class OneCommand, class Parameters>
CUresult set_parameters(Call &call, CUgraphNode handle, const Parameters *parameters) {
  GraphNode &node = node_of(call, handle);
  command_of<OneCommand>(node);
  return set(node, parameters_of(call, parameters));
}

template <class EventCommand>
CUresult set_event(Call &call, CUgraphNode handle, CUevent event) {
  GraphNode &node = node_of(call, handle);
  command_of<EventCommand>(node);
  require(event != nullptr);
  call.event(event);
  return set(node, {EventCommand{event}});
}

#if CUDA_VERSION >= 12020
CUresult add_any(Call &call, CUgraphNode *out, CUgraph handle, const CUgraphNode *after, const void *data,
                 std::size_t count, CUgraphNodeParams *parameters) {
  Graph &graph = graph_of(call, handle);
  NodeParameters with = parameters_of(call, parameters);
  if (const auto *const made = std::get_if<MemoryAllocation>(&with.command))
    parameters->alloc.dptr = made->memory->address;
  const CUresult code = add_with_dependencies(call, out, graph, after, count, data, std::move(with));
#if CUDA_VERSION >= 12030
  if (parameters->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
    parameters->conditional = parameters_of(node_of(call, *out));
#endif
  return code;
}

CUresult add_any_without_data(Call &call, CUgraphNode *out, CUgraph handle, const CUgraphNode *after,
                              std::size_t count, CUgraphNodeParams *parameters) {
  return add_any(call, out, handle, after, nullptr, count, parameters);
}

CUresult set_any(Call &call, CUgraphNode handle, CUgraphNodeParams *parameters) {
  GraphNode &node = node_of(call, handle);
  require(!std::holds_alternative<Conditional>(node.command), CUDA_ERROR_NOT_SUPPORTED);
  require_settable(parameters);
  NodeParameters wanted = parameters_of(call, parameters);
  require(!std::holds_alternative<ChildGraph>(wanted.command));
  return set(node, std::move(wanted));
}
#endif

#if CUDA_VERSION >= 12030
CUresult add_any_with_data(Call &call, CUgraphNode *out, CUgraph handle, const CUgraphNode *after,
                           const CUgraphEdgeData *data, std::size_t count, CUgraphNodeParams *parameters) {
  return add_any(call, out, handle, after, data, count, parameters);
}
#endif

}  // namespace

void serve_graph_nodes(Service &service) {
  service.serve<"cuGraphAddEmptyNode", add_empty>();
  service.serve<"cuGraphAddMemcpyNode", add_in_context<CUDA_MEMCPY3D>>();
  service.serve<"cuGraphAddMemsetNode", add_in_context<CUDA_MEMSET_NODE_PARAMS>>();
  service.serve<"cuGraphAddHostNode", add_with_parameters<CUDA_HOST_NODE_PARAMS>>();
  service.serve<"cuGraphAddKernelNode", add_with_parameters<CUDA_KERNEL_NODE_PARAMS_v1>>();
  service.serve<"cuGraphAddBatchMemOpNode", add_with_parameters<CUDA_BATCH_MEM_OP_NODE_PARAMS>>();
  service.serve<"cuGraphAddChildGraphNode", add_child>();
  service.serve<"cuGraphAddEventRecordNode", add_event<parameters_of_record>>();
  service.serve<"cuGraphAddEventWaitNode", add_event<parameters_of_wait>>();

  service.serve<"cuGraphMemcpyNodeGetParams", get_parameters<CUDA_MEMCPY3D>>();
  service.serve<"cuGraphMemcpyNodeSetParams", set_in_context<Memcpy, CUDA_MEMCPY3D>>();
  service.serve<"cuGraphMemsetNodeGetParams", get_parameters<CUDA_MEMSET_NODE_PARAMS>>();
  service.serve<"cuGraphMemsetNodeSetParams", set_in_context<Memset, CUDA_MEMSET_NODE_PARAMS>>();
  service.serve<"cuGraphHostNodeGetParams", get_parameters<CUDA_HOST_NODE_PARAMS>>();
  service.serve<"cuGraphHostNodeSetParams", set_parameters<HostFunction, CUDA_HOST_NODE_PARAMS>>();
  service.serve<"cuGraphKernelNodeGetParams", get_parameters<CUDA_KERNEL_NODE_PARAMS_v1>>();
  service.serve<"cuGraphKernelNodeSetParams", set_parameters<KernelLaunch, CUDA_KERNEL_NODE_PARAMS_v1>>();
  service.serve<"cuGraphKernelNodeGetAttribute", get_attribute>();
  service.serve<"cuGraphKernelNodeSetAttribute", set_attribute>();
  service.serve<"cuGraphKernelNodeCopyAttributes", copy_attributes>();
  service.serve<"cuGraphBatchMemOpNodeGetParams", get_parameters<CUDA_BATCH_MEM_OP_NODE_PARAMS>>();
  service
      .serve<"cuGraphBatchMemOpNodeSetParams", set_parameters<BatchMemOp, CUDA_BATCH_MEM_OP_NODE_PARAMS>>();
  service.serve<"cuGraphEventRecordNodeGetEvent", get_event<EventRecord>>();
  service.serve<"cuGraphEventRecordNodeSetEvent", set_event<EventRecord>>();
  service.serve<"cuGraphEventWaitNodeGetEvent", get_event<EventWait>>();
  service.serve<"cuGraphEventWaitNodeSetEvent", set_event<EventWait>>();
  service.serve<"cuGraphChildGraphNodeGetGraph", get_child>();
#if CUDA_VERSION >= 12000
  service.serve<"cuGraphAddKernelNode", add_with_parameters<CUDA_KERNEL_NODE_PARAMS_v2>>();
  service.serve<"cuGraphKernelNodeGetParams", get_parameters<CUDA_KERNEL_NODE_PARAMS_v2>>();
  service.serve<"cuGraphKernelNodeSetParams", set_parameters<KernelLaunch, CUDA_KERNEL_NODE_PARAMS_v2>>();
#endif
#if CUDA_VERSION >= 12020
  service.serve<"cuGraphAddNode", add_any_without_data>();
  service.serve<"cuGraphNodeSetParams", set_any>();
  service.serve<"cuGraphNodeGetParams", get_any>();
#endif
#if CUDA_VERSION >= 12030
  service.serve<"cuGraphAddNode", add_any_with_data>();
#endif
}

}  // namespace cushim::sim
