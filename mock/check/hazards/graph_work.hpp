// SPDX-License-Identifier: Apache-2.0
// The nodes of an executable graph and the memory that they access, as the driver describes them.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "hazards/kernel_knowledge.hpp"

namespace cushim::check {

// The calls that added the nodes of graphs.
class NodeSites {
 public:
  struct Site {
    int slot = -1;  // of the entry point; -1: unknown
    CallStack call_stack{};
  };
  // Keeps the site of a node that has one.
  void add(CUgraph graph, CUgraphNode node, const Site &site) { sites_[graph].try_emplace(node, site); }
  void forget(CUgraph graph) { sites_.erase(graph); }
  Site find(CUgraph graph, CUgraphNode node) const;

  // Keeps the bodies of a conditional node, which drivers before CUDA 13.2 tell only when the node is added.
  void add_bodies(CUgraphNode node, std::vector<CUgraph> bodies) { bodies_[node] = std::move(bodies); }
  // Returns no bodies for a node that is not known.
  std::span<const CUgraph> bodies_of(CUgraphNode node) const;

 private:
  std::unordered_map<CUgraph, std::unordered_map<CUgraphNode, Site>> sites_;
  std::unordered_map<CUgraphNode, std::vector<CUgraph>> bodies_;
};

struct GraphWork {
  using Uses = std::vector<HazardModel::Use>;

  struct Node {
    CUgraphNode handle = nullptr;               // null for the begin of a child graph
    std::vector<std::uint32_t> dependencies{};  // indices of nodes
    Uses uses{};
    std::optional<mock::EnqueuedKernel> kernel{};
    CUevent recorded = nullptr, awaited = nullptr;
    bool is_host_function = false;
    bool is_enabled = true;
    std::shared_ptr<const NamedWork> work{};
    NodeSites::Site site{};
  };

  std::vector<Node> nodes;  // in a topological order
  std::unordered_map<CUgraphNode, std::uint32_t> indices;
  // True if the nodes are checked: all accesses are known, and only edges order them. False if a node waits
  // for a value in memory.
  bool is_checked = true;

  // Returns null if the executable graph has no such node.
  Node *find(CUgraphNode node);
};

// Return the accesses of nodes with these parameters.
GraphWork::Uses uses_of(const CUDA_MEMCPY3D &copy);
GraphWork::Uses uses_of(const CUDA_MEMSET_NODE_PARAMS &memset);

// Reads a graph with its child graphs and the bodies of its conditional nodes from the driver. All bodies of
// a node count as if they ran, one after the other. Returns null if the driver does not describe the graph.
std::shared_ptr<GraphWork> read_graph(CUgraph graph, KernelKnowledge &kernels, const NodeSites &sites);

// Reports pairs of nodes that no path of edges orders and that access the same memory, one of them with a
// change. The memory must be known to `memory`. `works` are the works of the nodes in this launch. Returns a
// model with the conflicts that kernels must confirm, which are reported when it reviews them; null if there
// are none. A graph with too many parallel nodes is not checked.
std::unique_ptr<HazardModel> check_nodes(const GraphWork &graph,
                                         const std::vector<std::shared_ptr<const NamedWork>> &works,
                                         const HazardModel &memory, const KernelKnowledge &kernels,
                                         HazardModel::ConflictReport report);

}  // namespace cushim::check
