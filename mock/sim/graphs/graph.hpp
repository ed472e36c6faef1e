// SPDX-License-Identifier: Apache-2.0
// Graphs, their nodes and edges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "commands/command.hpp"
#include "engine/block_pool.hpp"
#include "graphs/edge_data.hpp"
#include "objects/handle.hpp"
#include "objects/links.hpp"

namespace cushim::sim {

struct Graph;
struct GraphNode;
struct System;
struct UserObject;

// A dependency of `to` on `from`. An element of a list of each of the two nodes.
struct GraphEdge {
  GraphEdge(GraphNode &from, GraphNode &to, EdgeData data) noexcept;
  ~GraphEdge();
  GraphEdge(const GraphEdge &) = delete;
  GraphEdge &operator=(const GraphEdge &) = delete;
  static void *operator new(std::size_t, BlockPool &pool) { return pool.allocate(); }
  static void operator delete(void *edge) noexcept { BlockPool::give_back(edge); }
  static void operator delete(void *edge, BlockPool &) noexcept { BlockPool::give_back(edge); }

  GraphNode &from, &to;
  const EdgeData data;
  ListLinkOf<GraphEdge> of_from{*this}, of_to{*this};
};

// The edges that begin, or that end, at a node, in the order of their creation. The last edge takes the place
// of a removed one. Measured on an H200, driver 580.
class EdgeList {
 public:
  bool empty() const noexcept { return count_ == 0; }
  std::size_t size() const noexcept { return count_; }
  GraphEdge &front() const noexcept { return edge_of(end_.next()); }
  void add(ListLink &link) noexcept;
  void remove(ListLink &link) noexcept;
  template <class Visit>
  void for_each(Visit visit) const {
    for (const ListLink *link = &end_.next(); link != &end_; link = &link->next()) visit(edge_of(*link));
  }

 private:
  static GraphEdge &edge_of(const ListLink &link) noexcept {
    return static_cast<const ListLinkOf<GraphEdge> &>(link).owner;
  }

  ListLink end_;
  std::size_t count_ = 0;
};

struct GraphNode final : ObjectOf<Kind::graph_node> {
  ~GraphNode() override;
  static void *operator new(std::size_t, BlockPool &pool) { return pool.allocate(); }
  static void operator delete(void *node) noexcept { BlockPool::give_back(node); }
  static void operator delete(void *node, BlockPool &) noexcept { BlockPool::give_back(node); }

  Graph *graph = nullptr;
  CUcontext context = nullptr;  // null for a node that runs in the context of the launch
  Command command;
  unsigned long id = 0;
  unsigned long original = 0;                      // id of the node that this was cloned from; 0: none
  EdgeList dependencies;                           // edges to this node
  EdgeList dependents;                             // edges from this node
  ListLinkOf<GraphNode> root{*this}, sink{*this};  // linked while it has no dependencies; no dependents
  std::size_t scratch = 0;                         // used by algorithms; undefined between them
  // The arguments that cuGraphKernelNodeGetParams returns point to the command's parameters.
  std::vector<void *> arguments;
};

struct Graph final : ObjectOf<Kind::graph> {
  // When a machine ends, a graph may end before its nodes.
  ~Graph() override;

  struct Nodes : ListHook {};

  System *system = nullptr;
  unsigned long id = 0;
  unsigned long original = 0;  // id of the graph that this was cloned from; 0: none
  Graph *parent = nullptr;     // the graph of the node that it is a part of; null: none
  bool is_body = false;        // whether that node is a conditional node
  Nodes nodes;                 // in the order of creation
  // The nodes without dependencies, and those without dependents. A node that becomes one goes to the front.
  // Measured on an H200, driver 580.
  ListLink roots, sinks;
  std::size_t node_count = 0, edge_count = 0;
  bool has_memory_nodes = false, has_conditional_nodes = false, has_child_graphs = false;
  // The number of its executable graphs since it has memory nodes; null before the first. They outlive it.
  std::shared_ptr<unsigned> executables;
  // Its executable graphs and clones hold a reference, too; `original_identity` is that of the graph that
  // this was cloned from.
  struct Identity {};
  std::shared_ptr<const Identity> identity = std::make_shared<const Identity>(), original_identity;
  std::unordered_map<unsigned long, GraphNode *> clones;  // of a clone: its nodes by the original's id
  std::map<UserObject *, unsigned> user_objects;          // with the number of references
  // The conditions whose handles were created for the graph or its parts, by context; empty if the graph is a
  // part itself. Measured on an H200, driver 580.
  std::map<CUcontext, std::vector<std::shared_ptr<GraphCondition>>> conditions;

  static void add_to_front(ListLink &list, ListLink &link) noexcept { link.join_before(list.next()); }
  // `list` is `roots` or `sinks`.
  template <class Visit>
  static void for_each(const ListLink &list, Visit visit) {
    for (const ListLink *link = &list.next(); link != &list; link = &link->next())
      visit(static_cast<const ListLinkOf<GraphNode> *>(link)->owner);
  }
  template <class Visit>
  void for_each_node(Visit visit) const {
    for (ListLink *hook = &nodes.next(); hook != &nodes;) {
      auto &node = static_cast<GraphNode &>(*hook);
      hook = &hook->next();  // `visit` may destroy the node
      visit(node);
    }
  }
};

// A counted reference to data of the program (CUuserObject).
struct UserObject final : ObjectOf<Kind::user_object> {
  void *data = nullptr;
  CUhostFn destroy = nullptr;
  unsigned long long references = 0;
  // True if a graph has released more references than it held. Other holders may then have more than
  // `references`, so the object exists as long as the machine.
  bool is_permanent = false;
};

// Returns the graph that has no parent.
const Graph &root_of(const Graph &graph);
Graph &root_of(Graph &graph);
Graph &make_graph(System &system);
GraphNode &add_node(System &system, Graph &graph, Command command, CUcontext context);
// Returns a copy of the graph, child graphs included. Requires that it has no conditional nodes.
Graph &clone(System &system, const Graph &graph);
void destroy_node(System &system, GraphNode &node, const char *by);
void destroy_graph(System &system, Graph &graph, const char *by);
// Releases references. The program's function of an object without references is called by
// Call::call_destructors().
void release(System &system, UserObject &object, unsigned long long count, const char *by);

// Adds an edge; the nodes belong to the same graph.
GraphEdge &connect(GraphNode &from, GraphNode &to, EdgeData data = {});
// Returns null if there is no such edge. Takes time proportional to the smaller of the two numbers of edges.
GraphEdge *find_edge(const GraphNode &from, const GraphNode &to);

// Calls `visit` for the nodes in the order of their creation, as long as each follows its dependencies and
// `visit` returns true. Returns whether that were all nodes.
bool for_each_in_creation_order(const Graph &graph, const std::function<bool(GraphNode &)> &visit);
// Returns the nodes in an order in which each follows its dependencies; fewer nodes than the graph has if it
// has a cycle. Sets each node's `scratch` to its index.
std::vector<GraphNode *> in_topological_order(const Graph &graph);

inline CUgraph handle_of(const Graph &graph) { return reinterpret_cast<CUgraph>(graph.handle); }
inline CUgraphNode handle_of(const GraphNode &node) { return reinterpret_cast<CUgraphNode>(node.handle); }

}  // namespace cushim::sim
