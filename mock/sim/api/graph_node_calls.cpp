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

// The function is checked before the graph: measured on an H200, driver 580.
template <class Parameters>
CUresult add_kernel(Call &call, CUgraphNode *out, CUgraph graph, const CUgraphNode *after, std::size_t count,
                    const Parameters *parameters) {
  NodeParameters with = parameters_of(call, parameters);
  return add_with_dependencies(call, out, graph_of(call, graph), after, count, nullptr, std::move(with));
}

template <NodeParameters (*parameters_of)(Call &, CUevent)>
CUresult add_event(Call &call, CUgraphNode *out, CUgraph handle, const CUgraphNode *after, std::size_t count,
                   CUevent event) {
  Graph &graph = graph_of(call, handle);
  return add_with_dependencies(call, out, graph, after, count, nullptr, parameters_of(call, event));
}

CUresult add_child(Call &call, CUgraphNode *out, CUgraph handle, const CUgraphNode *after, std::size_t count,
                   CUgraph child) {
  require(out != nullptr);
  Graph &added = graph_of(call, child);
  require_child(added);  // before the graph: measured on an H200, driver 580
  return add_with_dependencies(call, out, graph_of(call, handle), after, count, nullptr,
                               {ChildGraph{&added}});
}

// ---- Reading parameters ----

void read(Call &, GraphNode &node, CUDA_MEMCPY3D &out) { out = command_of<Memcpy>(node).parameters(); }

void read(Call &, GraphNode &node, CUDA_MEMSET_NODE_PARAMS &out) {
  out = command_of<Memset>(node).parameters;
}

void read(Call &, GraphNode &node, CUDA_HOST_NODE_PARAMS &out) {
  const auto &command = command_of<HostFunction>(node);
  out = {command.function, command.data};
}

void read(Call &, GraphNode &node, CUDA_BATCH_MEM_OP_NODE_PARAMS &out) {
  auto &operations = command_of<BatchMemOp>(node).operations;
  out = {node.context, static_cast<unsigned>(operations.size()), operations.data(), 0};
}

void read(Call &, GraphNode &node, CUgraph &out) { out = handle_of(*command_of<ChildGraph>(node).graph); }

// Sets the members that all versions of the struct have.
template <class Parameters>
void read_launch(Call &call, GraphNode &node, Parameters &out) {
  auto &launch = command_of<KernelLaunch>(node);
  const Function &function = call.object<Function>(launch.function);
  node.arguments.clear();
  for (const ptx::Variable &parameter : function.entry->parameters)
    node.arguments.push_back(launch.parameters.data() + parameter.offset);
  out = {};
  out.func = launch.function;
  out.gridDimX = launch.shape.grid.x;
  out.gridDimY = launch.shape.grid.y;
  out.gridDimZ = launch.shape.grid.z;
  out.blockDimX = launch.shape.block.x;
  out.blockDimY = launch.shape.block.y;
  out.blockDimZ = launch.shape.block.z;
  out.sharedMemBytes = launch.shape.dynamic_shared_bytes;
  out.kernelParams = node.arguments.data();
}

void read(Call &call, GraphNode &node, CUDA_KERNEL_NODE_PARAMS_v1 &out) { read_launch(call, node, out); }

#if CUDA_VERSION >= 12000
void read(Call &call, GraphNode &node, CUDA_KERNEL_NODE_PARAMS_v2 &out) {
  read_launch(call, node, out);
  out.ctx = node.context;
}
#endif

template <class Parameters>
CUresult get_parameters(Call &call, CUgraphNode node, Parameters *out) {
  require(out != nullptr);
  read(call, node_of(call, node), *out);
  return CUDA_SUCCESS;
}

template <class EventCommand>
CUresult get_event(Call &call, CUgraphNode node, CUevent *event) {
  return store(event, [&] { return command_of<EventCommand>(node_of(call, node)).event; });
}

#if CUDA_VERSION >= 12020
// Sets the members that all headers have: those of CUDA 13.5 have more, which stay 0.
template <class To, class From>
void set_semaphores(To &to, const From &from) {
  to.extSemArray = from.extSemArray;
  to.paramsArray = from.paramsArray;
  to.numExtSems = from.numExtSems;
}

}  // namespace

