// SPDX-License-Identifier: Apache-2.0
// Nodes of graphs. A node belongs to its graph: these types refer to it and own nothing. The type says what
// a node does, so that GraphExec::set_copy() takes a CopyNode, and no other.
#pragma once

#include <cushim/detail/handle.hpp>
#include <cushim/exact.hpp>

#include <vector>

namespace cushim {
inline namespace v1 {

// The work of a node.
enum class GraphNodeType : int {
  kernel = CU_GRAPH_NODE_TYPE_KERNEL,
  copy = CU_GRAPH_NODE_TYPE_MEMCPY,
  memset = CU_GRAPH_NODE_TYPE_MEMSET,
  host = CU_GRAPH_NODE_TYPE_HOST,
  child = CU_GRAPH_NODE_TYPE_GRAPH,
  empty = CU_GRAPH_NODE_TYPE_EMPTY,
  event_wait = CU_GRAPH_NODE_TYPE_WAIT_EVENT,
  event_record = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
  semaphore_signal = CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL,
  semaphore_wait = CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT,
  allocation = CU_GRAPH_NODE_TYPE_MEM_ALLOC,
  free = CU_GRAPH_NODE_TYPE_MEM_FREE,
  memory_operations = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
  conditional = 13,  // CU_GRAPH_NODE_TYPE_CONDITIONAL, which headers before 12.3 lack
};

class GraphNode;

namespace detail {

// Returns the list that call(array, &count) writes. The call returns only the count if the array is null.
// Driver calls: the call, and once more if the count is not 0.
template <class Noun, class Call>
std::vector<GraphNode> node_list(const char *routine, const Noun &noun, Where where, Call call);

}  // namespace detail

// The calls that GraphNode and the types of nodes have in common.
template <class Self>
class GraphNodeCalls : public detail::NounBase<Self, CUgraphNode> {
 public:
  // Returns what the node does. Driver calls: cuGraphNodeGetType.
  GraphNodeType type(Where where = Where::current()) const {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    detail::check(this->driver().cuGraphNodeGetType(this->handle(), &type), "cuGraphNodeGetType", where,
                  this->self());
    return static_cast<GraphNodeType>(type);
  }

  // Returns the nodes that this one depends on. Throws LOSSY_QUERY if an edge is programmatic. Driver calls:
  // cuGraphNodeGetDependencies (its first ABI), and once more if there are any.
  std::vector<GraphNode> dependencies(Where where = Where::current()) const;
  // Returns the nodes that depend on this one. Throws LOSSY_QUERY if an edge is programmatic. Driver calls:
  // cuGraphNodeGetDependentNodes (its first ABI), and once more if there are any.
  std::vector<GraphNode> dependent_nodes(Where where = Where::current()) const;

 protected:
  GraphNodeCalls() = default;
  GraphNodeCalls(const GraphNodeCalls &) = default;
  GraphNodeCalls &operator=(const GraphNodeCalls &) = default;
};

// A node of any type.
class GraphNode : public detail::Reference<GraphNodeCalls<GraphNode>> {
 public:
  // Empty: no node.
  GraphNode() = default;

  // Returns this node as a CopyNode, KernelNode and so on: node.as<CopyNode>(). Throws INVALID_VALUE if it is
  // of another type. Driver calls: cuGraphNodeGetType.
  template <class Node>
  Node as(Where where = Where::current()) const {
    if (const GraphNodeType is = type(where); is != Node::kType)
      detail::fail(CUDA_ERROR_INVALID_VALUE, "cuGraphNodeGetType", where, *this,
                   detail::Argument{"type", static_cast<int>(is)},
                   detail::Argument{"wanted type", static_cast<int>(Node::kType)});
    return Node::from_handle(handle(), driver());
  }
};

// Returns "graph node 0x7f10" or "an empty graph node".
inline std::string to_text(const GraphNode &node) { return detail::noun_text("graph node", node); }

// A node of one type. Converts to GraphNode.
template <GraphNodeType node_type>
class TypedGraphNode : public GraphNodeCalls<TypedGraphNode<node_type>> {
 public:
  static constexpr GraphNodeType kType = node_type;

  // Empty: no node.
  TypedGraphNode() = default;

  // Returns a reference to a raw node, whose type is not checked; GraphNode::as() checks it. No driver call.
  static TypedGraphNode from_handle(CUgraphNode handle, Driver &driver = cushim::driver()) noexcept {
    TypedGraphNode node;
    node.node_ = GraphNode::from_handle(handle, driver);
    return node;
  }

  // Returns the reference without the type. No driver call.
  const GraphNode &ref() const noexcept { return node_; }
  operator const GraphNode &() const noexcept { return node_; }

 private:
  GraphNode node_;
};

using KernelNode = TypedGraphNode<GraphNodeType::kernel>;             // launches a kernel
using CopyNode = TypedGraphNode<GraphNodeType::copy>;                 // copies memory
using MemsetNode = TypedGraphNode<GraphNodeType::memset>;             // sets memory
using HostNode = TypedGraphNode<GraphNodeType::host>;                 // calls a function of the host
using ChildNode = TypedGraphNode<GraphNodeType::child>;               // runs another graph
using EmptyNode = TypedGraphNode<GraphNodeType::empty>;               // does nothing
using EventWaitNode = TypedGraphNode<GraphNodeType::event_wait>;      // waits for an event
using EventRecordNode = TypedGraphNode<GraphNodeType::event_record>;  // records an event
using MemoryOperationsNode = TypedGraphNode<GraphNodeType::memory_operations>;  // waits for and writes words
using SemaphoreSignalNode = TypedGraphNode<GraphNodeType::semaphore_signal>;    // signals external semaphores
using SemaphoreWaitNode = TypedGraphNode<GraphNodeType::semaphore_wait>;  // waits for external semaphores
using ConditionalNode = TypedGraphNode<GraphNodeType::conditional>;       // runs graphs on a condition
using AllocationNode = TypedGraphNode<GraphNodeType::allocation>;         // allocates memory
using FreeNode = TypedGraphNode<GraphNodeType::free>;                     // frees memory

// An edge: the work of `to` begins when that of `from` is done.
struct GraphEdge {
  GraphNode from;
  GraphNode to;

  friend bool operator==(const GraphEdge &, const GraphEdge &) = default;
};

namespace detail {

template <class Noun, class Call>
std::vector<GraphNode> node_list(const char *routine, const Noun &noun, Where where, Call call) {
  std::size_t count = 0;
  check(call(nullptr, &count), routine, where, noun);
  if (count == 0) return {};
  std::vector<CUgraphNode> handles(count);
  check(call(handles.data(), &count), routine, where, noun);
  std::vector<GraphNode> nodes;
  nodes.reserve(count);
  for (std::size_t i = 0; i < count; ++i) nodes.push_back(GraphNode::from_handle(handles[i], noun.driver()));
  return nodes;
}

}  // namespace detail

template <class Self>
std::vector<GraphNode> GraphNodeCalls<Self>::dependencies(Where where) const {
  return detail::node_list(
      "cuGraphNodeGetDependencies", this->self(), where, [this](CUgraphNode *nodes, std::size_t *count) {
        return exact::cuGraphNodeGetDependencies_v10000(this->driver())(this->handle(), nodes, count);
      });
}

template <class Self>
std::vector<GraphNode> GraphNodeCalls<Self>::dependent_nodes(Where where) const {
  return detail::node_list(
      "cuGraphNodeGetDependentNodes", this->self(), where, [this](CUgraphNode *nodes, std::size_t *count) {
        return exact::cuGraphNodeGetDependentNodes_v10000(this->driver())(this->handle(), nodes, count);
      });
}

}  // namespace v1
}  // namespace cushim
