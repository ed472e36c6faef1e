// SPDX-License-Identifier: Apache-2.0
// Stream captures in progress.
#pragma once

#include <cuda.h>

#include <memory>
#include <vector>

#include "graphs/edge_data.hpp"

namespace cushim::sim {

struct Call;
struct Recapture;
struct Stream;

// A capture of one or more streams into a graph.
struct Capture {
  unsigned long id = 0;  // never reused
  CUgraph graph = nullptr;
  bool is_to_graph = false;  // whether the program owns the graph (cuStreamBeginCaptureToGraph)
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  unsigned long thread = 0;  // the number of the thread that began it
  bool is_valid = true;
  std::shared_ptr<Recapture> recapture{};  // of the nodes that the graph has; null for other captures
  Stream *origin = nullptr;
  std::vector<Stream *> streams{};         // includes the origin
  std::vector<CUgraphNode> left_behind{};  // the last nodes of its streams that have been destroyed
  std::vector<CUgraphNode> joined{};  // dependencies of the origin that the program has replaced by others
};

// A point in a capture: the nodes that the next node of a stream, or of a stream that waits for an event,
// depends on, and the data of these edges.
struct CapturePoint {
  std::shared_ptr<Capture> capture;
  std::vector<CUgraphNode> dependencies{};
  std::vector<EdgeData> edges{};  // of each dependency
  void add(CUgraphNode node, EdgeData data = {}) {
    dependencies.push_back(node);
    edges.push_back(data);
  }
  void clear() {
    dependencies.clear();
    edges.clear();
  }
};

}  // namespace cushim::sim
