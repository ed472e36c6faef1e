// SPDX-License-Identifier: Apache-2.0
#include "graphs/executable.hpp"

#include <algorithm>
#include <span>

#include "api/call.hpp"
#include "graphs/condition.hpp"
#include "graphs/graph_memory.hpp"

namespace cushim::sim {

namespace {

// Appends graphs to a flat graph.
class Flattening {
 public:
  // Returns false if the graph or a child graph has a cycle. Nodes without dependencies follow `first`.
  bool append(const Graph &graph, std::optional<std::uint32_t> first) {
    flat.nodes.reserve(flat.nodes.size() + graph.node_count);
    flat.dependencies.reserve(flat.dependencies.size() + graph.edge_count);
    const std::size_t nodes = flat.nodes.size(), dependencies = flat.dependencies.size();
    const std::size_t bodies = flat.bodies.size();
    if (for_each_in_creation_order(graph, [&](GraphNode &node) { return append(node, first); })) return true;
    flat.nodes.erase(flat.nodes.begin() + static_cast<std::ptrdiff_t>(nodes), flat.nodes.end());
    flat.dependencies.resize(dependencies);
    flat.edge_data.erase(flat.edge_data.lower_bound(dependencies), flat.edge_data.end());
    flat.bodies.erase(flat.bodies.begin() + static_cast<std::ptrdiff_t>(bodies), flat.bodies.end());
    const std::vector<GraphNode *> order = in_topological_order(graph);
    return order.size() == graph.node_count &&
           std::ranges::all_of(order, [&](GraphNode *node) { return append(*node, first); });
  }

  // Returns the indices of the nodes without dependents. Requires that the graph has been appended.
  static std::vector<std::uint32_t> sinks_of(const Graph &graph) {
    std::vector<std::uint32_t> sinks;
    Graph::for_each(graph.sinks, [&](const GraphNode &node) {
      sinks.push_back(static_cast<std::uint32_t>(node.scratch));
    });
    return sinks;
  }

  FlatGraph flat;

 private:
  // Sets the node's `scratch` to its index.
  bool append(GraphNode &node, std::optional<std::uint32_t> first) {
    after_.clear();
    node.dependencies.for_each([&](const GraphEdge &edge) {
      if (edge.data != EdgeData{})
        flat.edge_data.emplace(flat.dependencies.size() + after_.size(), edge.data);
      after_.push_back(static_cast<std::uint32_t>(edge.from.scratch));
    });
    if (after_.empty() && first) after_.push_back(*first);
    if (!append(node, std::span<const std::uint32_t>(after_))) return false;
    node.scratch = last();
    return true;
  }

  std::uint32_t last() const { return static_cast<std::uint32_t>(flat.nodes.size() - 1); }

  bool append(const GraphNode &node, std::span<const std::uint32_t> after) {
    if (const auto *const conditional = std::get_if<Conditional>(&node.command))
      return append(node, *conditional, after);
    const auto *const child = std::get_if<ChildGraph>(&node.command);
    if (child == nullptr) return add(node.command, node.context, node.id, after), true;
    add(Empty{}, nullptr, 0, after);
    const std::uint32_t begin = last();
    if (!append(*child->graph, begin)) return false;
    std::vector<std::uint32_t> ends = sinks_of(*child->graph);
    if (ends.empty()) ends.push_back(begin);
    add(ChildGraph{}, nullptr, node.id, ends);
    flat.nodes.back().part = static_cast<std::uint32_t>(flat.children.size());
    flat.children.push_back({begin, child->graph->node_count});
    return true;
  }

  bool append(const GraphNode &node, const Conditional &conditional, std::span<const std::uint32_t> after) {
    add(node.command, node.context, node.id, after);
    flat.nodes.back().part = static_cast<std::uint32_t>(flat.bodies.size());
    for (const Graph *const body : conditional.bodies) {
      auto made = flatten(*body);
      if (!made) return false;
      flat.bodies.push_back(std::move(*made));
    }
    return true;
  }