CUgraphNodeParams parameters_of_any(Call &call, GraphNode &node) {
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
    read_launch(call, node, found.kernel);
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
    found.alloc.accessDescs = with.accessDescs;
    found.alloc.accessDescCount = with.accessDescCount;
    found.alloc.bytesize = with.bytesize;
    found.alloc.dptr = with.dptr;
  } else if (const auto *const free = std::get_if<MemoryFree>(&node.command)) {
    found.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
    found.free.dptr = free->memory->address;
  } else if (auto *const signal = std::get_if<ExternalSignal>(&node.command)) {
    const auto with = parameters_of(*signal);
    found.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL;
    set_semaphores(found.extSemSignal, with);
  } else if (auto *const semaphore_wait = std::get_if<ExternalWait>(&node.command)) {
    const auto with = parameters_of(*semaphore_wait);
    found.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT;
    set_semaphores(found.extSemWait, with);
#if CUDA_VERSION >= 12030
  } else if (std::holds_alternative<Conditional>(node.command)) {
    found.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    found.conditional = parameters_of(node);
#endif
  } else {
    found.type = CU_GRAPH_NODE_TYPE_EMPTY;
  }
  return found;
}

namespace {

CUresult get_any(Call &call, CUgraphNode handle, CUgraphNodeParams *out) {
  require(out != nullptr);
  *out = parameters_of_any(call, node_of(call, handle));
  return CUDA_SUCCESS;
}
#endif

// ---- Setting parameters; the type of a node stays the same ----

CUresult set(Call &call, GraphNode &node, NodeParameters &&parameters) {
  require(node.command.index() == parameters.command.index());
  if (auto *const launch = std::get_if<KernelLaunch>(&parameters.command))
    keep_attributes(call, std::get<KernelLaunch>(node.command), *launch);
  node.command = std::move(parameters.command);
  node.context = parameters.context;
  return CUDA_SUCCESS;
}

template <class OneCommand, class Parameters>
CUresult set_in_context(Call &call, CUgraphNode handle, const Parameters *parameters) {
  GraphNode &node = node_of(call, handle);
  command_of<OneCommand>(node);
  return set(call, node, parameters_of(call, parameters, node.context));
}

template <class OneCommand, class Parameters>
CUresult set_parameters(Call &call, CUgraphNode handle, const Parameters *parameters) {
  GraphNode &node = node_of(call, handle);
  command_of<OneCommand>(node);
  return set(call, node, parameters_of(call, parameters));
}

template <class EventCommand>
CUresult set_event(Call &call, CUgraphNode handle, CUevent event) {
  GraphNode &node = node_of(call, handle);
  command_of<EventCommand>(node);
  require(event != nullptr);
  call.event_despite_fault(event);
  return set(call, node, {EventCommand{event}});
}

#if CUDA_VERSION >= 12020
// Replaces the graph of a child graph node by a copy of another.
CUresult set_child(Call &call, GraphNode &node, Graph &graph) {
  // Measured on an H200, driver 580.
  require(!node.graph->has_memory_nodes, CUDA_ERROR_NOT_SUPPORTED);
  Graph &made = child_of(call, *node.graph, graph);
  destroy_graph(call.system, *std::exchange(std::get<ChildGraph>(node.command).graph, &made), call.name);
  call_destructors(call);
  return CUDA_SUCCESS;
}

// Measured on an H200, driver 580.
bool can_be_added_by_host_function(CUgraphNodeType type) {
  return type != CU_GRAPH_NODE_TYPE_KERNEL && type != CU_GRAPH_NODE_TYPE_MEMCPY &&
         type != CU_GRAPH_NODE_TYPE_MEMSET && type != CU_GRAPH_NODE_TYPE_GRAPH &&
         type != CU_GRAPH_NODE_TYPE_MEM_ALLOC && type != CU_GRAPH_NODE_TYPE_MEM_FREE;
}

CUresult add_any(Call &call, CUgraphNode *out, CUgraph handle, const CUgraphNode *after, const void *data,
                 std::size_t count, CUgraphNodeParams *parameters) {
  // Some parameters are checked before the graph, the kernel even first: measured on an H200, driver 580.
  const auto type = parameters != nullptr ? parameters->type : CU_GRAPH_NODE_TYPE_EMPTY;
  if (!can_be_added_by_host_function(type)) refuse_in_host_function(call);
  if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
    require_zero_unused(*parameters);
    require(parameters->kernel.func != nullptr || parameters->kernel.kern != nullptr,
            CUDA_ERROR_INVALID_HANDLE);
  }
  require(out != nullptr);
  if (type != CU_GRAPH_NODE_TYPE_GRAPH && type != kConditionalNode) graph_of(call, handle);
  require(parameters != nullptr);
  NodeParameters with = parameters_of(call, parameters);
  if (type == CU_GRAPH_NODE_TYPE_GRAPH) require_child(*std::get<ChildGraph>(with.command).graph);
  Graph &graph = graph_of(call, handle);
#if CUDA_VERSION >= 12030
  if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL) set_condition(with, graph, parameters->conditional);
