// SPDX-License-Identifier: Apache-2.0
// The executable graphs of a driver, for the hazard checker.
#pragma once

#include <list>

#include "hazards/graph_work.hpp"

namespace cushim::check {

class CallView;

class Graphs {
 public:
  void instantiated(CallView &call, CUgraphExec executable, CUgraph graph);
  void destroyed(CUgraphExec executable) { executables_.erase(executable); }
  // Adds a launch: its nodes in their order, and the launch as a whole in the order of its stream.
  void launched(CallView &call, CUgraphExec executable, const StreamRef &stream);
  // Returns a node, to change its parameters; null if it is not known.
  GraphWork::Node *change(CUgraphExec executable, CUgraphNode node);

  // Notes the call that has added a node to a captured graph.
  void captured(Driver &driver, const NodeSites::Site &site, CUstream stream);

  // Reports conflicts that kernels have confirmed since.
  void review();

  NodeSites sites;

 private:
  using Works = std::vector<std::shared_ptr<const NamedWork>>;
  struct Executable {
    std::shared_ptr<GraphWork> work;
    std::vector<ByteRange> own_memory{};  // which the graph allocates and frees
    // The next two are empty after a change.
    std::optional<std::vector<Conflict>> conflicts{};  // of a graph without kernels that are recorded
    std::vector<std::pair<std::uint32_t, HazardModel::Use>> uses{};  // distinct ones, with their node
  };

  static void add_memory(CallView &call, Executable &executable);
  static Works works_of(GraphWork &graph, std::span<const mock::EnqueuedKernel> enqueued);
  void check(CallView &call, Executable &executable, const Works &works, const Access &launch);
  static void add_uses(CallView &call, Executable &executable, const Works &works, const Access &launch);

  std::unordered_map<CUgraphExec, Executable> executables_;
  std::list<std::unique_ptr<HazardModel>> unconfirmed_;
};

}  // namespace cushim::check