  void add(const Command &command, CUcontext context, unsigned long id,
           std::span<const std::uint32_t> after) {
    FlatGraph::Node &node = flat.nodes.emplace_back();
    node.command = command;
    node.context = context;
    node.id = id;
    node.dependencies = static_cast<std::uint32_t>(flat.dependencies.size());
    node.dependency_count = static_cast<std::uint32_t>(after.size());
    flat.dependencies.insert(flat.dependencies.end(), after.begin(), after.end());
    for (const std::uint32_t earlier : after) flat.nodes[earlier].has_dependents = true;
    flat.has_memory_nodes = flat.has_memory_nodes || is_of_memory(command);
  }

  std::vector<std::uint32_t> after_;  // of the node that is appended
};

}  // namespace

std::optional<FlatGraph> flatten(const Graph &graph) {
  Flattening flattening;
  if (!flattening.append(graph, std::nullopt)) return std::nullopt;
  flattening.flat.sinks = Flattening::sinks_of(graph);
  flattening.flat.node_count = graph.node_count;
  return std::move(flattening.flat);
}

namespace {

void collect_conditions(const FlatGraph &graph, std::vector<std::shared_ptr<GraphCondition>> &found) {
  if (graph.bodies.empty()) return;
  for (const FlatGraph::Node &node : graph.nodes)
    if (const auto *const conditional = std::get_if<Conditional>(&node.command))
      found.push_back(conditional->condition);
  for (const FlatGraph &body : graph.bodies) collect_conditions(body, found);
}

void leave_conditions(ExecutableGraph &executable) {
  for (const auto &condition : executable.conditions) condition->executable = nullptr;
  executable.conditions.clear();
}

}  // namespace

bool take_conditions(ExecutableGraph &executable, const FlatGraph &graph) {
  std::vector<std::shared_ptr<GraphCondition>> found;
  collect_conditions(graph, found);
  for (const auto &condition : found)
    if (condition->executable != nullptr && condition->executable != &executable) return false;
  leave_conditions(executable);
  for (const auto &condition : found) condition->executable = &executable;
  executable.conditions = std::move(found);
  return true;
}

namespace {

// Finds the nodes of bodies, too.
void index_nodes(ExecutableGraph &executable, FlatGraph &graph) {
  std::uint32_t index = 0;
  for (const FlatGraph::Node &node : graph.nodes) {
    if (node.id != 0) executable.by_id.emplace_back(node.id, ExecutableGraph::Place{&graph, index});
    ++index;
  }
  for (FlatGraph &body : graph.bodies) index_nodes(executable, body);
}

}  // namespace

const ExecutableGraph::Place *ExecutableGraph::find(const GraphNode &node) {
  constexpr auto id = &std::pair<unsigned long, Place>::first;
  if (by_id.empty()) {
    by_id.reserve(graph.nodes.size());
    index_nodes(*this, graph);
    std::ranges::sort(by_id, {}, id);
  }
  const auto found = std::ranges::lower_bound(by_id, node.id, {}, id);
  return found != by_id.end() && found->first == node.id ? &found->second : nullptr;
}

void set_graph(ExecutableGraph &executable, FlatGraph &&graph) {
  executable.graph = std::move(graph);
  for (std::uint32_t i = 0; executable.graph.has_memory_nodes && i < executable.graph.nodes.size(); ++i)
    if (is_of_memory(executable.graph.nodes[i].command)) executable.memory_nodes.push_back(i);
  require(take_conditions(executable, executable.graph), CUDA_ERROR_NOT_SUPPORTED);
  try {
    take_memory(executable);
  } catch (...) {
    leave_conditions(executable);
    throw;
  }
}

void leave_graph(ExecutableGraph &executable) {
  leave_memory(executable);
  leave_conditions(executable);
}

}  // namespace cushim::sim
