// SPDX-License-Identifier: Apache-2.0
// Reads and sets the parameters of nodes as the driver's structures. The type of the node decides the
// structure.
//
//   CUDA_MEMCPY3D parameters = parameters_of(copy);
//   parameters.WidthInBytes /= 2;
//   set_parameters(copy, parameters);
//
// A change affects graphs that are instantiated later; GraphExec has functions for executable graphs.
// Pointers in a structure that the driver returns are valid until the node is changed or destroyed.
#pragma once

#include <cushim/graph_exec.hpp>

namespace cushim {
inline namespace v1 {
namespace detail {

// The calls that read and set the parameters of a type of nodes.
template <class Parameters>
struct NodeParameterCalls {
  NamedCall<CUresult(CUgraphNode, Parameters *)> get;
  NamedCall<CUresult(CUgraphNode, const Parameters *)> set;
};
template <class Parameters>
Parameters parameters_type(const NodeParameterCalls<Parameters> &);

struct NoParameterCalls {};
template <GraphNodeType type>
inline constexpr NoParameterCalls node_parameters{};
template <>
inline constexpr NodeParameterCalls<CUDA_KERNEL_NODE_PARAMS> node_parameters<GraphNodeType::kernel>{
    {"cuGraphKernelNodeGetParams", &Driver::cuGraphKernelNodeGetParams},
    {"cuGraphKernelNodeSetParams", &Driver::cuGraphKernelNodeSetParams}};
template <>
inline constexpr NodeParameterCalls<CUDA_MEMCPY3D> node_parameters<GraphNodeType::copy>{
    {"cuGraphMemcpyNodeGetParams", &Driver::cuGraphMemcpyNodeGetParams},
    {"cuGraphMemcpyNodeSetParams", &Driver::cuGraphMemcpyNodeSetParams}};
template <>
inline constexpr NodeParameterCalls<CUDA_MEMSET_NODE_PARAMS> node_parameters<GraphNodeType::memset>{
    {"cuGraphMemsetNodeGetParams", &Driver::cuGraphMemsetNodeGetParams},
    {"cuGraphMemsetNodeSetParams", &Driver::cuGraphMemsetNodeSetParams}};
template <>
inline constexpr NodeParameterCalls<CUDA_HOST_NODE_PARAMS> node_parameters<GraphNodeType::host>{
    {"cuGraphHostNodeGetParams", &Driver::cuGraphHostNodeGetParams},
    {"cuGraphHostNodeSetParams", &Driver::cuGraphHostNodeSetParams}};
template <>
inline constexpr NodeParameterCalls<CUDA_BATCH_MEM_OP_NODE_PARAMS>
    node_parameters<GraphNodeType::memory_operations>{
        {"cuGraphBatchMemOpNodeGetParams", &Driver::cuGraphBatchMemOpNodeGetParams},
        {"cuGraphBatchMemOpNodeSetParams", &Driver::cuGraphBatchMemOpNodeSetParams}};
template <>
inline constexpr NodeParameterCalls<CUDA_EXT_SEM_SIGNAL_NODE_PARAMS>
    node_parameters<GraphNodeType::semaphore_signal>{{"cuGraphExternalSemaphoresSignalNodeGetParams",
                                                      &Driver::cuGraphExternalSemaphoresSignalNodeGetParams},
                                                     {"cuGraphExternalSemaphoresSignalNodeSetParams",
                                                      &Driver::cuGraphExternalSemaphoresSignalNodeSetParams}};
template <>
inline constexpr NodeParameterCalls<CUDA_EXT_SEM_WAIT_NODE_PARAMS>
    node_parameters<GraphNodeType::semaphore_wait>{
        {"cuGraphExternalSemaphoresWaitNodeGetParams", &Driver::cuGraphExternalSemaphoresWaitNodeGetParams},
        {"cuGraphExternalSemaphoresWaitNodeSetParams", &Driver::cuGraphExternalSemaphoresWaitNodeSetParams}};
template <GraphNodeType type>
concept NodeWithParameters = requires {
  node_parameters<type>.get;
};
template <GraphNodeType type>
using NodeParameters = decltype(parameters_type(node_parameters<type>));

// Sets the parameters of a node of an executable graph.
template <class Exec, class Parameters>
void set_executable(const Exec &exec, const GraphNode &node, Parameters &parameters,
                    NamedCall<CUresult(CUgraphExec, CUgraphNode, Parameters *)> call, Where where) {
  require(node, call.name, where);
  check(call(exec.driver(), exec.handle(), node.handle(), &parameters), call.name, where, exec, node);
}

}  // namespace detail

inline namespace CUSHIM_DEFAULT_STREAM {

// ---- Reading parameters ---------------------------------------------------------------------------

// Returns the parameters of a node. Driver calls: cuGraph<type>NodeGetParams, for example
// cuGraphMemcpyNodeGetParams.
template <GraphNodeType type>
requires detail::NodeWithParameters<type>
auto parameters_of(const TypedGraphNode<type> &node, Where where = Where::current()) {
  return detail::ask(node, detail::node_parameters<type>.get, where);
}
inline CUDA_MEM_ALLOC_NODE_PARAMS parameters_of(const AllocationNode &node, Where where = Where::current()) {
  return detail::ask(
      node, detail::NamedCall{"cuGraphMemAllocNodeGetParams", &Driver::cuGraphMemAllocNodeGetParams}, where);
}
// Returns the address that a node frees. Driver calls: cuGraphMemFreeNodeGetParams.
inline CUdeviceptr address_of(const FreeNode &node, Where where = Where::current()) {
  return detail::ask(
      node, detail::NamedCall{"cuGraphMemFreeNodeGetParams", &Driver::cuGraphMemFreeNodeGetParams}, where);
}
// Return the event of a node. Driver calls: cuGraphEventRecordNodeGetEvent, cuGraphEventWaitNodeGetEvent.
inline EventRef event_of(const EventRecordNode &node, Where where = Where::current()) {
  const auto event = detail::ask(
      node, detail::NamedCall{"cuGraphEventRecordNodeGetEvent", &Driver::cuGraphEventRecordNodeGetEvent},
      where);
  return EventRef::from_handle(event, node.driver());
}
inline EventRef event_of(const EventWaitNode &node, Where where = Where::current()) {
  const auto event = detail::ask(
      node, detail::NamedCall{"cuGraphEventWaitNodeGetEvent", &Driver::cuGraphEventWaitNodeGetEvent}, where);
  return EventRef::from_handle(event, node.driver());
}
// Returns an attribute of a kernel node. Driver calls: cuGraphKernelNodeGetAttribute.
inline CUlaunchAttributeValue attribute_of(const KernelNode &node, CUlaunchAttributeID attribute,
                                           Where where = Where::current()) {
  return detail::ask<CUlaunchAttributeValue>(
      node, "cuGraphKernelNodeGetAttribute", where, [&](CUlaunchAttributeValue *out) {
        return node.driver().cuGraphKernelNodeGetAttribute(node.handle(), attribute, out);
      });
}
#if CUDA_VERSION >= 12020
// Returns the parameters of a node of any type. Needs a driver of CUDA 13.2. Driver calls:
// cuGraphNodeGetParams.
inline CUgraphNodeParams parameters_of(const GraphNode &node, Where where = Where::current()) {
  return detail::ask(node, detail::NamedCall{"cuGraphNodeGetParams", &Driver::cuGraphNodeGetParams}, where);
}
#endif

// ---- Setting parameters ---------------------------------------------------------------------------

// Sets the parameters of a node. Driver calls: cuGraph<type>NodeSetParams.
template <GraphNodeType type>
requires detail::NodeWithParameters<type>
void set_parameters(const TypedGraphNode<type> &node, const detail::NodeParameters<type> &parameters,
                    Where where = Where::current()) {
  constexpr auto &set = detail::node_parameters<type>.set;
  detail::check(set(node.driver(), node.handle(), &parameters), set.name, where, node);
}
// Set the event of a node. Driver calls: cuGraphEventRecordNodeSetEvent, cuGraphEventWaitNodeSetEvent.
inline void set_event(const EventRecordNode &node, const EventRef &event, Where where = Where::current()) {
  detail::call_with(
      node, event,
      detail::NamedCall{"cuGraphEventRecordNodeSetEvent", &Driver::cuGraphEventRecordNodeSetEvent}, where);
}
inline void set_event(const EventWaitNode &node, const EventRef &event, Where where = Where::current()) {
  detail::call_with(node, event,
                    detail::NamedCall{"cuGraphEventWaitNodeSetEvent", &Driver::cuGraphEventWaitNodeSetEvent},
                    where);
}
// Sets all attributes of a kernel node to those of another one. Driver calls:
// cuGraphKernelNodeCopyAttributes.
inline void copy_attributes(const KernelNode &to, const KernelNode &from, Where where = Where::current()) {
  constexpr const char *routine = "cuGraphKernelNodeCopyAttributes";
  detail::require(from, routine, where);
  detail::check(to.driver().cuGraphKernelNodeCopyAttributes(to.handle(), from.handle()), routine, where, to,
                from);
}
#if CUDA_VERSION >= 12020
// Sets the parameters of a node of any type. Needs CUDA 12.2. Driver calls: cuGraphNodeSetParams.
inline void set_parameters(const GraphNode &node, CUgraphNodeParams &parameters,
                           Where where = Where::current()) {
  detail::check(node.driver().cuGraphNodeSetParams(node.handle(), &parameters), "cuGraphNodeSetParams", where,
                node);
}
// Sets the parameters of a node of an executable graph. The node is that of the graph that was instantiated.
// Needs CUDA 12.2. Driver calls: cuGraphExecNodeSetParams.
inline void set_parameters(const GraphExecRef &exec, const GraphNode &node, CUgraphNodeParams &parameters,
                           Where where = Where::current()) {
  detail::set_executable(exec, node, parameters,
                         {"cuGraphExecNodeSetParams", &Driver::cuGraphExecNodeSetParams}, where);
}
#endif

// Set the parameters of nodes of an executable graph for which GraphExec has no function. Driver calls:
// cuGraphExec<type>NodeSetParams.
inline void set_parameters(const GraphExecRef &exec, const MemoryOperationsNode &node,
                           const CUDA_BATCH_MEM_OP_NODE_PARAMS &parameters, Where where = Where::current()) {
  detail::set_executable(exec, node, parameters,
                         {"cuGraphExecBatchMemOpNodeSetParams", &Driver::cuGraphExecBatchMemOpNodeSetParams},
                         where);
}
inline void set_parameters(const GraphExecRef &exec, const SemaphoreSignalNode &node,
                           const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS &parameters,
                           Where where = Where::current()) {
  detail::set_executable(exec, node, parameters,
                         {"cuGraphExecExternalSemaphoresSignalNodeSetParams",
                          &Driver::cuGraphExecExternalSemaphoresSignalNodeSetParams},
                         where);
}
inline void set_parameters(const GraphExecRef &exec, const SemaphoreWaitNode &node,
                           const CUDA_EXT_SEM_WAIT_NODE_PARAMS &parameters, Where where = Where::current()) {
  detail::set_executable(exec, node, parameters,
                         {"cuGraphExecExternalSemaphoresWaitNodeSetParams",
                          &Driver::cuGraphExecExternalSemaphoresWaitNodeSetParams},
                         where);
}

// ---- Numbers of graphs and nodes -------------------------------------------------------------------

// Return numbers that tools show: of a graph and an executable graph, unique in the process; and of a node,
// unique in its graph. Need a driver of CUDA 13.1. Driver calls: cuGraphGetId, cuGraphExecGetId,
// cuGraphNodeGetLocalId.
inline unsigned id_of(const GraphRef &graph, Where where = Where::current()) {
  return detail::ask(graph, detail::NamedCall{"cuGraphGetId", &Driver::cuGraphGetId}, where);
}
inline unsigned id_of(const GraphExecRef &exec, Where where = Where::current()) {
  return detail::ask(exec, detail::NamedCall{"cuGraphExecGetId", &Driver::cuGraphExecGetId}, where);
}
inline unsigned id_of(const GraphNode &node, Where where = Where::current()) {
  return detail::ask(node, detail::NamedCall{"cuGraphNodeGetLocalId", &Driver::cuGraphNodeGetLocalId}, where);
}
// Returns the number of a node that is unique in the process. Needs a driver of CUDA 13.1. Driver calls:
// cuGraphNodeGetToolsId.
inline unsigned long long tools_id_of(const GraphNode &node, Where where = Where::current()) {
  return detail::ask(node, detail::NamedCall{"cuGraphNodeGetToolsId", &Driver::cuGraphNodeGetToolsId}, where);
}
// Returns the graph that a child node runs, which belongs to the node. Driver calls:
// cuGraphChildGraphNodeGetGraph.
inline GraphRef graph_of(const ChildNode &node, Where where = Where::current()) {
  CUgraph graph = nullptr;
  detail::check(node.driver().cuGraphChildGraphNodeGetGraph(node.handle(), &graph),
                "cuGraphChildGraphNodeGetGraph", where, node);
  return GraphRef::from_handle(graph, node.driver());
}
// Returns the graph that a node is in. Needs a driver of CUDA 13.1. Driver calls:
// cuGraphNodeGetContainingGraph.
inline GraphRef containing_graph_of(const GraphNode &node, Where where = Where::current()) {
  const auto graph = detail::ask(
      node, detail::NamedCall{"cuGraphNodeGetContainingGraph", &Driver::cuGraphNodeGetContainingGraph},
      where);
  return GraphRef::from_handle(graph, node.driver());
}

// ---- Memory of graphs -----------------------------------------------------------------------------

// An amount of memory that a device has for graphs.
enum class GraphMemory : int {
  used = CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT,
  used_high = CU_GRAPH_MEM_ATTR_USED_MEM_HIGH,
  reserved = CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT,
  reserved_high = CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH,
};
// Returns an amount in bytes. Driver calls: cuDeviceGetGraphMemAttribute.
inline std::uint64_t graph_memory(Device device, GraphMemory which, Where where = Where::current()) {
  return detail::ask<cuuint64_t>(device, "cuDeviceGetGraphMemAttribute", where, [&](cuuint64_t *out) {
    return device.driver().cuDeviceGetGraphMemAttribute(device.handle(),
                                                        static_cast<CUgraphMem_attribute>(which), out);
  });
}
// Sets a high-water mark (used_high or reserved_high) to the current value. Driver calls:
// cuDeviceSetGraphMemAttribute.
inline void reset_graph_memory(Device device, GraphMemory which, Where where = Where::current()) {
  cuuint64_t zero = 0;
  detail::check(device.driver().cuDeviceSetGraphMemAttribute(device.handle(),
                                                             static_cast<CUgraphMem_attribute>(which), &zero),
                "cuDeviceSetGraphMemAttribute", where, device);
}
// Returns unused memory of graphs to the device. Driver calls: cuDeviceGraphMemTrim.
inline void trim_graph_memory(Device device, Where where = Where::current()) {
  detail::check(device.driver().cuDeviceGraphMemTrim(device.handle()), "cuDeviceGraphMemTrim", where, device);
}

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace v1
}  // namespace cushim
