// SPDX-License-Identifier: Apache-2.0
#include "graphs/graph.hpp"

#include <algorithm>
#include <utility>

#include "graphs/condition.hpp"
#include "graphs/graph_memory.hpp"
#include "machine/system.hpp"

namespace cushim::sim {

void EdgeList::add(ListLink &link) noexcept {
  link.join_before(end_);
  ++count_;
}

void EdgeList::remove(ListLink &link) noexcept {
  ListLink &last = end_.previous();
  if (&last != &link) {
    last.leave();
    last.join_before(link);
  }
  link.leave();
  --count_;
}

GraphEdge::GraphEdge(GraphNode &from, GraphNode &to, EdgeData data) noexcept
    : from(from), to(to), data(data) {
  if (from.dependents.empty()) from.sink.leave();
  if (to.dependencies.empty()) to.root.leave();
  from.dependents.add(of_from);
  to.dependencies.add(of_to);
  ++from.graph->edge_count;
}

GraphEdge::~GraphEdge() {
  from.dependents.remove(of_from);
  to.dependencies.remove(of_to);
  Graph *const graph = from.graph;
  if (graph == nullptr) return;
  --graph->edge_count;
  if (from.dependents.empty()) Graph::add_to_front(graph->sinks, from.sink);
  if (to.dependencies.empty()) Graph::add_to_front(graph->roots, to.root);
}

GraphNode::~GraphNode() {
  for (EdgeList *const list : {&dependencies, &dependents})
    while (!list->empty()) delete &list->front();
  root.leave();
  sink.leave();
  if (graph != nullptr) --graph->node_count;
}

Graph::~Graph() {
  for_each_node([](GraphNode &node) {
    node.graph = nullptr;
    node.root.leave();
    node.sink.leave();
  });
}

Graph &make_graph(System &system) {
  auto graph = std::make_unique<Graph>();
  graph->system = &system;
  if (system.graph_nodes == nullptr) {
    system.graph_nodes = BlockPool::make(sizeof(GraphNode));
    system.graph_edges = BlockPool::make(sizeof(GraphEdge));
  }
  graph->id = ++system.last_graph_id;
  return system.handles.add(std::move(graph));
}

GraphNode &add_node(System &system, Graph &graph, Command command, CUcontext context) {
  auto node = std::unique_ptr<GraphNode>(new (*system.graph_nodes) GraphNode);
  const auto *const free = std::get_if<MemoryFree>(&command);
  if (free != nullptr) free->memory->is_freed = true;
  if (const auto *const made = std::get_if<MemoryAllocation>(&command)) made->memory->graph = graph.id;
  if (is_of_memory(command)) graph.has_memory_nodes = true;
  if (std::holds_alternative<Conditional>(command)) graph.has_conditional_nodes = true;
  if (std::holds_alternative<ChildGraph>(command)) graph.has_child_graphs = true;
  node->command = std::move(command);
  node->context = context;
  node->id = ++system.last_graph_id;
  GraphNode &added = system.handles.add(std::move(node));
  added.graph = &graph;
  added.join(graph.nodes);
  Graph::add_to_front(graph.roots, added.root);
  Graph::add_to_front(graph.sinks, added.sink);
  ++graph.node_count;
  return added;
}

GraphEdge &connect(GraphNode &from, GraphNode &to, EdgeData data) {
  return *new (*from.graph->system->graph_edges) GraphEdge(from, to, data);
}

GraphEdge *find_edge(const GraphNode &from, const GraphNode &to) {
  GraphEdge *found = nullptr;
  const auto look = [&](GraphEdge &edge) {
    if (&edge.from == &from && &edge.to == &to) found = &edge;
  };
  const bool is_shorter = from.dependents.size() < to.dependencies.size();
  (is_shorter ? from.dependents : to.dependencies).for_each(look);
  return found;
}

const Graph &root_of(const Graph &graph) {
  const Graph *root = &graph;
  while (root->parent != nullptr) root = root->parent;
  return *root;
}

Graph &root_of(Graph &graph) { return const_cast<Graph &>(root_of(std::as_const(graph))); }

Graph &clone(System &system, const Graph &graph) {
  Graph &made = make_graph(system);
  made.original = graph.id;
  made.original_identity = graph.identity;
  made.clones.reserve(graph.node_count);
  graph.for_each_node([&](GraphNode &node) {
    Command command = node.command;
    if (auto *const child = std::get_if<ChildGraph>(&command)) {
      child->graph = &clone(system, *child->graph);
      child->graph->parent = &made;
    }
    GraphNode &copy = add_node(system, made, std::move(command), node.context);
    copy.original = node.id;
    made.clones.emplace(node.id, &copy);
  });
  graph.for_each_node([&](const GraphNode &node) {
    node.dependencies.for_each([&](const GraphEdge &edge) {
      connect(*made.clones.at(edge.from.id), *made.clones.at(node.id), edge.data);
    });
  });
  // Both lists keep the order of the original. Measured on an H200, driver 580, for the sinks.
  const auto add_to_end = [](ListLink &list, ListLink &link) {
    link.leave();
    link.join_before(list);
  };
  Graph::for_each(graph.sinks,
                  [&](const GraphNode &node) { add_to_end(made.sinks, made.clones.at(node.id)->sink); });
  Graph::for_each(graph.roots,
                  [&](const GraphNode &node) { add_to_end(made.roots, made.clones.at(node.id)->root); });
  made.user_objects = graph.user_objects;
  for (const auto &[object, count] : made.user_objects) object->references += count;
  return made;
}

void destroy_node(System &system, GraphNode &node, const char *by) {
  if (const auto *const child = std::get_if<ChildGraph>(&node.command))
    destroy_graph(system, *child->graph, by);
  if (const auto *const conditional = std::get_if<Conditional>(&node.command)) {
    conditional->condition->has_node = false;
    for (Graph *const body : conditional->bodies) destroy_graph(system, *body, by);
  }
  node.graph->clones.erase(node.original);
  system.handles.erase(node, by);
}

void destroy_graph(System &system, Graph &graph, const char *by) {
  graph.for_each_node([&](GraphNode &node) { destroy_node(system, node, by); });
  for (const auto &[object, count] : graph.user_objects) release(system, *object, count, by);
  system.handles.erase(graph, by);
}

void release(System &system, UserObject &object, unsigned long long count, const char *by) {
  object.references -= std::min(count, object.references);
  if (object.references != 0 || object.destroy == nullptr) return;
  system.destructors.push_back({std::exchange(object.destroy, nullptr), object.data});
  if (!object.is_permanent) system.handles.erase(object, by);
}

bool for_each_in_creation_order(const Graph &graph, const std::function<bool(GraphNode &)> &visit) {
  bool is_in_order = true;
  graph.for_each_node([&](GraphNode &node) {
    if (!is_in_order) return;
    node.dependencies.for_each(
        [&](const GraphEdge &edge) { is_in_order = is_in_order && edge.from.id < node.id; });
    is_in_order = is_in_order && visit(node);
  });
  return is_in_order;
}

std::vector<GraphNode *> in_topological_order(const Graph &graph) {
  std::vector<GraphNode *> order;
  order.reserve(graph.node_count);
  const bool is_in_order = for_each_in_creation_order(graph, [&](GraphNode &node) {
    node.scratch = order.size();
    order.push_back(&node);
    return true;
  });
  if (is_in_order) return order;
  order.clear();
  graph.for_each_node([&](GraphNode &node) {
    node.scratch = node.dependencies.size();
    if (node.scratch == 0) order.push_back(&node);
  });
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i]->dependents.for_each([&](const GraphEdge &edge) {
      if (--edge.to.scratch == 0) order.push_back(&edge.to);
    });
    order[i]->scratch = i;
  }
  return order;
}

}  // namespace cushim::sim