#endif
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
  require_type(node, parameters);
  require(!std::holds_alternative<Conditional>(node.command), CUDA_ERROR_NOT_SUPPORTED);
  require_settable(parameters);
  NodeParameters wanted = parameters_of(call, parameters);
  if (const auto *const child = std::get_if<ChildGraph>(&wanted.command))
    return set_child(call, node, *child->graph);
  return set(call, node, std::move(wanted));
}
#endif

#if CUDA_VERSION >= 12030
CUresult add_any_with_data(Call &call, CUgraphNode *out, CUgraph handle, const CUgraphNode *after,
                           const CUgraphEdgeData *data, std::size_t count, CUgraphNodeParams *parameters) {
  return add_any(call, out, handle, after, data, count, parameters);
}
#endif

}  // namespace

constinit const Entries entries_of_graph_nodes = {
    entry<"cuGraphAddEmptyNode", add_empty>,
    entry<"cuGraphAddMemcpyNode", add_in_context<CUDA_MEMCPY3D>>,
    entry<"cuGraphAddMemsetNode", add_in_context<CUDA_MEMSET_NODE_PARAMS>>,
    entry<"cuGraphAddHostNode", add_with_parameters<CUDA_HOST_NODE_PARAMS>>,
    entry<"cuGraphAddKernelNode", add_kernel<CUDA_KERNEL_NODE_PARAMS_v1>>,
    entry<"cuGraphAddBatchMemOpNode", add_with_parameters<CUDA_BATCH_MEM_OP_NODE_PARAMS>>,
    entry<"cuGraphAddChildGraphNode", add_child>,
    entry<"cuGraphAddEventRecordNode", add_event<parameters_of_record>>,
    entry<"cuGraphAddEventWaitNode", add_event<parameters_of_wait>>,

    entry<"cuGraphMemcpyNodeGetParams", get_parameters<CUDA_MEMCPY3D>>,
    entry<"cuGraphMemcpyNodeSetParams", set_in_context<Memcpy, CUDA_MEMCPY3D>>,
    entry<"cuGraphMemsetNodeGetParams", get_parameters<CUDA_MEMSET_NODE_PARAMS>>,
    entry<"cuGraphMemsetNodeSetParams", set_in_context<Memset, CUDA_MEMSET_NODE_PARAMS>>,
    entry<"cuGraphHostNodeGetParams", get_parameters<CUDA_HOST_NODE_PARAMS>>,
    entry<"cuGraphHostNodeSetParams", set_parameters<HostFunction, CUDA_HOST_NODE_PARAMS>>,
    entry<"cuGraphKernelNodeGetParams", get_parameters<CUDA_KERNEL_NODE_PARAMS_v1>>,
    entry<"cuGraphKernelNodeSetParams", set_parameters<KernelLaunch, CUDA_KERNEL_NODE_PARAMS_v1>>,
    entry<"cuGraphBatchMemOpNodeGetParams", get_parameters<CUDA_BATCH_MEM_OP_NODE_PARAMS>>,
    entry<"cuGraphBatchMemOpNodeSetParams", set_parameters<BatchMemOp, CUDA_BATCH_MEM_OP_NODE_PARAMS>>,
    entry<"cuGraphEventRecordNodeGetEvent", get_event<EventRecord>>,
    entry<"cuGraphEventRecordNodeSetEvent", set_event<EventRecord>>,
    entry<"cuGraphEventWaitNodeGetEvent", get_event<EventWait>>,
    entry<"cuGraphEventWaitNodeSetEvent", set_event<EventWait>>,
    entry<"cuGraphChildGraphNodeGetGraph", get_parameters<CUgraph>>,
#if CUDA_VERSION >= 12000
    entry<"cuGraphAddKernelNode", add_kernel<CUDA_KERNEL_NODE_PARAMS_v2>>,
    entry<"cuGraphKernelNodeGetParams", get_parameters<CUDA_KERNEL_NODE_PARAMS_v2>>,
    entry<"cuGraphKernelNodeSetParams", set_parameters<KernelLaunch, CUDA_KERNEL_NODE_PARAMS_v2>>,
#endif
#if CUDA_VERSION >= 12020
    entry<"cuGraphAddNode", add_any_without_data>,
    entry<"cuGraphNodeSetParams", set_any>,
    entry<"cuGraphNodeGetParams", get_any>,
#endif
#if CUDA_VERSION >= 12030
    entry<"cuGraphAddNode", add_any_with_data>,
#endif
};

}  // namespace cushim::sim
