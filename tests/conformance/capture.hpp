// SPDX-License-Identifier: Apache-2.0
// The fixture of the statements about stream capture.
#pragma once

#include "graphs.hpp"

#if CONFORMANCE_HAS_GRAPHS

namespace conformance {

inline constexpr int kNone = CU_STREAM_CAPTURE_STATUS_NONE, kActive = CU_STREAM_CAPTURE_STATUS_ACTIVE,
                     kInvalidated = CU_STREAM_CAPTURE_STATUS_INVALIDATED;

class Captures : public OnGraph {
 public:
  // Begins to capture a stream, and forks the capture to another one.
  void begin_fork(CUstream work, CUstream other) {
    const CUevent fork = event();
    begin(work);
    NEED(driver().cuEventRecord(fork, work));
    NEED(driver().cuStreamWaitEvent(other, fork, 0));
  }
  // Returns the state of a stream's capture.
  struct Info {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    CUgraph graph = nullptr;
    Nodes dependencies;
  };
  static Info info_of(CUstream stream) {
    Info info;
    const CUgraphNode *nodes = nullptr;
    const CUgraphEdgeData *edges = nullptr;
    std::size_t count = 0;
    NEED(
        driver().cuStreamGetCaptureInfo(stream, &info.status, &info.id, &info.graph, &nodes, &edges, &count));
    if (nodes != nullptr) info.dependencies.assign(nodes, nodes + count);
    return info;
  }
};

}  // namespace conformance

#endif
