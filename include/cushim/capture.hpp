// SPDX-License-Identifier: Apache-2.0
// Capture: makes a graph of the work that a function submits to a stream.
#pragma once

#include <cushim/graph.hpp>

#include <concepts>
#include <span>

namespace cushim {
inline namespace v1 {

// The unsafe calls (cuMemAlloc, for example) that fail during a capture and invalidate it.
enum class CaptureMode : int {
  global = CU_STREAM_CAPTURE_MODE_GLOBAL,             // those of any thread
  this_thread = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,  // those of the thread that captures
  relaxed = CU_STREAM_CAPTURE_MODE_RELAXED,           // none
};

inline namespace CUSHIM_DEFAULT_STREAM {

// Calls function(), and returns a graph of the work that it submits to the stream, and to streams that it
// makes wait for the stream (they must join it again). Nothing runs. The capture always ends: if the function
// throws, the graph is destroyed and the exception is passed on. Throws an Error if a call in the function
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

#if CUDA_VERSION >= 12030
// Calls function(), and adds the work that it submits to the stream to an existing graph: after the nodes of
// a place graph.after(a, b), or without dependencies. If the function throws or a call in it invalidated the
// capture, the nodes that were captured stay in the graph. Needs CUDA 12.3. Driver calls:
// cuStreamBeginCaptureToGraph, those of the function, cuStreamEndCapture.
template <class Self, std::invocable Function>
void capture_into(const AddNodes<Self> &place, const StreamRef &stream, CaptureMode mode, Function &&function,
                  Where where = Where::current()) {
  constexpr const char *routine = "cuStreamBeginCaptureToGraph";
  Driver &driver = stream.driver();
  const auto &[graph, nodes] = place.position();
  detail::require(graph, routine, where);
  std::vector<CUgraphNode> after;
  for (const GraphNode &node : nodes) {
    detail::require(node, routine, where);
    after.push_back(node.handle());
  }
  detail::check(driver.cuStreamBeginCaptureToGraph(stream.handle(), graph.handle(), after.data(), nullptr,
                                                   after.size(), static_cast<CUstreamCaptureMode>(mode)),
                routine, where, stream, graph, detail::Argument{"mode", static_cast<int>(mode)});
  CUgraph same = nullptr;
  try {
    std::forward<Function>(function)();
  } catch (...) {
    driver.cuStreamEndCapture(stream.handle(), &same);
    throw;
  }
  detail::check(driver.cuStreamEndCapture(stream.handle(), &same), "cuStreamEndCapture", where, stream);
}
// The same in the mode CaptureMode::global.
template <class Self, std::invocable Function>
void capture_into(const AddNodes<Self> &place, const StreamRef &stream, Function &&function,
                  Where where = Where::current()) {
  capture_into(place, stream, CaptureMode::global, std::forward<Function>(function), where);
}
#endif

// How nodes change the dependencies of a capturing stream's next work: they are added, or replace the others.
enum class CaptureDependencies : unsigned {
  add = CU_STREAM_ADD_CAPTURE_DEPENDENCIES,
  replace = CU_STREAM_SET_CAPTURE_DEPENDENCIES,
};

// Makes the next work of a capturing stream depend on nodes of its graph. Driver calls:
// cuStreamUpdateCaptureDependencies (its first ABI).
inline void set_capture_dependencies(const StreamRef &stream, std::span<const GraphNode> nodes,
                                     CaptureDependencies how = CaptureDependencies::replace,
                                     Where where = Where::current()) {
  std::vector<CUgraphNode> handles;
  for (const GraphNode &node : nodes) handles.push_back(node.handle());
  detail::check(CUSHIM_EXACT_PTSZ(cuStreamUpdateCaptureDependencies_v11030)(stream.driver())(
                    stream.handle(), handles.data(), handles.size(), static_cast<unsigned>(how)),
                "cuStreamUpdateCaptureDependencies", where, stream);
}

// Sets which unsafe calls the calling thread may make during captures of other threads, for a scope. Driver
// calls: cuThreadExchangeStreamCaptureMode twice.
class ScopedCaptureMode {
 public:
  explicit ScopedCaptureMode(CaptureMode mode, Driver &driver = cushim::driver(),
                             Where where = Where::current())
      : driver_(driver), mode_(static_cast<CUstreamCaptureMode>(mode)) {
    detail::check(driver_.cuThreadExchangeStreamCaptureMode(&mode_), "cuThreadExchangeStreamCaptureMode",
                  where, detail::Through{&driver_});
  }
  ~ScopedCaptureMode() {
    detail::report(driver_.cuThreadExchangeStreamCaptureMode(&mode_), "cuThreadExchangeStreamCaptureMode",
                   detail::Through{&driver_});
  }
  ScopedCaptureMode(const ScopedCaptureMode &) = delete;
  ScopedCaptureMode &operator=(const ScopedCaptureMode &) = delete;

 private:
  Driver &driver_;
  CUstreamCaptureMode mode_;  // the mode before
};

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace v1
}  // namespace cushim
