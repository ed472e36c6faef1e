// SPDX-License-Identifier: Apache-2.0
// Executable graphs (CUgraphExec).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/operation.hpp"
#include "graphs/graph.hpp"

namespace cushim::sim {

struct Call;
struct Stream;

// The nodes of a graph and of its child graphs in a topological order. A child graph is the range between an
// empty node and the child graph node. The bodies of conditional nodes are flat graphs of their own.
struct FlatGraph {
  struct Node {
    Command command;  // of a child graph node: without the graph
    CUcontext context = nullptr;
    unsigned long id = 0;  // of the graph node; 0 for the first node of a child graph
    std::uint32_t dependencies = 0, dependency_count = 0;  // a range of `dependencies`
    std::uint32_t part = 0;  // of a conditional node: index of `bodies`; of a child graph node: of `children`
    bool has_dependents = false;
    bool is_enabled = true;
  };
  struct Child {
    std::uint32_t begin = 0;  // index of the empty node
    std::size_t node_count = 0;
  };

  std::vector<Node> nodes;
  std::vector<std::uint32_t> dependencies;    // indices of nodes
  std::map<std::size_t, EdgeData> edge_data;  // by index of `dependencies`; without the default
  std::vector<std::uint32_t> sinks;           // indices of Graph::sinks
  std::size_t node_count = 0;                 // without those of child graphs
  std::vector<Child> children;
  std::vector<FlatGraph> bodies;
  bool has_memory_nodes = false;

  std::span<const std::uint32_t> dependencies_of(const Node &node) const {
    return std::span(dependencies).subspan(node.dependencies, node.dependency_count);
  }
};

// Returns nothing if the graph has a cycle.
std::optional<FlatGraph> flatten(const Graph &graph);

struct ExecutableGraph final : ObjectOf<Kind::executable_graph> {
  // A node, and the graph or body that contains it.
  struct Place {
    FlatGraph *graph = nullptr;
    std::uint32_t index = 0;
    FlatGraph::Node &node() const { return graph->nodes[index]; }
  };
  // Returns null if the executable graph has no such node.
  const Place *find(const GraphNode &node);

  unsigned long id = 0;
  unsigned long long flags = 0;
  std::shared_ptr<unsigned> executables;  // of the graph
  std::shared_ptr<const Graph::Identity> identity_of_graph;
  FlatGraph graph;
  std::vector<std::pair<unsigned long, Place>>
      by_id;                                // sorted by the node's id; empty before the first find()
  std::vector<std::uint32_t> memory_nodes;  // indices of the nodes that allocate or free memory
  std::vector<std::shared_ptr<GraphCondition>> conditions;  // of its conditional nodes
  // References to user objects by the id of the child graph node whose graph has them; 0: the graph itself.
  using UserObjects = std::map<unsigned long, std::map<UserObject *, unsigned>>;
  UserObjects user_objects;
  Work last;  // the end of the last launch, which the next one follows
};

// Sets the nodes. NOT_SUPPORTED if there is another executable
// graph of memory that they allocate (measured, driver 580), or of their conditions (CUDA allows one at a
// time, see CU_GRAPH_NODE_TYPE_CONDITIONAL; the code is that of memory).
void set_graph(ExecutableGraph &executable, FlatGraph &&graph);
// Makes the conditions of a graph those of an executable graph. Returns false, without a change, if another
// executable graph has one of them.
bool take_conditions(ExecutableGraph &executable, const FlatGraph &graph);
// Call when an executable graph is destroyed: another one may then have its memory and conditions.
void leave_graph(ExecutableGraph &executable);

// Adds the nodes to the stream, after its work and after the last launch, and starts them. If the memory or
// the objects of a node do not exist any more, the nodes before it run, and the node's error is thrown; on
// the real driver that is undefined.
void launch(Call &call, ExecutableGraph &executable, Stream &stream);

}  // namespace cushim::sim
