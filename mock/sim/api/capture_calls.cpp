// SPDX-License-Identifier: Apache-2.0
// Stream capture.
#include <algorithm>
#include <utility>

#include "api/graph_objects.hpp"
#include "api/variants.hpp"
#include "graphs/capture_rules.hpp"
#include "graphs/capturing.hpp"
#include "graphs/recapture.hpp"

namespace cushim::sim {
namespace {

// Returns whether an edge with this data may begin at a node, whatever node it leads to. Measured, driver
// 580: a capture does not look at the other node.
bool may_begin_at(const GraphNode &node, const EdgeData &data) {
  return may_connect(node.command, KernelLaunch{}, data);
}

bool is_mode(CUstreamCaptureMode mode) {
  return mode >= CU_STREAM_CAPTURE_MODE_GLOBAL && mode <= CU_STREAM_CAPTURE_MODE_RELAXED;
}

// Returns a stream that may begin to capture.
Stream &stream_to_capture(Call &call, CUstream handle, CUstreamCaptureMode mode) {
  require(is_mode(mode));
  Stream &stream = call.stream(handle);
  require(!stream.is_legacy, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  require(stream.capture == nullptr, CUDA_ERROR_ILLEGAL_STATE);
  return stream;
}

CapturePoint &start(Call &call, Stream &stream, CUgraph graph, CUstreamCaptureMode mode) {
  auto capture = std::make_shared<Capture>();
  capture->id = ++call.system.last_capture;
  capture->graph = graph;
  capture->mode = mode;
  capture->thread = call.thread().number;
  capture->origin = &stream;
  capture->streams.push_back(&stream);
  auto point = std::make_unique<CapturePoint>();
  point->capture = capture;
  call.system.captures.push_back(capture);
  stream.capture = std::move(point);
  return *stream.capture;
}

CUresult begin(Call &call, CUstream handle, CUstreamCaptureMode mode) {
  Stream &stream = stream_to_capture(call, handle, mode);
  start(call, stream, handle_of(make_graph(call.system)), mode);
  return CUDA_SUCCESS;
}

CUresult begin_globally(Call &call, CUstream handle) {
  return begin(call, handle, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

// Returns the error with which a capture ends. A wrong thread ends it, too. Measured, driver 580.
CUresult error_at_end(Call &call, const Capture &capture) {
  if (!capture.is_valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture.thread != call.thread().number)
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  if (capture.recapture != nullptr && !capture.recapture->is_complete()) return kRecaptureFailure;
  return has_unjoined_work(call.system, capture) ? CUDA_ERROR_STREAM_CAPTURE_UNJOINED : CUDA_SUCCESS;
}

CUresult end(Call &call, CUstream handle, CUgraph *out) {
  if (out != nullptr) *out = nullptr;
  Stream &stream = call.captured_stream(handle);
  require(stream.capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
  const std::shared_ptr<Capture> capture = stream.capture->capture;
  if (capture->origin != &stream) refuse_in_capture(stream, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  const CUresult error = error_at_end(call, *capture);
  capture->is_valid = error == CUDA_SUCCESS;
  Graph *const graph = end_capture(call, *capture);
  call_destructors(call);
  require(error == CUDA_SUCCESS, error);
  require(graph != nullptr, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);  // the program has destroyed it
  if (out != nullptr)
    *out = handle_of(*graph);
  else if (!capture->is_to_graph)
    destroy_graph(call.system, *graph, call.name);
  return CUDA_SUCCESS;
}

// ---- The state of a capture ----

CUstreamCaptureStatus status_of(const Stream &stream) {
  if (stream.capture == nullptr) return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream.capture->capture->is_valid ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                           : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

// Returns a stream. Unlike Call::stream(), STREAM_CAPTURE_IMPLICIT does not invalidate the captures.
const Stream &stream_to_query(Call &call, CUstream handle) {
  if (handle != CU_STREAM_LEGACY && (handle != nullptr || call.per_thread))
    return call.captured_stream(handle);
  Context &context = call.context();
  require(!has_blocking_capture(call.system, context), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  return call.legacy(context);
}

CUresult is_capturing(Call &call, CUstream handle, CUstreamCaptureStatus *status) {
  require(status != nullptr);
  *status = status_of(stream_to_query(call, handle));
  return CUDA_SUCCESS;
}

struct InfoOut {
  cuuint64_t *id = nullptr;
  CUgraph *graph = nullptr;
  const CUgraphNode **dependencies = nullptr;
  std::size_t *count = nullptr;
  const void **edges = nullptr;
};

// The arrays are valid until the next call in the stream. LOSSY_QUERY if the data of edges is not the
// default, and only the dependencies are asked for (documentation).
CUresult info(Call &call, CUstream handle, CUstreamCaptureStatus *status, const InfoOut &out) {
  require(status != nullptr);
  const Stream &stream = stream_to_query(call, handle);
  *status = status_of(stream);
  if (stream.capture == nullptr || !stream.capture->capture->is_valid) return CUDA_SUCCESS;
  // Measured on an H200, driver 580.
  require(out.edges == nullptr || out.dependencies != nullptr);
  CapturePoint &point = *stream.capture;
  remove_duplicates(point);
  if (out.dependencies != nullptr && out.edges == nullptr)
    require(std::ranges::all_of(point.edges, [](const EdgeData &data) { return data == EdgeData{}; }),
            kLossyQuery);
  if (out.id != nullptr) *out.id = point.capture->id;
  if (out.graph != nullptr) *out.graph = point.capture->graph;
  if (out.dependencies != nullptr) *out.dependencies = point.dependencies.data();
  if (out.edges != nullptr) *out.edges = point.edges.data();
  if (out.count != nullptr) *out.count = point.dependencies.size();
  return CUDA_SUCCESS;
}

CUresult info_of_id(Call &call, CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id) {
  return info(call, handle, status, {id});
}

CUresult info_of_graph(Call &call, CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
                       CUgraph *graph, const CUgraphNode **dependencies, std::size_t *count) {
  return info(call, handle, status, {id, graph, dependencies, count});
}

CUresult update(Call &call, CUstream handle, CUgraphNode *nodes, const void *data, std::size_t count,
                unsigned flags) {
  Stream &stream = call.stream(handle);
  require(stream.capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
  CapturePoint &point = *stream.capture;
  require(point.capture->is_valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  require(flags <= CU_STREAM_SET_CAPTURE_DEPENDENCIES);
  const std::vector<GraphNode *> found = nodes_of(call, graph_of(call, point.capture->graph), nodes, count);
  const std::vector<EdgeData> with = edge_data_of(data, count);
  for (std::size_t i = 0; i < count; ++i) require(may_begin_at(*found[i], with[i]));
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
    // The work of other streams stays joined. Measured, driver 580.
    std::vector<CUgraphNode> &joined = point.capture->joined;
    if (point.capture->origin == &stream)
      joined.insert(joined.end(), point.dependencies.begin(), point.dependencies.end());
    point.clear();
  }
  for (std::size_t i = 0; i < count; ++i) point.add(handle_of(*found[i]), with[i]);
  return CUDA_SUCCESS;
}

CUresult update_without_data(Call &call, CUstream handle, CUgraphNode *nodes, std::size_t count,
                             unsigned flags) {
  return update(call, handle, nodes, nullptr, count, flags);
}

#if CUDA_VERSION >= 12030
CUresult begin_to_graph(Call &call, CUstream handle, CUgraph graph_handle, const CUgraphNode *dependencies,
                        const CUgraphEdgeData *data, std::size_t count, CUstreamCaptureMode mode) {
  const Graph &graph = graph_of(call, graph_handle);
  Stream &stream = stream_to_capture(call, handle, mode);
  // Measured, driver 580: one capture into a graph at a time.
  require(!is_captured_into(call.system, graph_handle), CUDA_ERROR_ILLEGAL_STATE);
  const std::vector<GraphNode *> after = nodes_of(call, graph, dependencies, count);
  const std::vector<EdgeData> with = edge_data_of(data, count);
  for (std::size_t i = 0; i < count; ++i) require(may_begin_at(*after[i], with[i]));
  CapturePoint &point = start(call, stream, graph_handle, mode);
  point.capture->is_to_graph = true;
  for (std::size_t i = 0; i < count; ++i) point.add(handle_of(*after[i]), with[i]);
  return CUDA_SUCCESS;
}

// The graph keeps its nodes, and loses its user objects. Documentation.
CUresult begin_again(Call &call, CUstream handle, CUstreamCaptureMode mode, CUgraph graph_handle,
                     CushimGraphRecaptureCallback callback, void *data) {
  Graph &graph = graph_of(call, graph_handle);
  Stream &stream = stream_to_capture(call, handle, mode);
  require(!is_captured_into(call.system, graph_handle), CUDA_ERROR_ILLEGAL_STATE);
  auto recapture = std::make_shared<Recapture>();
  graph.for_each_node([&](const GraphNode &node) { recapture->nodes.push_back(handle_of(node)); });
  recapture->callback = callback;
  recapture->data = data;
  Capture &capture = *start(call, stream, graph_handle, mode).capture;
  capture.is_to_graph = true;
  capture.recapture = std::move(recapture);
  for (const auto &[object, count] : std::exchange(graph.user_objects, {}))
    release(call.system, *object, count, call.name);
  call_destructors(call);
  return CUDA_SUCCESS;
}

CUresult info_of_edges(Call &call, CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
                       CUgraph *graph, const CUgraphNode **dependencies, const CUgraphEdgeData **edges,
                       std::size_t *count) {
  static_assert(sizeof(EdgeData) == sizeof(CUgraphEdgeData));
  const void *found = nullptr;
  const CUresult code =
      info(call, handle, status, {id, graph, dependencies, count, edges != nullptr ? &found : nullptr});
  if (edges != nullptr) *edges = static_cast<const CUgraphEdgeData *>(found);
  return code;
}

CUresult update_with_data(Call &call, CUstream handle, CUgraphNode *nodes, const CUgraphEdgeData *data,
                          std::size_t count, unsigned flags) {
  return update(call, handle, nodes, data, count, flags);
}
#endif

CUresult exchange_mode(Call &call, CUstreamCaptureMode *mode) {
  require(mode != nullptr);
  require(static_cast<unsigned>(*mode) <= 3);  // 3 is not a mode, but is accepted; measured, driver 580
  std::swap(*mode, call.thread().capture_mode);
  return CUDA_SUCCESS;
}

}  // namespace

void require_allowed_in_capture(Call &call, std::size_t slot) {
  if (capture_rule_of(slot).when == Unsafe::always) require_no_strict_capture(call);
}

constinit const Entries entries_of_captures = {
    entry<"cuStreamBeginCapture", begin>,
    entry<"cuStreamBeginCapture", begin_globally>,
    entry<"cuStreamEndCapture", end>,
    entry<"cuStreamIsCapturing", is_capturing>,
    entry<"cuStreamGetCaptureInfo", info_of_id>,
    entry<"cuStreamGetCaptureInfo", info_of_graph>,
    entry<"cuStreamUpdateCaptureDependencies", update_without_data>,
#if CUDA_VERSION >= 12030
    entry<"cuStreamBeginCaptureToGraph", begin_to_graph>,
    entry<"cuStreamBeginRecaptureToGraph", begin_again>,
    entry<"cuStreamGetCaptureInfo", info_of_edges>,
    entry<"cuStreamUpdateCaptureDependencies", update_with_data>,
#endif
    entry<"cuThreadExchangeStreamCaptureMode", exchange_mode>,
};

}  // namespace cushim::sim
