// SPDX-License-Identifier: Apache-2.0
#include "graphs/capturing.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "api/call.hpp"
#include "graphs/recapture.hpp"

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
  if (point.capture->recapture != nullptr) {
    GraphNode &node = recapture(call, stream, std::move(command), context);
    point.clear();
    point.add(handle_of(node));
    return node;
  }
  GraphNode &node = add_node(call.system, graph, std::move(command), context);
  for (std::size_t i = 0; i < point.dependencies.size(); ++i)
    if (GraphNode *const found = call.system.handles.find<GraphNode>(point.dependencies[i]);
        found != nullptr && find_edge(*found, node) == nullptr)
      connect(*found, node, point.edges[i]);
  point.clear();
  point.add(handle_of(node));
  return node;
}

bool is_captured_into(const System &system, CUgraph graph) {
  return std::ranges::any_of(system.captures, [&](const auto &each) { return each->graph == graph; });
}

bool is_active(const System &system, const Capture &capture) {
  return std::ranges::any_of(system.captures, [&](const auto &each) { return each.get() == &capture; });
}

void join_capture(Stream &stream, const CapturePoint &point) {
  Capture &capture = *point.capture;
  if (stream.capture == nullptr) {
    capture.is_valid = !stream.is_legacy;
    require(!stream.is_legacy, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    stream.capture = std::make_unique<CapturePoint>(point);
    capture.streams.push_back(&stream);
    return;
  }
  if (stream.capture->capture.get() != &capture) {
    capture.is_valid = false;
    refuse_in_capture(stream, CUDA_ERROR_STREAM_CAPTURE_MERGE);
  }
  for (std::size_t i = 0; i < point.dependencies.size(); ++i)
    stream.capture->add(point.dependencies[i], point.edges[i]);
}

void remove_duplicates(CapturePoint &point) {
  std::unordered_set<CUgraphNode> seen;
  const CapturePoint all = std::exchange(point, {point.capture});
  for (std::size_t i = 0; i < all.dependencies.size(); ++i)
    if (seen.insert(all.dependencies[i]).second) point.add(all.dependencies[i], all.edges[i]);
}

bool has_unjoined_work(const System &system, const Capture &capture) {
  const auto &last = capture.origin->capture->dependencies;
  std::unordered_set<CUgraphNode> known(last.begin(), last.end());
  known.insert(capture.joined.begin(), capture.joined.end());
  const auto is_unjoined = [&](CUgraphNode handle) {
    const GraphNode *const node = system.handles.find<GraphNode>(handle);
    return node != nullptr && node->dependents.empty() && !known.contains(handle);
  };
  return std::ranges::any_of(capture.left_behind, is_unjoined) ||
         std::ranges::any_of(capture.streams, [&](const Stream *stream) {
           return stream != capture.origin && std::ranges::any_of(stream->capture->dependencies, is_unjoined);
         });
}

namespace {

// Removes the capture and all its streams from it.
void forget(System &system, Capture &capture) {
  const std::vector<Stream *> streams = std::move(capture.streams);
  std::erase_if(system.captures, [&](const auto &each) { return each.get() == &capture; });
  for (Stream *const stream : streams) stream->capture.reset();  // the last one destroys the capture
}

}  // namespace

Graph *end_capture(Call &call, Capture &capture) {
  System &system = call.system;
  Graph *graph = system.handles.find<Graph>(capture.graph);
  if (!capture.is_valid && graph != nullptr) {
    // Also the program's; measured, driver 580. A graph that is a part of a node ends with the node. The
    // program destroys the graph of a recapture (documentation).
    if (graph->parent == nullptr && capture.recapture == nullptr) destroy_graph(system, *graph, call.name);
    graph = nullptr;
  }
  forget(system, capture);
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

void require_no_capture(const System &system, const Context &context, std::uintptr_t green) {
  invalidate_if(system, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&](const Capture &capture) {
    return std::ranges::any_of(capture.streams, [&](const Stream *stream) {
      return stream->context == &context && (green == 0 || stream->green == green);
    });
  });
}

void require_no_strict_capture(Call &call) {
  if (call.system.captures.empty()) return;
  const Thread &thread = call.thread();
  if (thread.capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return;
  invalidate_if(call.system, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&](const Capture &capture) {
    if (capture.mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
    if (capture.thread == thread.number) return true;
    return capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
           thread.capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
  });
}

void leave_capture(System &system, Stream &stream) {
  if (stream.capture == nullptr) return;
  const std::shared_ptr<Capture> capture = stream.capture->capture;
  if (capture->origin != &stream) {
    const std::vector<CUgraphNode> &last = stream.capture->dependencies;
    capture->left_behind.insert(capture->left_behind.end(), last.begin(), last.end());
    std::erase(capture->streams, &stream);
    stream.capture.reset();
    return;
  }
  // Also a graph that the program has made; measured, driver 580.
  if (Graph *const graph = system.handles.find<Graph>(capture->graph);
      graph != nullptr && graph->parent == nullptr && capture->recapture == nullptr)
    destroy_graph(system, *graph, "the end of its stream");
  forget(system, *capture);
}

}  // namespace cushim::sim
