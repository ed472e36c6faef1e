// SPDX-License-Identifier: Apache-2.0
// Graphs: operations and their dependencies, which are described once and launched many times.
//
//   Graph graph = Graph::create();
//   const auto load = graph.add_copy(x, input);
//   const auto clear = graph.add_memset(sum, 0.0f);
//   const auto work = graph.after(load, clear).add_kernel(kernel, {.grid = 4, .block = 256}, x, sum);
//   graph.after(work).add_copy(output, sum);
//   GraphExec::instantiate(graph).launch(stream);
//
// capture() of <cushim/capture.hpp> makes a graph of calls with a stream. <cushim/graph_exec.hpp> launches.
// The driver does not synchronize graphs: one thread at a time may use a graph.
#pragma once

#include <cushim/detail/node_parameters.hpp>
#include <cushim/detail/user_object.hpp>
#include <cushim/event.hpp>
#include <cushim/external_semaphore.hpp>
#include <cushim/graph_node.hpp>

namespace cushim {
inline namespace v1 {

// Memory that a graph allocates when it runs. Work after the node may use it, until it is freed by
// add_free().
template <class T>
struct GraphAllocation {
  AllocationNode node;
  DeviceSpan<T> memory;
};

// Details of nodes that write_dot() writes besides their types and edges.
enum class DotFlags : unsigned {
  none = 0,
  verbose = CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE,  // all of these
  kernel_parameters = CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS,
  copy_parameters = CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS,
  memset_parameters = CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS,
  host_parameters = CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS,
  event_parameters = CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS,
  kernel_attributes = CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_ATTRIBUTES,
  handles = CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES,
};
constexpr bool is_flags(DotFlags) { return true; }

inline namespace CUSHIM_DEFAULT_STREAM {

class Graph;
template <class Self>
class GraphCalls;

// A reference to a graph. Owns nothing. Converts from a CUgraph or cudaGraph_t of the current driver.
using GraphRef = detail::HandleRef<GraphCalls, detail::RawHandles::convert>;

struct ConditionalBody;
struct ConditionalBodies;

// A condition of one conditional node. Kernels set it: cudaGraphSetConditional(condition.handle(), value).
class GraphCondition {
 public:
  // Empty.
  GraphCondition() = default;
  // Returns the condition of a raw handle. No driver call.
  static GraphCondition from_handle(unsigned long long handle, ContextRef context) noexcept {
    return GraphCondition(handle, context);
  }
  unsigned long long handle() const noexcept { return handle_; }
  // Returns the context whose kernels set the condition, and in which the bodies run.
  const ContextRef &context() const noexcept { return context_; }

 private:
  GraphCondition(unsigned long long handle, ContextRef context) noexcept
      : handle_(handle), context_(context) {}

  unsigned long long handle_ = 0;
  ContextRef context_;
};

// The functions that add nodes. They are functions of a graph, which add a node without dependencies, and of
// graph.after(a, b), which add a node that depends on a and b. Memory, functions and events that a node uses
// must be valid at each launch.
template <class Self>
class AddNodes {
 public:
  // Adds a launch of a kernel. The driver copies the arguments, which must have the types of the kernel's
  // parameters exactly, because they are not checked: a TypedKernel is safer. Driver calls:
  // cuGraphAddKernelNode; with attributes, a cluster or cooperative, cuGraphKernelNodeSetAttribute for each;
  // if one fails, cuGraphDestroyNode.
  template <detail::UntypedNodeKernel Kernel, class... Arguments>
  KernelNode add_kernel(const Kernel &kernel, const LaunchConfig &config,
                        const Arguments &...arguments) const {
    (detail::require_argument<Arguments>(), ...);
    void *pointers[] = {const_cast<void *>(static_cast<const void *>(&arguments))..., nullptr};
    return add_launch(kernel, config, pointers);
  }
  // Adds a launch of a kernel whose arguments are checked by the compiler. Driver calls: as above.
  template <class... Parameters>
  KernelNode add_kernel(const TypedKernel<void(Parameters...)> &kernel, const LaunchConfig &config,
                        std::type_identity_t<KernelArgument<Parameters>>... arguments) const {
    void *pointers[] = {arguments.address()..., nullptr};
    return add_launch(kernel, config, pointers);
  }

  // Adds a copy between ranges, rows or slices; host memory must be page-locked. The copy runs in
  // `context`; by default in the current one. Throws INVALID_VALUE if the sizes differ. Driver calls:
  // cuGraphAddMemcpyNode; before it cuCtxGetCurrent if no context is given.
  template <class To, class From>
  CopyNode add_copy(To &&to, const From &from, std::optional<ContextRef> context = std::nullopt,
                    Where where = Where::current()) const;

  // Adds a memset of all elements of a range or of rows, of 1, 2 or 4 bytes each; of 8 bytes if both halves
  // of the value are equal, else throws INVALID_VALUE. Driver calls: cuGraphAddMemsetNode; before it
  // cuCtxGetCurrent if no context is given, and cuMemHostGetDevicePointer for page-locked memory.
  template <class To>
  MemsetNode add_memset(To &&to, const detail::ValueFor<To> &value,
                        std::optional<ContextRef> context = std::nullopt,
                        Where where = Where::current()) const;

  // Adds a call of function() on a thread of the driver. The function must make no driver calls; an exception
  // that it throws goes to the unreported handler. The graph owns the callable, and shares it with its clones
  // and executable graphs: see GraphCalls::keep(). Driver calls: cuUserObjectCreate,
  // cuGraphRetainUserObject, cuGraphAddHostNode; if that fails, cuGraphReleaseUserObject.
  template <detail::HostFunction Function>
  HostNode add_host(Function &&function, Where where = Where::current()) const;

  // Adds a copy of another graph, which runs as one node. Driver calls: cuGraphAddChildGraphNode.
  ChildNode add_child(const GraphRef &child, Where where = Where::current()) const;
  // Adds a node that does nothing: a point that other nodes depend on. Driver calls: cuGraphAddEmptyNode.
  EmptyNode add_empty(Where where = Where::current()) const;
  // Adds a record of an event. Driver calls: cuGraphAddEventRecordNode.
  EventRecordNode add_record(const EventRef &event, Where where = Where::current()) const;
  // Adds a wait for an event. Driver calls: cuGraphAddEventWaitNode.
  EventWaitNode add_wait(const EventRef &event, Where where = Where::current()) const;

  // Adds an allocation of count elements of device memory. The address is fixed. Driver calls:
  // cuGraphAddMemAllocNode.
  template <class T>
  GraphAllocation<T> add_allocation(Device device, std::size_t count, Where where = Where::current()) const;
  // Adds the free of memory that add_allocation() of this or of another graph allocates, or a stream. Driver
  // calls: cuGraphAddMemFreeNode.
  template <class T>
  FreeNode add_free(DeviceSpan<T> memory, Where where = Where::current()) const;

  // Adds the operations of a MemOpBatch, which run in order. Driver calls: cuGraphAddBatchMemOpNode; before
  // it cuCtxGetCurrent if no context is given.
  template <class Batch>
  MemoryOperationsNode add_memory_operations(const Batch &batch,
                                             std::optional<ContextRef> context = std::nullopt,
                                             Where where = Where::current()) const;
  // Add a signal of an external semaphore and a wait for one, as ExternalSemaphore::signal() and wait() do.
  // Driver calls: cuGraphAddExternalSemaphoresSignalNode, cuGraphAddExternalSemaphoresWaitNode.
  SemaphoreSignalNode add_signal(const ExternalSemaphoreRef &semaphore, std::uint64_t value = 1,
                                 Where where = Where::current()) const;
  SemaphoreWaitNode add_wait(const ExternalSemaphoreRef &semaphore, std::uint64_t value = 1,
                             Where where = Where::current()) const;

#if CUDA_VERSION >= 12030
  // Add a node that runs its body if the condition is not 0, or again and again while it is not 0. The body
  // is an empty graph that belongs to the node: add nodes to it before the graph is instantiated. A condition
  // has one node. Need CUDA 12.3. Driver calls: cuGraphAddNode.
  ConditionalBody add_if(const GraphCondition &condition, Where where = Where::current()) const;
  ConditionalBody add_while(const GraphCondition &condition, Where where = Where::current()) const;
#endif
#if CUDA_VERSION >= 12080
  // Add a node with two bodies, for a condition that is not 0 and one that is 0; and a node with `count`
  // bodies, of which the one with the index of the condition's value runs, if there is one. Need CUDA 12.8.
  // Driver calls: cuGraphAddNode.
  ConditionalBodies add_if_else(const GraphCondition &condition, Where where = Where::current()) const;
  ConditionalBodies add_switch(const GraphCondition &condition, unsigned count,
                               Where where = Where::current()) const;
#endif

  // Returns the graph, and the nodes that new nodes depend on. No driver call.
  auto position() const { return std::pair(self().graph(), std::vector<GraphNode>(self().dependencies())); }

 protected:
  ~AddNodes() = default;

 private:
  // Calls call(&node, graph, dependencies, count). things are named in the error.
  template <class Node, class Call, class... Things>
  Node add(const char *routine, Where where, Call call, const Things &...things) const;
  // Adds a node of an entry point that takes the handle of a noun.
  template <class Node, class Noun, class Entry>
  Node add_with(const Noun &noun, const char *routine, Entry entry, Where where) const;
  // Adds a node of one operation with an external semaphore.
  template <class Node, class Parameters, class Value, class Entry>
  Node add_with_value(const ExternalSemaphoreRef &semaphore, std::uint64_t value, const char *routine,
                      Entry entry, Where where) const;
#if CUDA_VERSION >= 12030
  ConditionalBodies add_conditional(const GraphCondition &condition, CUgraphConditionalNodeType type,
                                    unsigned bodies, Where where) const;
#endif
  KernelNode add_launch(const detail::NodeKernel &kernel, const LaunchConfig &config, void **arguments) const;

  const Self &self() const noexcept { return static_cast<const Self &>(*this); }
};

class NodesAfter;

// The calls that GraphRef and Graph have in common.
template <class Self>
class GraphCalls : public detail::NounBase<Self, CUgraph>, public AddNodes<Self> {
 public:
  // Returns the place in this graph after some nodes of it: graph.after(a, b).add_empty(). No driver call.
  template <std::convertible_to<const GraphNode &>... Nodes>
  NodesAfter after(const Nodes &...nodes) const;
  NodesAfter after(std::vector<GraphNode> nodes) const;

  // Adds or removes an edge: `to` begins when `from` is done. Driver calls: cuGraphAddDependencies or
  // cuGraphRemoveDependencies (their first ABI).
  void add_edge(const GraphNode &from, const GraphNode &to, Where where = Where::current()) const {
    change_edge("cuGraphAddDependencies", exact::cuGraphAddDependencies_v10000(this->driver()), from, to,
                where);
  }
  void remove_edge(const GraphNode &from, const GraphNode &to, Where where = Where::current()) const {
    change_edge("cuGraphRemoveDependencies", exact::cuGraphRemoveDependencies_v10000(this->driver()), from,
                to, where);
  }
  // Destroys a node of this graph, and its edges. Driver calls: cuGraphDestroyNode.
  void remove(const GraphNode &node, Where where = Where::current()) const {
    detail::require(node, "cuGraphDestroyNode", where);
    detail::check(this->driver().cuGraphDestroyNode(node.handle()), "cuGraphDestroyNode", where, self(),
                  node);
  }

  // Returns all nodes. Driver calls: cuGraphGetNodes, and once more if there are any.
  std::vector<GraphNode> nodes(Where where = Where::current()) const {
    return detail::node_list("cuGraphGetNodes", self(), where,
                             [this](CUgraphNode *nodes, std::size_t *count) {
                               return this->driver().cuGraphGetNodes(this->handle(), nodes, count);
                             });
  }
  // Returns the nodes without dependencies. Driver calls: cuGraphGetRootNodes, and once more if there are
  // any.
  std::vector<GraphNode> root_nodes(Where where = Where::current()) const {
    return detail::node_list("cuGraphGetRootNodes", self(), where,
                             [this](CUgraphNode *nodes, std::size_t *count) {
                               return this->driver().cuGraphGetRootNodes(this->handle(), nodes, count);
                             });
  }
  // Returns all edges. Throws LOSSY_QUERY if one is programmatic. Driver calls: cuGraphGetEdges (its first
  // ABI), and once more if there are any.
  std::vector<GraphEdge> edges(Where where = Where::current()) const;

  // Makes the graph the owner of an object, and returns it. The driver deletes the object, on a thread of its
  // own, when the graph, its clones and its executable graphs are destroyed and their launches are done. The
  // destructor must make no driver calls, so a type that destroys a driver's object does not compile. Driver
  // calls: cuUserObjectCreate, cuGraphRetainUserObject.
  template <class T>
  std::decay_t<T> &keep(T &&object, Where where = Where::current()) const {
    using Object = std::decay_t<T>;
    static_assert(
        !requires(Object & owner) { owner.close(where); },
        "cushim: a graph keeps no owner of a driver's object, whose destructor calls the driver");
    auto kept = std::make_unique<Object>(std::forward<T>(object));
    Object &result = *kept;
    detail::give_to_graph(std::move(kept), this->handle(), self(), where);
    return result;
  }

#if CUDA_VERSION >= 12030
  // Creates a condition for a conditional node of this graph, or of a graph in it. Each launch begins with
  // the value `at_launch`; without one, a kernel must set the condition before the node. Needs CUDA 12.3.
  // Driver calls: cuGraphConditionalHandleCreate; before it cuCtxGetCurrent if no context is given.
  GraphCondition condition(std::optional<unsigned> at_launch = std::nullopt,
                           std::optional<ContextRef> context = std::nullopt,
                           Where where = Where::current()) const;
#endif

  // Returns a copy of the graph. Driver calls: cuGraphClone; at the end cuGraphDestroy.
  Graph clone(Where where = Where::current()) const;
  // Returns the node of this clone that is the copy of a node of the original. Driver calls:
  // cuGraphNodeFindInClone.
  template <std::convertible_to<const GraphNode &> Node>
  Node find(const Node &original, Where where = Where::current()) const {
    const GraphNode &node = original;
    detail::require(node, "cuGraphNodeFindInClone", where);
    CUgraphNode found = nullptr;
    detail::check(this->driver().cuGraphNodeFindInClone(&found, node.handle(), this->handle()),
                  "cuGraphNodeFindInClone", where, self(), node);
    return Node::from_handle(found, this->driver());
  }

  // Writes the graph to a file in the DOT language. Driver calls: cuGraphDebugDotPrint.
  void write_dot(const std::string &path, DotFlags flags = DotFlags::none,
                 Where where = Where::current()) const {
    detail::check(this->driver().cuGraphDebugDotPrint(this->handle(), path.c_str(), detail::number(flags)),
                  "cuGraphDebugDotPrint", where, self(), detail::Argument{"flags", detail::number(flags)},
                  detail::Remark{path.c_str()});
  }

  static constexpr const char *kNoun = "graph";
  static constexpr detail::NamedCall kDestroy{"cuGraphDestroy", &Driver::cuGraphDestroy};

 protected:
  GraphCalls() = default;
  GraphCalls(const GraphCalls &) = default;
  GraphCalls &operator=(const GraphCalls &) = default;

 private:
  friend AddNodes<Self>;
  using detail::NounBase<Self, CUgraph>::self;
  const GraphRef &graph() const noexcept { return self().ref(); }
  static std::vector<GraphNode> dependencies() noexcept { return {}; }

  template <class Call>
  void change_edge(const char *routine, const Call &call, const GraphNode &from, const GraphNode &to,
                   Where where) const {
    detail::require(from, routine, where);
    detail::require(to, routine, where);
    const CUgraphNode nodes[] = {from.handle(), to.handle()};
    detail::check(call(this->handle(), &nodes[0], &nodes[1], 1), routine, where, self(), from, to);
  }
};

// A conditional node with one body, which belongs to the node.
struct ConditionalBody {
  ConditionalNode node;
  GraphRef body;
};

// A conditional node with several bodies, which belong to the node.
struct ConditionalBodies {
  ConditionalNode node;
  std::vector<GraphRef> bodies;
};

// A place in a graph, after some nodes of it. Made by graph.after(); must not outlive the graph.
class NodesAfter : public AddNodes<NodesAfter> {
 private:
  template <class>
  friend class GraphCalls;
  template <class>
  friend class AddNodes;
  NodesAfter(const GraphRef &graph, std::vector<GraphNode> nodes) noexcept
      : graph_(graph), nodes_(std::move(nodes)) {}
  const GraphRef &graph() const noexcept { return graph_; }
  const std::vector<GraphNode> &dependencies() const noexcept { return nodes_; }

  GraphRef graph_;
  std::vector<GraphNode> nodes_;
};

// Owns a graph. Executable graphs made of it need it only for changes of single nodes, which name its nodes.
class Graph : public detail::Owner<Graph, GraphRef, GraphCalls> {
 public:
  // Creates a graph without nodes. Needs no current context. Driver calls: cuGraphCreate; at the end
  // cuGraphDestroy.
  static Graph create(Driver &driver = cushim::driver(), Where where = Where::current()) {
    CUgraph handle = nullptr;
    detail::check(driver.cuGraphCreate(&handle, 0), "cuGraphCreate", where, detail::Through{&driver});
    return Graph(handle, driver, 0);
  }

 private:
  using Owner::Owner;
};

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace v1
}  // namespace cushim

// Included here for the definitions of the members above.
#include <cushim/detail/graph_members.hpp>
