// SPDX-License-Identifier: Apache-2.0
// Stream captures in progress.
#pragma once

#include <cuda.h>

#include <memory>
#include <vector>

namespace cushim::sim {

struct Call;
struct Stream;

// A capture of one or more streams into a graph.
struct Capture {
  unsigned long id = 0;  // never reused
  CUgraph graph = nullptr;
  bool is_to_graph = false;  // whether the program owns the graph (cuStreamBeginCaptureToGraph)
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  unsigned long thread = 0;  // the number of the thread that began it
  bool is_valid = true;
  Stream *origin = nullptr;
  std::vector<Stream *> streams{};  // includes the origin
};

// A point in a capture: the nodes that the next node of a stream, or of a stream that waits for an event,
// depends on.
struct CapturePoint {
  std::shared_ptr<Capture> capture;
  std::vector<CUgraphNode> dependencies{};
};

}  // namespace cushim::sim
