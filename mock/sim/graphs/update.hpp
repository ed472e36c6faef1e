// SPDX-License-Identifier: Apache-2.0
// Updates of executable graphs by graphs of the same structure.
#pragma once

#include <cstdint>
#include <vector>

#include "graphs/executable.hpp"

namespace cushim::sim {

// Returns whether a command may replace that of a node of an executable graph. The number of dimensions of a
// copy or memset, the kinds of memory of a copy, and the number of stream memory operations and of semaphores
// stay the same. Measured on an H200, driver 580, but for semaphores (documentation). Requires commands of
// the same type.
bool may_replace(const Command &before, const Command &after);

// Returns whether both copies read memory of graphs, of pools, or other memory, and write it likewise: these
// do not replace each other. Measured on an H200, driver 580.
bool has_same_sources_of_memory(System &system, const Memcpy &before, const Memcpy &after);

// Returns the result of an update that replaces a node's command, which runs in a context, by one of the same
// type in another context; null: that of the launch. CU_GRAPH_EXEC_UPDATE_SUCCESS: it is possible.
CUgraphExecUpdateResult result_of_replacement(System &system, const Command &before, CUcontext context_before,
                                              const Command &after, CUcontext context_after);

// The node of an executable graph for each node of another graph.
struct Pairing {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::vector<std::uint32_t> partners;  // indices; kNone for the first node of a child graph
  std::vector<Pairing> bodies;          // of FlatGraph::bodies
};

// The result of a comparison of an executable graph with a graph that shall replace its parameters.
struct Difference {
  CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  // Ids of the graph's node in error, and of its dependency that does not match; 0: none.
  unsigned long node = 0, from = 0;
};
Difference compare(System &system, const FlatGraph &executable, const FlatGraph &wanted, Pairing &pairing);
// Compares the child graph that ends at a node of an executable graph.
Difference compare_child(System &system, const FlatGraph &executable, const FlatGraph::Node &child,
                         const FlatGraph &wanted, Pairing &pairing);

// Replaces the commands of nodes by those of their partners.
void replace_commands(FlatGraph &executable, FlatGraph &&wanted, const Pairing &pairing);
// Replaces the commands and the conditions. Returns false, without a change, if another executable graph has
// one of the conditions.
bool set_commands(ExecutableGraph &executable, FlatGraph &&wanted, const Pairing &pairing);

}  // namespace cushim::sim
