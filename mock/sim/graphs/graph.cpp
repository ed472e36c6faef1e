// SPDX-License-Identifier: Apache-2.0
#include "graphs/graph.hpp"

#include "graphs/condition.hpp"
#include "machine/system.hpp"

namespace cushim::sim {

GraphEdge::GraphEdge(GraphNode &from, GraphNode &to, EdgeData data) noexcept
    : from(from), to(to), data(data) {
  of_from.join(from.dependents);
  of_to.join(to.dependencies);
  ++from.dependents.count_;
  ++to.dependencies.count_;
  ++from.graph->edge_count;
}

GraphEdge::~GraphEdge() {
  --from.dependents.count_;
  --to.dependencies.count_;
  if (from.graph != nullptr) --from.graph->edge_count;
}

GraphNode::~GraphNode() {
  for (EdgeList *const list : {&dependencies, &dependents})
    while (!list->empty()) delete &list->front();
  if (graph != nullptr) --graph->node_count;
}

Graph::~Graph() {
  for_each_node([](GraphNode &node) { node.graph = nullptr; });
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
  if (free != nullptr) graph.freed_memory.insert(free->memory.get());
  if (is_of_memory(command)) graph.has_memory_nodes = true;
  if (std::holds_alternative<Conditional>(command)) graph.has_conditional_nodes = true;
  if (std::holds_alternative<ChildGraph>(command)) graph.has_child_graphs = true;
  node->command = std::move(command);
  node->context = context;
  node->id = ++system.last_graph_id;
  GraphNode &added = system.handles.add(std::move(node));
  added.graph = &graph;
  added.join(graph.nodes);
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

Graph &clone(System &system, const Graph &graph) {
  Graph &made = make_graph(system);
  made.original = graph.id;
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
  object.references -= count;
  if (object.references != 0) return;
  system.destructors.push_back({object.destroy, object.data});
  system.handles.erase(object, by);
}

namespace {

// Checks whether the nodes were created in the order that in_topological_order() otherwise finds by counting
// dependencies: by the last dependency, then by the place among its dependents. Visits each node once: a
// graph of 100,000 nodes does not fit into the L2 cache, and counting visits each node twice more.
class CreationOrder {
 public:
  // Returns whether the next node in the order of creation is the next one in the other order.
  bool has_next(const GraphNode &node) {
    const GraphEdge *last = nullptr;
    bool is_after_known = true;
    node.dependencies.for_each([&](const GraphEdge &edge) {
      is_after_known = is_after_known && edge.from.id < node.id;
      if (is_after_known && (last == nullptr || last->from.scratch < edge.from.scratch)) last = &edge;
    });
    if (!is_after_known || !follows(last)) return false;
    last_ = last;
    return true;
  }

 private:
  bool follows(const GraphEdge *edge) const {
    if (last_ == nullptr) return true;
    if (edge == nullptr) return false;
    if (&edge->from == &last_->from) return &last_->of_from.next() == &edge->of_from;
    return last_->from.scratch < edge->from.scratch;
  }

  const GraphEdge *last_ = nullptr;  // of the previous node; null: it has no dependencies
};

}  // namespace

bool for_each_in_creation_order(const Graph &graph, const std::function<bool(GraphNode &)> &visit) {
  CreationOrder creation;
  bool is_in_order = true;
  graph.for_each_node(
      [&](GraphNode &node) { is_in_order = is_in_order && creation.has_next(node) && visit(node); });
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
