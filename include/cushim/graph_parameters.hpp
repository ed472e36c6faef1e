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
inline namespace CUSHIM_DEFAULT_STREAM {

// ---- Reading parameters ---------------------------------------------------------------------------

// Return the parameters of a node. Driver calls: cuGraph<type>NodeGetParams, for example
// cuGraphMemcpyNodeGetParams.
inline CUDA_KERNEL_NODE_PARAMS parameters_of(const KernelNode &node, Where where = Where::current()) {
  return detail::ask<CUDA_KERNEL_NODE_PARAMS>(
      node, "cuGraphKernelNodeGetParams", where, [&](CUDA_KERNEL_NODE_PARAMS *out) {
        return node.driver().cuGraphKernelNodeGetParams(node.handle(), out);
      });
}
inline CUDA_MEMCPY3D parameters_of(const CopyNode &node, Where where = Where::current()) {
  return detail::ask<CUDA_MEMCPY3D>(node, "cuGraphMemcpyNodeGetParams", where, [&](CUDA_MEMCPY3D *out) {
    return node.driver().cuGraphMemcpyNodeGetParams(node.handle(), out);
  });
}
inline CUDA_MEMSET_NODE_PARAMS parameters_of(const MemsetNode &node, Where where = Where::current()) {
  return detail::ask<CUDA_MEMSET_NODE_PARAMS>(
      node, "cuGraphMemsetNodeGetParams", where, [&](CUDA_MEMSET_NODE_PARAMS *out) {
        return node.driver().cuGraphMemsetNodeGetParams(node.handle(), out);
      });
}
inline CUDA_HOST_NODE_PARAMS parameters_of(const HostNode &node, Where where = Where::current()) {
  return detail::ask<CUDA_HOST_NODE_PARAMS>(
      node, "cuGraphHostNodeGetParams", where,
      [&](CUDA_HOST_NODE_PARAMS *out) { return node.driver().cuGraphHostNodeGetParams(node.handle(), out); });
}
inline CUDA_BATCH_MEM_OP_NODE_PARAMS parameters_of(const MemoryOperationsNode &node,
                                                   Where where = Where::current()) {
  return detail::ask<CUDA_BATCH_MEM_OP_NODE_PARAMS>(
      node, "cuGraphBatchMemOpNodeGetParams", where, [&](CUDA_BATCH_MEM_OP_NODE_PARAMS *out) {
        return node.driver().cuGraphBatchMemOpNodeGetParams(node.handle(), out);
      });
}
inline CUDA_EXT_SEM_SIGNAL_NODE_PARAMS parameters_of(const SemaphoreSignalNode &node,
                                                     Where where = Where::current()) {
  return detail::ask<CUDA_EXT_SEM_SIGNAL_NODE_PARAMS>(
      node, "cuGraphExternalSemaphoresSignalNodeGetParams", where, [&](CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *out) {
        return node.driver().cuGraphExternalSemaphoresSignalNodeGetParams(node.handle(), out);
      });
}
inline CUDA_EXT_SEM_WAIT_NODE_PARAMS parameters_of(const SemaphoreWaitNode &node,
                                                   Where where = Where::current()) {
  return detail::ask<CUDA_EXT_SEM_WAIT_NODE_PARAMS>(
      node, "cuGraphExternalSemaphoresWaitNodeGetParams", where, [&](CUDA_EXT_SEM_WAIT_NODE_PARAMS *out) {
        return node.driver().cuGraphExternalSemaphoresWaitNodeGetParams(node.handle(), out);
      });
}
inline CUDA_MEM_ALLOC_NODE_PARAMS parameters_of(const AllocationNode &node, Where where = Where::current()) {
  return detail::ask<CUDA_MEM_ALLOC_NODE_PARAMS>(
      node, "cuGraphMemAllocNodeGetParams", where, [&](CUDA_MEM_ALLOC_NODE_PARAMS *out) {
        return node.driver().cuGraphMemAllocNodeGetParams(node.handle(), out);
      });
}
// Returns the address that a node frees. Driver calls: cuGraphMemFreeNodeGetParams.
inline CUdeviceptr address_of(const FreeNode &node, Where where = Where::current()) {
  return detail::ask<CUdeviceptr>(node, "cuGraphMemFreeNodeGetParams", where, [&](CUdeviceptr *out) {
    return node.driver().cuGraphMemFreeNodeGetParams(node.handle(), out);
  });
}
// Return the event of a node. Driver calls: cuGraphEventRecordNodeGetEvent, cuGraphEventWaitNodeGetEvent.
inline EventRef event_of(const EventRecordNode &node, Where where = Where::current()) {
  const auto event = detail::ask<CUevent>(node, "cuGraphEventRecordNodeGetEvent", where, [&](CUevent *out) {
    return node.driver().cuGraphEventRecordNodeGetEvent(node.handle(), out);
  });
  return EventRef::from_handle(event, node.driver());
}
inline EventRef event_of(const EventWaitNode &node, Where where = Where::current()) {
  const auto event = detail::ask<CUevent>(node, "cuGraphEventWaitNodeGetEvent", where, [&](CUevent *out) {
    return node.driver().cuGraphEventWaitNodeGetEvent(node.handle(), out);
  });
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
  return detail::ask<CUgraphNodeParams>(node, "cuGraphNodeGetParams", where, [&](CUgraphNodeParams *out) {
    return node.driver().cuGraphNodeGetParams(node.handle(), out);
  });
}
#endif

// ---- Setting parameters ---------------------------------------------------------------------------

// Set the parameters of a node. Driver calls: cuGraph<type>NodeSetParams.
inline void set_parameters(const KernelNode &node, const CUDA_KERNEL_NODE_PARAMS &parameters,
                           Where where = Where::current()) {
  detail::check(node.driver().cuGraphKernelNodeSetParams(node.handle(), &parameters),
                "cuGraphKernelNodeSetParams", where, node);
}
inline void set_parameters(const CopyNode &node, const CUDA_MEMCPY3D &parameters,
                           Where where = Where::current()) {
  detail::check(node.driver().cuGraphMemcpyNodeSetParams(node.handle(), &parameters),
                "cuGraphMemcpyNodeSetParams", where, node);
}
inline void set_parameters(const MemsetNode &node, const CUDA_MEMSET_NODE_PARAMS &parameters,
                           Where where = Where::current()) {
  detail::check(node.driver().cuGraphMemsetNodeSetParams(node.handle(), &parameters),
                "cuGraphMemsetNodeSetParams", where, node);
}
inline void set_parameters(const HostNode &node, const CUDA_HOST_NODE_PARAMS &parameters,
                           Where where = Where::current()) {
  detail::check(node.driver().cuGraphHostNodeSetParams(node.handle(), &parameters),
                "cuGraphHostNodeSetParams", where, node);
}
inline void set_parameters(const MemoryOperationsNode &node, const CUDA_BATCH_MEM_OP_NODE_PARAMS &parameters,
                           Where where = Where::current()) {
  detail::check(node.driver().cuGraphBatchMemOpNodeSetParams(node.handle(), &parameters),
                "cuGraphBatchMemOpNodeSetParams", where, node);
}
inline void set_parameters(const SemaphoreSignalNode &node, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS &parameters,
                           Where where = Where::current()) {
  detail::check(node.driver().cuGraphExternalSemaphoresSignalNodeSetParams(node.handle(), &parameters),
                "cuGraphExternalSemaphoresSignalNodeSetParams", where, node);
}
inline void set_parameters(const SemaphoreWaitNode &node, const CUDA_EXT_SEM_WAIT_NODE_PARAMS &parameters,
                           Where where = Where::current()) {
  detail::check(node.driver().cuGraphExternalSemaphoresWaitNodeSetParams(node.handle(), &parameters),
                "cuGraphExternalSemaphoresWaitNodeSetParams", where, node);
}
// Set the event of a node. Driver calls: cuGraphEventRecordNodeSetEvent, cuGraphEventWaitNodeSetEvent.
inline void set_event(const EventRecordNode &node, const EventRef &event, Where where = Where::current()) {
  detail::require(event, "cuGraphEventRecordNodeSetEvent", where);
  detail::check(node.driver().cuGraphEventRecordNodeSetEvent(node.handle(), event.handle()),
                "cuGraphEventRecordNodeSetEvent", where, node, event);
}
inline void set_event(const EventWaitNode &node, const EventRef &event, Where where = Where::current()) {
  detail::require(event, "cuGraphEventWaitNodeSetEvent", where);
  detail::check(node.driver().cuGraphEventWaitNodeSetEvent(node.handle(), event.handle()),
                "cuGraphEventWaitNodeSetEvent", where, node, event);
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
  detail::require(node, "cuGraphExecNodeSetParams", where);
  detail::check(exec.driver().cuGraphExecNodeSetParams(exec.handle(), node.handle(), &parameters),
                "cuGraphExecNodeSetParams", where, exec, node);
}
#endif

// Set the parameters of nodes of an executable graph for which GraphExec has no function. Driver calls:
// cuGraphExec<type>NodeSetParams.
inline void set_parameters(const GraphExecRef &exec, const MemoryOperationsNode &node,
                           const CUDA_BATCH_MEM_OP_NODE_PARAMS &parameters, Where where = Where::current()) {
  detail::require(node, "cuGraphExecBatchMemOpNodeSetParams", where);
  detail::check(exec.driver().cuGraphExecBatchMemOpNodeSetParams(exec.handle(), node.handle(), &parameters),
                "cuGraphExecBatchMemOpNodeSetParams", where, exec, node);
}
inline void set_parameters(const GraphExecRef &exec, const SemaphoreSignalNode &node,
                           const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS &parameters,
                           Where where = Where::current()) {
  detail::require(node, "cuGraphExecExternalSemaphoresSignalNodeSetParams", where);
  detail::check(exec.driver().cuGraphExecExternalSemaphoresSignalNodeSetParams(exec.handle(), node.handle(),
                                                                               &parameters),
                "cuGraphExecExternalSemaphoresSignalNodeSetParams", where, exec, node);
}
inline void set_parameters(const GraphExecRef &exec, const SemaphoreWaitNode &node,
                           const CUDA_EXT_SEM_WAIT_NODE_PARAMS &parameters, Where where = Where::current()) {
  detail::require(node, "cuGraphExecExternalSemaphoresWaitNodeSetParams", where);
  detail::check(
      exec.driver().cuGraphExecExternalSemaphoresWaitNodeSetParams(exec.handle(), node.handle(), &parameters),
      "cuGraphExecExternalSemaphoresWaitNodeSetParams", where, exec, node);
}

// ---- Numbers of graphs and nodes -------------------------------------------------------------------

// Return numbers that tools show: of a graph and an executable graph, unique in the process; and of a node,
// unique in its graph. Need a driver of CUDA 13.1. Driver calls: cuGraphGetId, cuGraphExecGetId,
// cuGraphNodeGetLocalId.
inline unsigned id_of(const GraphRef &graph, Where where = Where::current()) {
  return detail::ask<unsigned>(graph, "cuGraphGetId", where, [&](unsigned *out) {
    return graph.driver().cuGraphGetId(graph.handle(), out);
  });
}
inline unsigned id_of(const GraphExecRef &exec, Where where = Where::current()) {
  return detail::ask<unsigned>(exec, "cuGraphExecGetId", where, [&](unsigned *out) {
    return exec.driver().cuGraphExecGetId(exec.handle(), out);
  });
}
inline unsigned id_of(const GraphNode &node, Where where = Where::current()) {
  return detail::ask<unsigned>(node, "cuGraphNodeGetLocalId", where, [&](unsigned *out) {
    return node.driver().cuGraphNodeGetLocalId(node.handle(), out);
  });
}
// Returns the number of a node that is unique in the process. Needs a driver of CUDA 13.1. Driver calls:
// cuGraphNodeGetToolsId.
inline unsigned long long tools_id_of(const GraphNode &node, Where where = Where::current()) {
  return detail::ask<unsigned long long>(node, "cuGraphNodeGetToolsId", where, [&](unsigned long long *out) {
    return node.driver().cuGraphNodeGetToolsId(node.handle(), out);
  });
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
  const auto graph = detail::ask<CUgraph>(node, "cuGraphNodeGetContainingGraph", where, [&](CUgraph *out) {
    return node.driver().cuGraphNodeGetContainingGraph(node.handle(), out);
  });
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
