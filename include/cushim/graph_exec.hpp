// SPDX-License-Identifier: Apache-2.0
// Executable graphs: graphs that are ready to launch, and whose nodes can be changed between launches.
//
//   GraphExec exec = GraphExec::instantiate(graph);
//   exec.launch(stream);
//   exec.set_kernel(node, kernel, {.grid = 8, .block = 256}, x, y);
//   if (!exec.update(other)) exec = GraphExec::instantiate(other);
//
// A change affects later launches only. The driver does not synchronize executable graphs: one thread at a
// time may use one.
#pragma once

#include <cushim/graph.hpp>

namespace cushim {
inline namespace v1 {

// Flags of an executable graph.
enum class InstantiateFlags : unsigned {
  none = 0,
  // A launch first frees the memory that the last launch allocated and did not free.
  auto_free_on_launch = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH,
  // Nodes run with their own priority, not with that of the stream.
  use_node_priority = CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY,
#if CUDA_VERSION >= 12000
  device_launch = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH,  // kernels can launch the graph
#endif
};
constexpr bool is_flags(InstantiateFlags) { return true; }

// The result of GraphExec::update(): why it failed.
enum class GraphUpdateResult : int {
  success = CU_GRAPH_EXEC_UPDATE_SUCCESS,
  error = CU_GRAPH_EXEC_UPDATE_ERROR,
  topology_changed = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED,
  node_type_changed = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED,
  function_changed = CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED,
  parameters_changed = CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED,
  not_supported = CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED,
  unsupported_function_change = CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE,
  attributes_changed = CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED,
};

// The result of an update: true if the executable graph is updated; else it is unchanged.
struct [[nodiscard]] GraphUpdate {
  GraphUpdateResult result = GraphUpdateResult::success;
  GraphNode node;  // the node of the new graph that could not be updated; empty if the driver names none

  explicit operator bool() const noexcept { return result == GraphUpdateResult::success; }
};

// The shape of a launch in an executable graph, whose attributes cannot be changed.
struct KernelShape {
  Dim3 grid{};
  Dim3 block{};
  unsigned shared = 0;             // bytes of dynamic shared memory of a block
  Where where = Where::current();  // for errors
};

// A node that can be disabled.
template <class T>
concept SwitchableNode =
    std::is_same_v<T, KernelNode> || std::is_same_v<T, CopyNode> || std::is_same_v<T, MemsetNode>;

inline namespace CUSHIM_DEFAULT_STREAM {

// The calls that GraphExecRef and GraphExec have in common. Nodes are those of the graph that was
// instantiated.
template <class Self>
class GraphExecCalls : public detail::NounBase<Self, CUgraphExec> {
 public:
  // Launches the graph in stream order. Launches of one executable graph run one after the other. Driver
  // calls: cuGraphLaunch.
  void launch(const StreamRef &stream, Where where = Where::current()) const {
    detail::require(this->self().ref(), "cuGraphLaunch", where);
    detail::check(stream.driver().cuGraphLaunch(this->handle(), stream.handle()), "cuGraphLaunch", where,
                  stream, this->self());
  }
  // Copies the graph to the device in stream order without a launch, so that the first launch is as fast as
  // the next. Driver calls: cuGraphUpload.
  void upload(const StreamRef &stream, Where where = Where::current()) const {
    detail::require(this->self().ref(), "cuGraphUpload", where);
    detail::check(stream.driver().cuGraphUpload(this->handle(), stream.handle()), "cuGraphUpload", where,
                  stream, this->self());
  }

  // Sets all parameters to those of a graph with the same nodes and edges. Returns the reason if the graphs
  // differ otherwise; throws only on other errors. Driver calls: cuGraphExecUpdate.
  GraphUpdate update(const GraphRef &graph, Where where = Where::current()) const {
    detail::require(graph, "cuGraphExecUpdate", where);
    CUgraphNode node = nullptr;
    CUgraphExecUpdateResult why = CU_GRAPH_EXEC_UPDATE_SUCCESS;
#if CUDA_VERSION >= 12000
    CUgraphExecUpdateResultInfo info{};
    const CUresult result = this->driver().cuGraphExecUpdate(this->handle(), graph.handle(), &info);
    node = info.errorNode;
    why = info.result;
#else
    const CUresult result = this->driver().cuGraphExecUpdate(this->handle(), graph.handle(), &node, &why);
#endif
    if (result != CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
      detail::check(result, "cuGraphExecUpdate", where, this->self(), graph);
    return {static_cast<GraphUpdateResult>(why),
            node != nullptr ? GraphNode::from_handle(node, this->driver()) : GraphNode()};
  }

  // Sets kernel, shape and arguments of a node. The arguments must have the types of the kernel's parameters
  // exactly, because they are not checked: a TypedKernel is safer. Driver calls:
  // cuGraphExecKernelNodeSetParams.
  template <detail::UntypedNodeKernel Kernel, class... Arguments>
  void set_kernel(const KernelNode &node, const Kernel &kernel, const KernelShape &shape,
                  const Arguments &...arguments) const {
    (detail::require_argument<Arguments>(), ...);
    void *pointers[] = {const_cast<void *>(static_cast<const void *>(&arguments))..., nullptr};
    set_launch(node, kernel, shape, pointers);
  }
  // The same for a kernel whose arguments are checked by the compiler.
  template <class... Parameters>
  void set_kernel(const KernelNode &node, const TypedKernel<void(Parameters...)> &kernel,
                  const KernelShape &shape,
                  std::type_identity_t<KernelArgument<Parameters>>... arguments) const {
    void *pointers[] = {arguments.address()..., nullptr};
    set_launch(node, kernel, shape, pointers);
  }

  // Sets source and target of a copy, as Graph::add_copy() does. Driver calls:
  // cuGraphExecMemcpyNodeSetParams; before it cuCtxGetCurrent if no context is given.
  template <class To, class From>
  void set_copy(const CopyNode &node, To &&to, const From &from,
                std::optional<ContextRef> context = std::nullopt, Where where = Where::current()) const {
    if constexpr (detail::check_copy_node<To, const From>()) {
      constexpr const char *routine = "cuGraphExecMemcpyNodeSetParams";
      require_both(node, routine, where);
      const auto parameters =
          detail::copy_parameters(detail::view_of(to), detail::view_of(from), routine, where);
      const CUcontext in = detail::context_of_node(context, this->driver(), routine, where);
      detail::check(
          this->driver().cuGraphExecMemcpyNodeSetParams(this->handle(), node.handle(), &parameters, in),
          routine, where, this->self(), node);
    }
  }

  // Sets range and value of a memset, as Graph::add_memset() does. Driver calls:
  // cuGraphExecMemsetNodeSetParams; before it those of Graph::add_memset().
  template <class To>
  void set_memset(const MemsetNode &node, To &&to, const detail::ValueFor<To> &value,
                  std::optional<ContextRef> context = std::nullopt, Where where = Where::current()) const {
    if constexpr (detail::check_memset_node<To>()) {
      constexpr const char *routine = "cuGraphExecMemsetNodeSetParams";
      require_both(node, routine, where);
      const auto parameters =
          detail::memset_parameters(detail::view_of(to), value, this->driver(), routine, where);
      const CUcontext in = detail::context_of_node(context, this->driver(), routine, where);
      detail::check(
          this->driver().cuGraphExecMemsetNodeSetParams(this->handle(), node.handle(), &parameters, in),
          routine, where, this->self(), node);
    }
  }

  // Sets the function of a host node, which calls function(data). An executable graph cannot own a callable,
  // so data must be valid at each launch. To set a callable, update() from a graph that has it. Driver calls:
  // cuGraphExecHostNodeSetParams.
  void set_host(const HostNode &node, CUhostFn function, void *data, Where where = Where::current()) const {
    require_both(node, "cuGraphExecHostNodeSetParams", where);
    CUDA_HOST_NODE_PARAMS parameters{};
    parameters.fn = function;
    parameters.userData = data;
    detail::check(this->driver().cuGraphExecHostNodeSetParams(this->handle(), node.handle(), &parameters),
                  "cuGraphExecHostNodeSetParams", where, this->self(), node);
  }

  // Sets the parameters of the nodes in a child node to those of a graph with the same nodes and edges.
  // Driver calls: cuGraphExecChildGraphNodeSetParams.
  void set_child(const ChildNode &node, const GraphRef &child, Where where = Where::current()) const {
    constexpr detail::NamedCall call{"cuGraphExecChildGraphNodeSetParams",
                                     &Driver::cuGraphExecChildGraphNodeSetParams};
    set_noun(node, child, call, where);
  }

  // Sets the event of a node that records it. Driver calls: cuGraphExecEventRecordNodeSetEvent.
  void set_event(const EventRecordNode &node, const EventRef &event, Where where = Where::current()) const {
    constexpr detail::NamedCall call{"cuGraphExecEventRecordNodeSetEvent",
                                     &Driver::cuGraphExecEventRecordNodeSetEvent};
    set_noun(node, event, call, where);
  }
  // Sets the event of a node that waits for it. Driver calls: cuGraphExecEventWaitNodeSetEvent.
  void set_event(const EventWaitNode &node, const EventRef &event, Where where = Where::current()) const {
    constexpr detail::NamedCall call{"cuGraphExecEventWaitNodeSetEvent",
                                     &Driver::cuGraphExecEventWaitNodeSetEvent};
    set_noun(node, event, call, where);
  }

  // Sets whether a node runs. A disabled node is an empty one until it is enabled. Driver calls:
  // cuGraphNodeSetEnabled.
  template <SwitchableNode Node>
  void set_enabled(const Node &node, bool enabled, Where where = Where::current()) const {
    require_both(node, "cuGraphNodeSetEnabled", where);
    detail::check(this->driver().cuGraphNodeSetEnabled(this->handle(), node.handle(), enabled ? 1 : 0),
                  "cuGraphNodeSetEnabled", where, this->self(), node);
  }
  // Returns whether a node runs. Driver calls: cuGraphNodeGetEnabled.
  template <SwitchableNode Node>
  bool is_enabled(const Node &node, Where where = Where::current()) const {
    require_both(node, "cuGraphNodeGetEnabled", where);
    unsigned enabled = 0;
    detail::check(this->driver().cuGraphNodeGetEnabled(this->handle(), node.handle(), &enabled),
                  "cuGraphNodeGetEnabled", where, this->self(), node);
    return enabled != 0;
  }

#if CUDA_VERSION >= 12000
  // Returns the flags that the graph was instantiated with. Needs CUDA 12.0. Driver calls:
  // cuGraphExecGetFlags.
  InstantiateFlags flags(Where where = Where::current()) const {
    cuuint64_t flags = 0;
    detail::check(this->driver().cuGraphExecGetFlags(this->handle(), &flags), "cuGraphExecGetFlags", where,
                  this->self());
    return static_cast<InstantiateFlags>(flags);
  }
#endif

  static constexpr const char *kNoun = "executable graph";
  static constexpr detail::NamedCall kDestroy{"cuGraphExecDestroy", &Driver::cuGraphExecDestroy};

 protected:
  GraphExecCalls() = default;
  GraphExecCalls(const GraphExecCalls &) = default;
  GraphExecCalls &operator=(const GraphExecCalls &) = default;

 private:
  void require_both(const GraphNode &node, const char *routine, Where where) const {
    detail::require(this->self().ref(), routine, where);
    detail::require(node, routine, where);
  }
  template <class Noun, class Call>
  void set_noun(const GraphNode &node, const Noun &noun, Call call, Where where) const {
    require_both(node, call.name, where);
    detail::require(noun, call.name, where);
    detail::check(call(this->driver(), this->handle(), node.handle(), noun.handle()), call.name, where,
                  this->self(), node, noun);
  }
  void set_launch(const KernelNode &node, const detail::NodeKernel &kernel, const KernelShape &shape,
                  void **arguments) const {
    constexpr const char *routine = "cuGraphExecKernelNodeSetParams";
    require_both(node, routine, shape.where);
    detail::require(kernel.target, routine, shape.where);
    const auto parameters =
        detail::kernel_parameters(kernel, shape.grid, shape.block, shape.shared, arguments);
    detail::check(this->driver().cuGraphExecKernelNodeSetParams(this->handle(), node.handle(), &parameters),
                  routine, shape.where, this->self(), node, kernel.target);
  }
};

// A reference to an executable graph. Owns nothing. Converts from a CUgraphExec or cudaGraphExec_t of the
// current driver.
using GraphExecRef = detail::HandleRef<GraphExecCalls, detail::RawHandles::convert>;

// Owns an executable graph. It may be destroyed while a launch of it runs.
class GraphExec : public detail::Owner<GraphExec, GraphExecRef, GraphExecCalls> {
 public:
  // Makes an executable graph of a graph, which is needed afterwards only for changes of single nodes. Needs
  // a current context, of any device. Driver calls: cuGraphInstantiateWithFlags; at the end
  // cuGraphExecDestroy.
  static GraphExec instantiate(const GraphRef &graph, InstantiateFlags flags = InstantiateFlags::none,
                               Where where = Where::current()) {
    CUgraphExec handle = nullptr;
    detail::check(graph.driver().cuGraphInstantiateWithFlags(&handle, graph.handle(), detail::number(flags)),
                  "cuGraphInstantiateWithFlags", where, graph,
                  detail::Argument{"flags", detail::number(flags)});
    return GraphExec(handle, graph.driver(), detail::number(flags));
  }
  // The same in a given context. Driver calls: push, as above, pop.
  static GraphExec instantiate(ContextRef context, const GraphRef &graph,
                               InstantiateFlags flags = InstantiateFlags::none,
                               Where where = Where::current()) {
    return detail::Creation::in(context, where, [&] { return instantiate(graph, flags, where); });
  }
  // The same in a device's primary context, which the executable graph retains until it is destroyed. Driver
  // calls: cuDevicePrimaryCtxRetain, push, as above, pop; at the end also cuDevicePrimaryCtxRelease.
  static GraphExec instantiate(Device device, const GraphRef &graph,
                               InstantiateFlags flags = InstantiateFlags::none,
                               Where where = Where::current()) {
    return detail::Creation::on(device, where, [&] { return instantiate(graph, flags, where); });
  }

 private:
  using Owner::Owner;
};

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace v1
}  // namespace cushim
