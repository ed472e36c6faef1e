// SPDX-License-Identifier: Apache-2.0
#include "graphs/capturing.hpp"

#include <algorithm>
#include <unordered_set>

#include "api/call.hpp"

namespace cushim::sim {

namespace {

Graph &graph_of(const System &system, const Capture &capture) {
  Graph *const graph = system.handles.find<Graph>(capture.graph);
  require(graph != nullptr, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);  // the program has destroyed it
  return *graph;
}

// Invalidates captures; throws `code` if there are any.
template <class Predicate>
void invalidate_if(const System &system, CUresult code, Predicate is_affected) {
  bool has_found = false;
  for (const auto &each : system.captures) {
    if (!is_affected(*each)) continue;
    each->is_valid = false;
    has_found = true;
  }
  require(!has_found, code);
}

}  // namespace

GraphNode &capture(Call &call, Stream &stream, Command command, CUcontext context) {
  CapturePoint &point = *stream.capture;
  require(point.capture->is_valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  Graph &graph = graph_of(call.system, *point.capture);
  GraphNode &node = add_node(call.system, graph, std::move(command), context);
  for (const CUgraphNode earlier : point.dependencies)
    if (GraphNode *const found = call.system.handles.find<GraphNode>(earlier);
        found != nullptr && find_edge(*found, node) == nullptr)
      connect(*found, node);
  point.dependencies.assign(1, handle_of(node));
  return node;
}

bool is_active(const System &system, const Capture &capture) {
  return std::ranges::any_of(system.captures, [&](const auto &each) { return each.get() == &capture; });
}

void join_capture(Call &call, Stream &stream, const CapturePoint &point) {
  Capture &capture = *point.capture;
  require(is_active(call.system, capture));
  if (stream.capture == nullptr) {
    require(capture.is_valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    require(!stream.is_legacy, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    stream.capture = std::make_unique<CapturePoint>(point);
    capture.streams.push_back(&stream);
    return;
  }
  if (stream.capture->capture.get() != &capture) {
    capture.is_valid = false;
    refuse_in_capture(stream, CUDA_ERROR_STREAM_CAPTURE_MERGE);
  }
  require(capture.is_valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  std::vector<CUgraphNode> &dependencies = stream.capture->dependencies;
  dependencies.insert(dependencies.end(), point.dependencies.begin(), point.dependencies.end());
}

void remove_duplicates(std::vector<CUgraphNode> &nodes) {
  std::unordered_set<CUgraphNode> seen;
  std::erase_if(nodes, [&](CUgraphNode node) { return !seen.insert(node).second; });
}

bool has_unjoined_work(const System &system, const Capture &capture) {
  const auto &joined = capture.origin->capture->dependencies;
  const std::unordered_set<CUgraphNode> known(joined.begin(), joined.end());
  const auto is_unjoined = [&](CUgraphNode handle) {
    const GraphNode *const node = system.handles.find<GraphNode>(handle);
    return node != nullptr && node->dependents.empty() && !known.contains(handle);
  };
  return std::ranges::any_of(capture.streams, [&](const Stream *stream) {
    return stream != capture.origin && std::ranges::any_of(stream->capture->dependencies, is_unjoined);
  });
}

Graph *end_capture(Call &call, Capture &capture) {
  System &system = call.system;
  Graph *graph = system.handles.find<Graph>(capture.graph);
  if (!capture.is_valid && !capture.is_to_graph && graph != nullptr) destroy_graph(system, *graph, call.name);
  if (!capture.is_valid) graph = nullptr;
  const std::vector<Stream *> streams = std::move(capture.streams);
  std::erase_if(system.captures, [&](const auto &each) { return each.get() == &capture; });
  for (Stream *const stream : streams) stream->capture.reset();  // the last one destroys the capture
  return graph;
}

void refuse_in_capture(const Stream &stream, CUresult code) {
  stream.capture->capture->is_valid = false;
  fail(code);
}

namespace {

bool has_blocking_stream(const Capture &capture, const Context &context) {
  return std::ranges::any_of(capture.streams, [&](const Stream *stream) {
    return stream->context == &context && stream->is_blocking();
  });
}

}  // namespace

bool has_blocking_capture(const System &system, const Context &context) {
  return std::ranges::any_of(system.captures,
                             [&](const auto &each) { return has_blocking_stream(*each, context); });
}

void require_no_blocking_capture(const System &system, const Context &context) {
  invalidate_if(system, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                [&](const Capture &capture) { return has_blocking_stream(capture, context); });
}

void require_no_capture(const System &system, const Context &context) {
  invalidate_if(system, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&](const Capture &capture) {
    return std::ranges::any_of(capture.streams,
                               [&](const Stream *stream) { return stream->context == &context; });
  });
}

void require_no_strict_capture(Call &call) {
  const Thread &thread = call.thread();
  if (thread.capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return;
  invalidate_if(call.system, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&](const Capture &capture) {
    if (capture.mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
    if (capture.thread == thread.number) return true;
    return capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
           thread.capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
  });
}

namespace {

// Returns whether other streams of the capture depend on the last nodes of a stream.
bool is_joined(const System &system, const Capture &capture, const Stream &stream) {
  if (capture.origin == &stream) return false;
  const auto is_known = [&](CUgraphNode handle) {
    const GraphNode *const node = system.handles.find<GraphNode>(handle);
    if (node == nullptr || !node->dependents.empty()) return true;
    return std::ranges::any_of(capture.streams, [&](const Stream *other) {
      return other != &stream && std::ranges::count(other->capture->dependencies, handle) != 0;
    });
  };
  return std::ranges::all_of(stream.capture->dependencies, is_known);
}

}  // namespace

void leave_capture(System &system, Stream &stream) {
  if (stream.capture == nullptr) return;
  const std::shared_ptr<Capture> capture = stream.capture->capture;
  capture->is_valid = capture->is_valid && is_joined(system, *capture, stream);
  std::erase(capture->streams, &stream);
  stream.capture.reset();
  if (capture->origin == &stream) capture->origin = nullptr;
  if (!capture->streams.empty()) return;
  if (Graph *const graph = system.handles.find<Graph>(capture->graph);
      graph != nullptr && !capture->is_to_graph)
    destroy_graph(system, *graph, "the end of its stream");
  std::erase(system.captures, capture);
}

}  // namespace cushim::sim
