// SPDX-License-Identifier: Apache-2.0
// Stream capture.
#include <utility>

#include "api/graph_objects.hpp"
#include "api/variants.hpp"
#include "graphs/capturing.hpp"

namespace cushim::sim {
namespace {

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
  return has_unjoined_work(call.system, capture) ? CUDA_ERROR_STREAM_CAPTURE_UNJOINED : CUDA_SUCCESS;
}

CUresult end(Call &call, CUstream handle, CUgraph *out) {
  if (out != nullptr) *out = nullptr;
  Stream &stream = call.stream(handle);
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
  if (handle != CU_STREAM_LEGACY && (handle != nullptr || call.per_thread)) return call.stream(handle);
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
};

// The array of dependencies is valid until the next call in the stream.
CUresult info(Call &call, CUstream handle, CUstreamCaptureStatus *status, const InfoOut &out) {
  require(status != nullptr);
  const Stream &stream = stream_to_query(call, handle);
  *status = status_of(stream);
  if (stream.capture == nullptr || !stream.capture->capture->is_valid) return CUDA_SUCCESS;
  CapturePoint &point = *stream.capture;
  remove_duplicates(point.dependencies);
  if (out.id != nullptr) *out.id = point.capture->id;
  if (out.graph != nullptr) *out.graph = point.capture->graph;
  if (out.dependencies != nullptr) *out.dependencies = point.dependencies.data();
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

CUresult update(Call &call, CUstream handle, CUgraphNode *nodes, std::size_t count, unsigned flags) {
  Stream &stream = call.stream(handle);
  require(stream.capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
  CapturePoint &point = *stream.capture;
  require(point.capture->is_valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  require(flags <= CU_STREAM_SET_CAPTURE_DEPENDENCIES);
  const std::vector<GraphNode *> found = nodes_of(call, graph_of(call, point.capture->graph), nodes, count);
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) point.dependencies.clear();
  for (const GraphNode *const node : found) point.dependencies.push_back(handle_of(*node));
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12030
CUresult begin_to_graph(Call &call, CUstream handle, CUgraph graph_handle, const CUgraphNode *dependencies,
                        const CUgraphEdgeData *, std::size_t count, CUstreamCaptureMode mode) {
  Stream &stream = stream_to_capture(call, handle, mode);
  const Graph &graph = graph_of(call, graph_handle);
  const std::vector<GraphNode *> after = nodes_of(call, graph, dependencies, count);
  CapturePoint &point = start(call, stream, graph_handle, mode);
  point.capture->is_to_graph = true;
  for (const GraphNode *const node : after) point.dependencies.push_back(handle_of(*node));
  return CUDA_SUCCESS;
}

// All edges of a capture are of the default type.
CUresult info_of_edges(Call &call, CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
                       CUgraph *graph, const CUgraphNode **dependencies, const CUgraphEdgeData **edges,
                       std::size_t *count) {
  if (edges != nullptr) *edges = nullptr;
  return info(call, handle, status, {id, graph, dependencies, count});
}

CUresult update_with_data(Call &call, CUstream handle, CUgraphNode *nodes, const CUgraphEdgeData *,
                          std::size_t count, unsigned flags) {
  return update(call, handle, nodes, count, flags);
}
#endif

CUresult exchange_mode(Call &call, CUstreamCaptureMode *mode) {
  require(mode != nullptr);
  require(is_mode(*mode));
  std::swap(*mode, call.thread().capture_mode);
  return CUDA_SUCCESS;
}

// The entry points that captures of other modes than CU_STREAM_CAPTURE_MODE_RELAXED forbid. Measured, driver
// 580.
constexpr std::string_view kUnsafe[] = {
    "cuMemAlloc",
    "cuMemAllocPitch",
    "cuMemAllocHost",
    "cuMemHostAlloc",
    "cuMemAllocManaged",
    "cuMemFree",
    "cuMemFreeHost",
    "cuMemHostRegister",
    "cuMemHostUnregister",
    "cuStreamQuery",
    "cuStreamSynchronize",
    "cuEventQuery",
    "cuEventSynchronize",
    "cuGraphInstantiate",
    "cuGraphInstantiateWithFlags",
    "cuGraphInstantiateWithParams",
};

const std::vector<bool> &unsafe_slots() {
  static const std::vector<bool> slots = [] {
    std::vector<bool> found(CUSHIM_ENTRY_COUNT);
    for (std::size_t slot = 0; slot < found.size(); ++slot)
      found[slot] = std::ranges::find(kUnsafe, sim::detail::variant_names[slot].base) != std::end(kUnsafe);
    return found;
  }();
  return slots;
}

}  // namespace

void require_allowed_in_capture(Call &call, std::size_t slot) {
  if (unsafe_slots()[slot]) require_no_strict_capture(call);
}

void serve_captures(Service &service) {
  service.serve<"cuStreamBeginCapture", begin>();
  service.serve<"cuStreamBeginCapture", begin_globally>();
  service.serve<"cuStreamEndCapture", end>();
  service.serve<"cuStreamIsCapturing", is_capturing>();
  service.serve<"cuStreamGetCaptureInfo", info_of_id>();
  service.serve<"cuStreamGetCaptureInfo", info_of_graph>();
  service.serve<"cuStreamUpdateCaptureDependencies", update>();
#if CUDA_VERSION >= 12030
  service.serve<"cuStreamBeginCaptureToGraph", begin_to_graph>();
  service.serve<"cuStreamGetCaptureInfo", info_of_edges>();
  service.serve<"cuStreamUpdateCaptureDependencies", update_with_data>();
#endif
  service.serve<"cuThreadExchangeStreamCaptureMode", exchange_mode>();
}

}  // namespace cushim::sim
