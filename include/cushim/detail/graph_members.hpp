// SPDX-License-Identifier: Apache-2.0
// The definitions of members of <cushim/graph.hpp>, which includes this file.
#pragma once

#include <cushim/graph.hpp>
#include <cushim/memory_access.hpp>

namespace cushim {
inline namespace v1 {
inline namespace CUSHIM_DEFAULT_STREAM {

template <class Self>
template <class Node, class Call, class... Things>
Node AddNodes<Self>::add(const char *routine, Where where, Call call, const Things &...things) const {
  const GraphRef &graph = self().graph();
  std::vector<CUgraphNode> dependencies;
  for (const GraphNode &node : self().dependencies()) {
    detail::require(node, routine, where);
    dependencies.push_back(node.handle());
  }
  CUgraphNode node = nullptr;
  detail::check(call(&node, graph.handle(), dependencies.data(), dependencies.size()), routine, where, graph,
                things...);
  return Node::from_handle(node, graph.driver());
}

template <class Self>
template <class Node, class Noun, class Entry>
Node AddNodes<Self>::add_with(const Noun &noun, const char *routine, Entry entry, Where where) const {
  detail::require(noun, routine, where);
  const auto call = [&](auto... place) { return (self().graph().driver().*entry)(place..., noun.handle()); };
  return add<Node>(routine, where, call, noun);
}

template <class Self>
KernelNode AddNodes<Self>::add_launch(const detail::NodeKernel &kernel, const LaunchConfig &config,
                                      void **arguments) const {
  Driver &driver = self().graph().driver();
  detail::require(kernel.target, "cuGraphAddKernelNode", config.where);
  const auto parameters =
      detail::kernel_parameters(kernel, config.grid, config.block, config.shared, arguments);
  const auto call = [&](auto... place) { return driver.cuGraphAddKernelNode(place..., &parameters); };
  const auto node =
      add<KernelNode>("cuGraphAddKernelNode", config.where, call, kernel.target, detail::LaunchWords{config});
  const detail::RawLaunchConfig raw(config, nullptr, "cuGraphKernelNodeSetAttribute");
  for (const CUlaunchAttribute &attribute : std::span(raw.raw.attrs, raw.raw.numAttrs)) {
    const CUresult result =
        driver.cuGraphKernelNodeSetAttribute(node.handle(), attribute.id, &attribute.value);
    if (result != CUDA_SUCCESS) driver.cuGraphDestroyNode(node.handle());
    detail::check(result, "cuGraphKernelNodeSetAttribute", config.where, self().graph(), kernel.target,
                  detail::Argument{"attribute", attribute.id});
  }
  return node;
}

template <class Self>
template <class To, class From>
CopyNode AddNodes<Self>::add_copy(To &&to, const From &from, std::optional<ContextRef> context,
                                  Where where) const {
  constexpr const char *routine = "cuGraphAddMemcpyNode";
  if constexpr (detail::check_copy_node<To, const From>()) {
    const GraphRef &graph = self().graph();
    detail::require(graph, routine, where);
    const auto parameters =
        detail::copy_parameters(detail::view_of(to), detail::view_of(from), routine, where);
    const CUcontext in = detail::context_of_node(context, graph.driver(), routine, where);
    const auto call = [&](auto... place) {
      return graph.driver().cuGraphAddMemcpyNode(place..., &parameters, in);
    };
    return add<CopyNode>(routine, where, call);
  } else {
    return {};
  }
}

template <class Self>
template <class To>
MemsetNode AddNodes<Self>::add_memset(To &&to, const detail::ValueFor<To> &value,
                                      std::optional<ContextRef> context, Where where) const {
  constexpr const char *routine = "cuGraphAddMemsetNode";
  if constexpr (detail::check_memset_node<To>()) {
    const GraphRef &graph = self().graph();
    detail::require(graph, routine, where);
    const auto parameters =
        detail::memset_parameters(detail::view_of(to), value, graph.driver(), routine, where);
    const CUcontext in = detail::context_of_node(context, graph.driver(), routine, where);
    const auto call = [&](auto... place) {
      return graph.driver().cuGraphAddMemsetNode(place..., &parameters, in);
    };
    return add<MemsetNode>(routine, where, call, detail::Address{"to", parameters.dst});
  } else {
    return {};
  }
}

template <class Self>
template <detail::HostFunction Function>
HostNode AddNodes<Self>::add_host(Function &&function, Where where) const {
  const GraphRef &graph = self().graph();
  using HostCall = detail::HostCall<std::decay_t<Function>>;
  auto callable = std::make_unique<HostCall>(std::forward<Function>(function));
  CUDA_HOST_NODE_PARAMS parameters{};
  parameters.fn = &HostCall::repeatedly;
  parameters.userData = callable.get();
  const CUuserObject owner = detail::give_to_graph(std::move(callable), graph.handle(), graph, where);
  const auto call = [&](auto... place) {
    const CUresult result = graph.driver().cuGraphAddHostNode(place..., &parameters);
    if (result != CUDA_SUCCESS) graph.driver().cuGraphReleaseUserObject(graph.handle(), owner, 1);
    return result;
  };
  return add<HostNode>("cuGraphAddHostNode", where, call);
}

template <class Self>
ChildNode AddNodes<Self>::add_child(const GraphRef &child, Where where) const {
  return add_with<ChildNode>(child, "cuGraphAddChildGraphNode", &Driver::cuGraphAddChildGraphNode, where);
}

template <class Self>
EmptyNode AddNodes<Self>::add_empty(Where where) const {
  const auto call = [&](auto... place) { return self().graph().driver().cuGraphAddEmptyNode(place...); };
  return add<EmptyNode>("cuGraphAddEmptyNode", where, call);
}

template <class Self>
EventRecordNode AddNodes<Self>::add_record(const EventRef &event, Where where) const {
  return add_with<EventRecordNode>(event, "cuGraphAddEventRecordNode", &Driver::cuGraphAddEventRecordNode,
                                   where);
}

template <class Self>
EventWaitNode AddNodes<Self>::add_wait(const EventRef &event, Where where) const {
  return add_with<EventWaitNode>(event, "cuGraphAddEventWaitNode", &Driver::cuGraphAddEventWaitNode, where);
}

template <class Self>
template <class T>
GraphAllocation<T> AddNodes<Self>::add_allocation(Device device, std::size_t count, Where where) const {
  constexpr const char *routine = "cuGraphAddMemAllocNode";
  detail::require(device, routine, where);
  CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
  parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  parameters.poolProps.location = detail::location_of(device);
  parameters.bytesize = detail::bytes_of<T>(count, routine, where);
  const auto call = [&](auto... place) {
    return self().graph().driver().cuGraphAddMemAllocNode(place..., &parameters);
  };
  const auto node =
      add<AllocationNode>(routine, where, call, device, detail::bytes_argument(parameters.bytesize));
  return {node, DeviceSpan<T>(DevicePtr<T>(parameters.dptr), count)};
}

template <class Self>
template <class T>
FreeNode AddNodes<Self>::add_free(DeviceSpan<T> memory, Where where) const {
  const CUdeviceptr address = memory.data().address();
  const auto call = [&](auto... place) {
    return self().graph().driver().cuGraphAddMemFreeNode(place..., address);
  };
  return add<FreeNode>("cuGraphAddMemFreeNode", where, call, detail::Address{"memory", address});
}

template <class Self>
template <class Batch>
MemoryOperationsNode AddNodes<Self>::add_memory_operations(const Batch &batch,
                                                           std::optional<ContextRef> context,
                                                           Where where) const {
  constexpr const char *routine = "cuGraphAddBatchMemOpNode";
  const GraphRef &graph = self().graph();
  detail::require(graph, routine, where);
  CUDA_BATCH_MEM_OP_NODE_PARAMS parameters{};
  parameters.ctx = detail::context_of_node(context, graph.driver(), routine, where);
  parameters.count = static_cast<unsigned>(batch.operations().size());
  parameters.paramArray = const_cast<CUstreamBatchMemOpParams *>(batch.operations().data());
  const auto call = [&](auto... place) {
    return graph.driver().cuGraphAddBatchMemOpNode(place..., &parameters);
  };
  return add<MemoryOperationsNode>(routine, where, call,
                                   detail::Argument{"operations", static_cast<long long>(parameters.count)});
}

template <class Self>
SemaphoreSignalNode AddNodes<Self>::add_signal(const ExternalSemaphoreRef &semaphore, std::uint64_t value,
                                               Where where) const {
  return add_with_value<SemaphoreSignalNode, CUDA_EXT_SEM_SIGNAL_NODE_PARAMS,
                        CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS>(
      semaphore, value, "cuGraphAddExternalSemaphoresSignalNode",
      &Driver::cuGraphAddExternalSemaphoresSignalNode, where);
}

template <class Self>
SemaphoreWaitNode AddNodes<Self>::add_wait(const ExternalSemaphoreRef &semaphore, std::uint64_t value,
                                           Where where) const {
  return add_with_value<SemaphoreWaitNode, CUDA_EXT_SEM_WAIT_NODE_PARAMS,
                        CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS>(
      semaphore, value, "cuGraphAddExternalSemaphoresWaitNode", &Driver::cuGraphAddExternalSemaphoresWaitNode,
      where);
}

template <class Self>
template <class Node, class Parameters, class Value, class Entry>
Node AddNodes<Self>::add_with_value(const ExternalSemaphoreRef &semaphore, std::uint64_t value,
                                    const char *routine, Entry entry, Where where) const {
  detail::require(semaphore, routine, where);
  Value operation{};
  operation.params.fence.value = value;
  CUexternalSemaphore handle = semaphore.handle();
  const Parameters parameters{&handle, &operation, 1};
  const auto call = [&](auto... place) { return (self().graph().driver().*entry)(place..., &parameters); };
  return add<Node>(routine, where, call, semaphore);
}

#if CUDA_VERSION >= 12030

template <class Self>
GraphCondition GraphCalls<Self>::condition(std::optional<unsigned> at_launch,
                                           std::optional<ContextRef> context, Where where) const {
  constexpr const char *routine = "cuGraphConditionalHandleCreate";
  detail::require(graph(), routine, where);
  const CUcontext in = detail::context_of_node(context, this->driver(), routine, where);
  CUgraphConditionalHandle handle = 0;
  detail::check(this->driver().cuGraphConditionalHandleCreate(
                    &handle, this->handle(), in, at_launch.value_or(0),
                    at_launch ? static_cast<unsigned>(CU_GRAPH_COND_ASSIGN_DEFAULT) : 0u),
                routine, where, self());
  return GraphCondition::from_handle(handle, ContextRef::from_handle(in, this->driver()));
}

template <class Self>
ConditionalBodies AddNodes<Self>::add_conditional(const GraphCondition &condition,
                                                  CUgraphConditionalNodeType type, unsigned bodies,
                                                  Where where) const {
  const GraphRef &graph = self().graph();
  detail::require(condition.context(), "cuGraphAddNode", where);
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  parameters.conditional.handle = condition.handle();
  parameters.conditional.type = type;
  parameters.conditional.size = bodies;
  parameters.conditional.ctx = condition.context().handle();
  const auto call = [&](CUgraphNode *node, CUgraph to, const CUgraphNode *after, std::size_t count) {
    return exact::cuGraphAddNode_v12030(graph.driver())(node, to, after, nullptr, count, &parameters);
  };
  ConditionalBodies made{add<ConditionalNode>("cuGraphAddNode", where, call, condition.context()), {}};
  for (unsigned i = 0; i < bodies; ++i)
    made.bodies.push_back(GraphRef::from_handle(parameters.conditional.phGraph_out[i], graph.driver()));
  return made;
}

template <class Self>
ConditionalBody AddNodes<Self>::add_if(const GraphCondition &condition, Where where) const {
  const ConditionalBodies made = add_conditional(condition, CU_GRAPH_COND_TYPE_IF, 1, where);
  return {made.node, made.bodies.front()};
}
template <class Self>
ConditionalBody AddNodes<Self>::add_while(const GraphCondition &condition, Where where) const {
  const ConditionalBodies made = add_conditional(condition, CU_GRAPH_COND_TYPE_WHILE, 1, where);
  return {made.node, made.bodies.front()};
}

#endif
#if CUDA_VERSION >= 12080

template <class Self>
ConditionalBodies AddNodes<Self>::add_if_else(const GraphCondition &condition, Where where) const {
  return add_conditional(condition, CU_GRAPH_COND_TYPE_IF, 2, where);
}
template <class Self>
ConditionalBodies AddNodes<Self>::add_switch(const GraphCondition &condition, unsigned count,
                                             Where where) const {
  return add_conditional(condition, CU_GRAPH_COND_TYPE_SWITCH, count, where);
}

#endif

template <class Self>
template <std::convertible_to<const GraphNode &>... Nodes>
NodesAfter GraphCalls<Self>::after(const Nodes &...nodes) const {
  return after(std::vector<GraphNode>{nodes...});
}

template <class Self>
NodesAfter GraphCalls<Self>::after(std::vector<GraphNode> nodes) const {
  return NodesAfter(graph(), std::move(nodes));
}

template <class Self>
std::vector<GraphEdge> GraphCalls<Self>::edges(Where where) const {
  const auto &get_edges = exact::cuGraphGetEdges_v10000(this->driver());
  std::size_t count = 0;
  detail::check(get_edges(this->handle(), nullptr, nullptr, &count), "cuGraphGetEdges", where, self());
  if (count == 0) return {};
  std::vector<CUgraphNode> from(count), to(count);
  detail::check(get_edges(this->handle(), from.data(), to.data(), &count), "cuGraphGetEdges", where, self());
  std::vector<GraphEdge> edges;
  edges.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    edges.push_back(
        {GraphNode::from_handle(from[i], this->driver()), GraphNode::from_handle(to[i], this->driver())});
  return edges;
}

template <class Self>
Graph GraphCalls<Self>::clone(Where where) const {
  CUgraph handle = nullptr;
  detail::check(this->driver().cuGraphClone(&handle, this->handle()), "cuGraphClone", where, self());
  return Graph::adopt(handle, this->driver());
}

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace v1
}  // namespace cushim
