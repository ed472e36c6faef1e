// SPDX-License-Identifier: Apache-2.0
// Capture: makes a graph of the work that a function submits to a stream.
#pragma once

#include <cushim/graph.hpp>

#include <concepts>

namespace cushim {
inline namespace v1 {

// Which calls that are unsafe during capture (cuMemAlloc, for example) fail and invalidate the capture.
enum class CaptureMode : int {
  global = CU_STREAM_CAPTURE_MODE_GLOBAL,             // those of any thread
  this_thread = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,  // those of the thread that captures
  relaxed = CU_STREAM_CAPTURE_MODE_RELAXED,           // none
};

inline namespace CUSHIM_DEFAULT_STREAM {

// Calls function(), and returns a graph of the work that it submits to the stream, and to streams that it
// makes wait for the stream (they must join it again). Nothing runs. The capture always ends: if the function
// throws, the graph is destroyed and the exception passed on. Throws an Error if a call in the function
// invalidated the capture. The legacy default stream cannot be captured. Driver calls: cuStreamBeginCapture,
// those of the function, cuStreamEndCapture; at the end cuGraphDestroy.
template <std::invocable Function>
Graph capture(const StreamRef &stream, CaptureMode mode, Function &&function,
              Where where = Where::current()) {
  Driver &driver = stream.driver();
  detail::check(driver.cuStreamBeginCapture(stream.handle(), static_cast<CUstreamCaptureMode>(mode)),
                "cuStreamBeginCapture", where, stream, detail::Argument{"mode", static_cast<int>(mode)});
  CUgraph graph = nullptr;
  try {
    std::forward<Function>(function)();
  } catch (...) {
    driver.cuStreamEndCapture(stream.handle(), &graph);  // also ends an invalidated capture, without a graph
    if (graph != nullptr) static_cast<void>(Graph::adopt(graph, driver));
    throw;
  }
  const CUresult ended = driver.cuStreamEndCapture(stream.handle(), &graph);
  // A test that injects an error may leave a graph.
  if (ended != CUDA_SUCCESS && graph != nullptr) static_cast<void>(Graph::adopt(graph, driver));
  detail::check(ended, "cuStreamEndCapture", where, stream);
  return Graph::adopt(graph, driver);
}
// The same in the mode CaptureMode::global.
template <std::invocable Function>
Graph capture(const StreamRef &stream, Function &&function, Where where = Where::current()) {
  return capture(stream, CaptureMode::global, std::forward<Function>(function), where);
}

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace v1
}  // namespace cushim
