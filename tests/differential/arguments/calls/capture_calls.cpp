// SPDX-License-Identifier: Apache-2.0
#include "../calls.hpp"
#include "../structures.hpp"

namespace arguments {

void add_capture_calls(Calls &calls) {
  CALL(cuStreamBeginCapture, o.stream_to_capture(), CU_STREAM_CAPTURE_MODE_RELAXED);
  CALL(cuStreamBeginCaptureToGraph, (o.graph(), o.stream_to_capture()), o.graph(), o.list({o.empty_node()}),
       nullptr, Count{1}, CU_STREAM_CAPTURE_MODE_RELAXED);
  CALL(cuStreamEndCapture, o.capturing(), o.made<CUgraph>());
  CALL(cuStreamIsCapturing, o.stream(), o.out<CUstreamCaptureStatus>());
  CALL_AS("capturing", cuStreamIsCapturing, o.capturing(), o.out<CUstreamCaptureStatus>());
  CALL(cuStreamGetCaptureInfo, o.capturing(), o.out<CUstreamCaptureStatus>(), o.hidden<cuuint64_t>(),
       o.hidden<CUgraph>(), o.hidden<const CUgraphNode *>(), o.hidden<const CUgraphEdgeData *>(),
       o.out<std::size_t>());
  CALL(cuStreamUpdateCaptureDependencies, o.capturing(), nullptr, nullptr, Count{0}, 1U);
  // The real driver crashes if the mode is null.
  CALL(cuThreadExchangeStreamCaptureMode, o.capture_mode_to_exchange()).without({"mode=null"});
}

}  // namespace arguments
