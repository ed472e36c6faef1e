// SPDX-License-Identifier: Apache-2.0
#include "graphs/update.hpp"

#include <algorithm>
#include <span>
#include <type_traits>

#include "machine/system.hpp"

namespace cushim::sim {

namespace {

bool is_same_shape(const Memcpy &before, const Memcpy &after) {
  const CUDA_MEMCPY3D &a = before.parameters(), &b = after.parameters();
  return a.srcMemoryType == b.srcMemoryType && a.dstMemoryType == b.dstMemoryType &&
         (a.Height == 1) == (b.Height == 1) && (a.Depth == 1) == (b.Depth == 1);
}
bool is_same_shape(const Memset &before, const Memset &after) {
  return (before.parameters.height == 1) == (after.parameters.height == 1);
}
bool is_same_shape(const BatchMemOp &before, const BatchMemOp &after) {
  return before.operations.size() == after.operations.size();
}
template <class Parameters>
bool is_same_shape(const SemaphoreList<Parameters> &before, const SemaphoreList<Parameters> &after) {
  return before.semaphores.size() == after.semaphores.size();
}
template <class OneCommand>
bool is_same_shape(const OneCommand &, const OneCommand &) {
  return true;
}

}  // namespace

bool may_replace(const Command &before, const Command &after) {
  return std::visit(
      [&](const auto &command) {
        return is_same_shape(command, std::get<std::remove_cvref_t<decltype(command)>>(after));
      },
      before);
}

namespace {

// Returns the memory that a node allocates or frees; null for other nodes.
std::shared_ptr<GraphMemory> memory_of(const Command &command) {
  if (const auto *const allocation = std::get_if<MemoryAllocation>(&command)) return allocation->memory;
  if (const auto *const free = std::get_if<MemoryFree>(&command)) return free->memory;
  return nullptr;
}

// Measured on an H200, driver 580.
bool has_same_attributes(const Command &before, const Command &after) {
  const auto *const a = std::get_if<KernelLaunch>(&before), *const b = std::get_if<KernelLaunch>(&after);
  return a == nullptr || b == nullptr || a->is_cooperative == b->is_cooperative;
}

}  // namespace

bool has_same_sources_of_memory(System &system, const Memcpy &before, const Memcpy &after) {
  enum class Source { graph, pool, other };
  const auto source_of = [&system](CUmemorytype type, CUdeviceptr address) {
    const bool is_device = type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED;
    const Allocation *const found = is_device ? system.memory.find(address) : nullptr;
    if (found == nullptr) return Source::other;
    if (found->graph_memory != nullptr) return Source::graph;
    return found->pool != nullptr ? Source::pool : Source::other;
  };
  const CUDA_MEMCPY3D &a = before.parameters(), &b = after.parameters();
  return source_of(a.srcMemoryType, a.srcDevice) == source_of(b.srcMemoryType, b.srcDevice) &&
         source_of(a.dstMemoryType, a.dstDevice) == source_of(b.dstMemoryType, b.dstDevice);
}

CUgraphExecUpdateResult result_of_replacement(System &system, const Command &before, CUcontext context_before,
                                              const Command &after, CUcontext context_after) {
  const bool is_in_other_context = context_before != context_after;
  const bool is_of_semaphores =
      std::holds_alternative<ExternalSignal>(before) || std::holds_alternative<ExternalWait>(before);
  if (memory_of(before) != memory_of(after) || (is_of_semaphores && !may_replace(before, after)))
    return CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
  const auto *const copy = std::get_if<Memcpy>(&before);
  const bool may_be_set =
      may_replace(before, after) &&
      (copy == nullptr || has_same_sources_of_memory(system, *copy, std::get<Memcpy>(after)));
  if (!may_be_set || (is_in_other_context && std::holds_alternative<BatchMemOp>(before)))
    return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
  if (is_in_other_context && std::holds_alternative<KernelLaunch>(before))
    return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
  if (!has_same_attributes(before, after)) return CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

namespace {

// The nodes of a graph, or of a child graph.
struct Part {
  std::span<const std::uint32_t> sinks;
  std::size_t node_count = 0;
  std::uint32_t begin = Pairing::kNone;  // index of the empty node before the nodes of a child graph
};

Part all_of(const FlatGraph &graph) { return {graph.sinks, graph.node_count}; }

Part child_of(const FlatGraph &graph, const FlatGraph::Node &node) {
  const FlatGraph::Child &child = graph.children[node.part];
  const auto ends = graph.dependencies_of(node);
  return {child.node_count == 0 ? std::span<const std::uint32_t>() : ends, child.node_count, child.begin};
}

// Pairs the nodes of two graphs backwards from those without dependents, nearest first. The order of the
// comparisons, which decides on the node in error, is that of an H200, driver 580.
class Comparison {
 public:
  Comparison(System &system, const FlatGraph &executable, const FlatGraph &wanted, Pairing &pairing)
      : system_(system),
        executable_(executable),
        wanted_(wanted),
        partners_(pairing.partners),
        bodies_(pairing.bodies) {
    partners_.assign(wanted.nodes.size(), Pairing::kNone);
    bodies_.assign(wanted.bodies.size(), {});
    is_paired_.assign(executable.nodes.size(), false);
  }

  Difference compare(const Part &before, const Part &after) {
    if (before.node_count != after.node_count || before.sinks.size() > after.sinks.size())
      return {CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED};
    if (before.sinks.size() < after.sinks.size()) return changed_topology(after.sinks[before.sinks.size()]);
    std::vector<std::uint32_t> queue(after.sinks.begin(), after.sinks.end());
    for (std::size_t i = 0; i < queue.size(); ++i) pair(before.sinks[i], queue[i]);
    for (std::size_t i = 0; i < queue.size(); ++i) {  // the loop extends the queue
      Difference found = compare_node(before, after, queue[i]);
      if (found.result == CU_GRAPH_EXEC_UPDATE_SUCCESS)
        found = pair_dependencies(before, after, queue[i], queue);
      if (found.result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return found;
    }
    return {};
  }

 private:
  void pair(std::uint32_t before, std::uint32_t after) {
    partners_[after] = before;
    is_paired_[before] = true;
  }

  Difference changed_topology(std::uint32_t node, unsigned long from = 0) const {
    return {CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, wanted_.nodes[node].id, from};
  }

  // Returns the dependencies within a part.
  static std::span<const std::uint32_t> dependencies_of(const FlatGraph &graph, const Part &part,
                                                        std::uint32_t index) {
    const FlatGraph::Node *node = &graph.nodes[index];
    if (std::holds_alternative<ChildGraph>(node->command))
      node = &graph.nodes[graph.children[node->part].begin];
    const auto all = graph.dependencies_of(*node);
    return all.size() == 1 && all.front() == part.begin ? std::span<const std::uint32_t>() : all;
  }

  // `dependency` is an element of `graph.dependencies`.
  static EdgeData data_of(const FlatGraph &graph, const std::uint32_t &dependency) {
    if (graph.edge_data.empty()) return {};
    const auto found =
        graph.edge_data.find(static_cast<std::size_t>(&dependency - graph.dependencies.data()));
    return found != graph.edge_data.end() ? found->second : EdgeData{};
  }

  Difference compare_node(const Part &before, const Part &after, std::uint32_t index) {
    const std::uint32_t partner = partners_[index];
    if (dependencies_of(executable_, before, partner).size() != dependencies_of(wanted_, after, index).size())
      return changed_topology(index);
    const FlatGraph::Node &known = executable_.nodes[partner], &node = wanted_.nodes[index];
    if (known.command.index() != node.command.index())
      return {CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, node.id};
    if (std::holds_alternative<ChildGraph>(node.command))
      return compare(child_of(executable_, known), child_of(wanted_, node));
    if (std::holds_alternative<Conditional>(node.command)) return compare_bodies(known, node);
    return compare_parameters(known, node);
  }

  Difference compare_parameters(const FlatGraph::Node &known, const FlatGraph::Node &node) const {
    const auto result =
        result_of_replacement(system_, known.command, known.context, node.command, node.context);
    return {result, result != CU_GRAPH_EXEC_UPDATE_SUCCESS ? node.id : 0};
  }

  Difference compare_bodies(const FlatGraph::Node &known, const FlatGraph::Node &node) {
    const auto &before = std::get<Conditional>(known.command), &after = std::get<Conditional>(node.command);
    if (before.type != after.type || before.bodies.size() != after.bodies.size())
      return {CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, node.id};
    for (std::size_t i = 0; i < after.bodies.size(); ++i) {
      const Difference found = sim::compare(system_, executable_.bodies[known.part + i],
                                            wanted_.bodies[node.part + i], bodies_[node.part + i]);
      if (found.result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return found;
    }
    return {};
  }

  // Pairs the dependencies in their order, and appends new pairs to the queue.
  Difference pair_dependencies(const Part &before, const Part &after, std::uint32_t index,
                               std::vector<std::uint32_t> &queue) {
    const auto known = dependencies_of(executable_, before, partners_[index]);
    const auto wanted = dependencies_of(wanted_, after, index);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const bool is_paired = partners_[wanted[i]] == known[i];
      const bool has_other = !is_paired && (partners_[wanted[i]] != Pairing::kNone || is_paired_[known[i]]);
      if (has_other || data_of(executable_, known[i]) != data_of(wanted_, wanted[i]))
        return changed_topology(index, wanted_.nodes[wanted[i]].id);
      if (is_paired) continue;
      pair(known[i], wanted[i]);
      queue.push_back(wanted[i]);
    }
    return {};
  }

  System &system_;
  const FlatGraph &executable_, &wanted_;
  std::vector<std::uint32_t> &partners_;
  std::vector<Pairing> &bodies_;
  std::vector<bool> is_paired_;  // of the nodes of the executable graph
};

}  // namespace

Difference compare(System &system, const FlatGraph &executable, const FlatGraph &wanted, Pairing &pairing) {
  return Comparison(system, executable, wanted, pairing).compare(all_of(executable), all_of(wanted));
}

Difference compare_child(System &system, const FlatGraph &executable, const FlatGraph::Node &child,
                         const FlatGraph &wanted, Pairing &pairing) {
  return Comparison(system, executable, wanted, pairing).compare(child_of(executable, child), all_of(wanted));
}

void replace_commands(FlatGraph &executable, FlatGraph &&wanted, const Pairing &pairing) {
  for (std::size_t i = 0; i < wanted.nodes.size(); ++i) {
    if (pairing.partners[i] == Pairing::kNone) continue;
    FlatGraph::Node &known = executable.nodes[pairing.partners[i]], &node = wanted.nodes[i];
    if (const auto *const conditional = std::get_if<Conditional>(&node.command))
      for (std::size_t body = node.part; body < node.part + conditional->bodies.size(); ++body)
        replace_commands(executable.bodies[known.part + body - node.part], std::move(wanted.bodies[body]),
                         pairing.bodies[body]);
    known.command = std::move(node.command);
    known.context = node.context;
  }
}

bool set_commands(ExecutableGraph &executable, FlatGraph &&wanted, const Pairing &pairing) {
  if (!take_conditions(executable, wanted)) return false;
  replace_commands(executable.graph, std::move(wanted), pairing);
  return true;
}

}  // namespace cushim::sim
