// SPDX-License-Identifier: Apache-2.0
// Captures into a graph that has the nodes already (cuStreamBeginRecaptureToGraph). From the documentation:
// no real driver was asked.
#pragma once

#include <cushim/foreign_types.h>

#include <cstddef>
#include <vector>

#include "commands/command.hpp"

namespace cushim::sim {

struct Call;
struct GraphNode;
struct Stream;

// CUDA_ERROR_GRAPH_RECAPTURE_FAILURE, which headers before 13.3 lack.
inline constexpr auto kRecaptureFailure = static_cast<CUresult>(918);

struct Recapture {
  std::vector<CUgraphNode> nodes{};  // of the graph, in the order of their creation
  std::size_t next = 0;              // index of the node of the next captured command
  CushimGraphRecaptureCallback callback = nullptr;
  void *data = nullptr;  // of the callback

  bool is_complete() const { return next == nodes.size(); }
};

// Returns the next node of the graph, and gives it the command that the stream captures. Calls the program's
// callback without the machine's lock if the parameters differ. Throws GRAPH_RECAPTURE_FAILURE and
// invalidates the capture if the type or the dependencies of the node differ, if it allocates or frees other
// memory, and if the callback returns an error.
GraphNode &recapture(Call &call, Stream &stream, Command command, CUcontext context);

}  // namespace cushim::sim
