// SPDX-License-Identifier: Apache-2.0
// Stream captures.
#include <algorithm>

#include "graph_objects.hpp"

namespace differential {
namespace {

// Calls that a capture does not allow, or that do not belong to a stream.
void unsafe(Walk &w) {
  CUdeviceptr address = 0;
  void *host = nullptr;
  Result<std::size_t> size("size"), total("total");
  switch (w.dice.below(5)) {
    case 0:
      if (CALL(w, cuMemAlloc, argument(&address, "&address"), bytes(4096)) == CUDA_SUCCESS)
        CALL(w, cuMemFree, argument(address, "address"));
      return;
    case 1:
      if (CALL(w, cuMemAllocHost, argument(&host, "&host"), bytes(4096)) == CUDA_SUCCESS)
        CALL(w, cuMemFreeHost, argument(host, "host"));
      return;
    case 2:
      CALL(w, cuMemGetInfo, size.argument(), total.argument());
      return;
    case 3:
      CALL(w, cuEventElapsedTime, argument<float *>(nullptr, "nullptr"), w.an_event(),
           argument<CUevent>(nullptr, "nullptr"));
      return;
    default: {
      const auto to = a_place(w);
      const auto value = number(w.dice.below(9));
      CALL(w, cuMemsetD32, to, value, bytes(1));
      settle(w);
    }
  }
}

void begin(Walk &w) {
  const auto stream = a_graph_stream(w);
  const auto mode = static_cast<CUstreamCaptureMode>(w.dice.one_of({0, 0, 1, 1, 2, 2, 2, 2, 2, 3}));
  const std::string text = std::to_string(static_cast<int>(mode));
  if (!w.dice.once_in(4)) {
    CALL(w, cuStreamBeginCapture, stream, argument(mode, text));
    return;
  }
  const auto graph = a_graph(w);
  const Nodes after = nodes_before(w, graph.value);
  // Driver 580 may crash if another stream captures into the graph. A failed capture destroys the graph,
  // which must not be a part of another.
  if (std::ranges::any_of(objects(w).g, [&](const GraphSlot &slot) {
        return slot.handle == graph.value && (slot.captured_by != nullptr || slot.parent != nullptr);
      }))
    return;
  std::vector<CUgraphEdgeData> data(after.handles.size() + 1);
  const bool has_data = w.dice.once_in(4);
  const CUresult code = CALL(
      w, cuStreamBeginCaptureToGraph, stream, graph, after.list(),
      argument<const CUgraphEdgeData *>(has_data ? data.data() : nullptr, has_data ? "zeros" : "nullptr"),
      after.size(), argument(mode, text));
  for (GraphSlot &slot : objects(w).g)
    if (code == CUDA_SUCCESS && slot.handle == graph.value) slot.captured_by = stream.value;
}

void learn_nodes(Walk &w, CUgraph graph) {
  std::array<CUgraphNode, 64> nodes{};
  std::size_t count = nodes.size();
  if (driver().cuGraphGetNodes(graph, nodes.data(), &count) != CUDA_SUCCESS) return;
  for (std::size_t i = 0; i < count; ++i) {
    if (std::ranges::any_of(objects(w).n, [&](const NodeSlot &one) { return one.handle == nodes[i]; }))
      continue;
    CUgraphNodeType type{};
    if (driver().cuGraphNodeGetType(nodes[i], &type) == CUDA_SUCCESS) has_node(w, nodes[i], graph, type);
  }
}

bool is_capturing(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver().cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void end(Walk &w) {
  GraphObjects &o = objects(w);
  const auto stream = a_graph_stream(w);
  CUgraph graph = nullptr;
  const bool is_null = w.dice.once_in(40);
  const CUresult code = CALL(w, cuStreamEndCapture, stream,
                             argument(is_null ? nullptr : &graph, is_null ? "nullptr" : "&graph"));
  if (code != CUDA_SUCCESS) {
    w.also(graph == nullptr ? "null" : "set");
    if (!is_capturing(stream.value)) has_lost_capture(w, stream.value);
    return;
  }
  if (graph == nullptr) return;
  w.also(name_of(w, graph));
  describe(w, graph);
  for (GraphSlot &slot : o.g)
    if (slot.handle == graph) {
      slot.captured_by = nullptr;
      return learn_nodes(w, graph);
    }
  const unsigned at = free_graph_slot(w);
  if (at == o.g.size()) {
    CALL(w, cuGraphDestroy, argument(graph, "graph"));
    return;
  }
  o.g[at] = {graph, nullptr, nullptr, nullptr};
  w.did(fmt::format("g[{}] = graph", at));
  learn_nodes(w, graph);
}

void status(Walk &w) {
  const auto stream = a_graph_stream(w);
  Result<CUstreamCaptureStatus> status("status");
  if (w.dice.once_in(2)) {
    CALL(w, cuStreamIsCapturing, stream, status.argument());
    w.also_number(status);
    return;
  }
  CUgraph graph = nullptr;
  const CUgraphNode *nodes = nullptr;
  const CUgraphEdgeData *data = nullptr;
  Result<std::size_t> count("count");
  Result<cuuint64_t> id("id");
  const bool has_data = !w.dice.once_in(4);
  const CUresult code =
      CALL(w, cuStreamGetCaptureInfo, stream, status.argument(), id.argument(), argument(&graph, "&graph"),
           argument(&nodes, "&nodes"), argument(has_data ? &data : nullptr, has_data ? "&data" : "nullptr"),
           count.argument());
  w.also_number(status);
  if (code != CUDA_SUCCESS || status.value != CU_STREAM_CAPTURE_STATUS_ACTIVE) return;
  w.also_number(count);
  w.also(graph != nullptr ? name_of(w, graph) : "null");
  std::vector<std::string> names;
  for (std::size_t i = 0; nodes != nullptr && i < count.value; ++i) names.push_back(name_of(w, nodes[i]));
  std::ranges::sort(names);
  for (const std::string &name : names) w.also(name);
}

void update_dependencies(Walk &w) {
  const auto stream = a_graph_stream(w);
  CUstreamCaptureStatus status{};
  CUgraph graph = nullptr;
  std::array<CUgraphNode, 64> nodes{};
  std::size_t count = nodes.size();
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  driver().cuThreadExchangeStreamCaptureMode(&mode);
  if (driver().cuStreamGetCaptureInfo(stream.value, &status, nullptr, &graph, nullptr, nullptr, nullptr) !=
          CUDA_SUCCESS ||
      graph == nullptr || driver().cuGraphGetNodes(graph, nodes.data(), &count) != CUDA_SUCCESS)
    count = 0;
  driver().cuThreadExchangeStreamCaptureMode(&mode);
  std::string text = "{";
  std::vector<CUgraphNode> chosen;
  const unsigned wanted = w.dice.below(3);
  for (unsigned i = 0; i < wanted && count != 0; ++i) {
    const unsigned at = w.dice.below(static_cast<unsigned>(count));
    chosen.push_back(nodes[at]);
    text += fmt::format(" {}", at);
  }
  if (w.dice.once_in(30)) chosen.push_back(nullptr);
  const auto flags = number(w.dice.one_of({0U, 1U, 0U, 1U, 2U}));
  CALL(w, cuStreamUpdateCaptureDependencies, stream,
       argument(chosen.empty() ? nullptr : chosen.data(), text + " }"),
       argument<const CUgraphEdgeData *>(nullptr, "nullptr"), bytes(chosen.size()), flags);
}

void exchange_mode(Walk &w) {
  CUstreamCaptureMode mode = static_cast<CUstreamCaptureMode>(w.dice.one_of({0, 0, 1, 2, 3}));
  const std::string text = std::to_string(static_cast<int>(mode));
  if (CALL(w, cuThreadExchangeStreamCaptureMode, argument(&mode, text)) == CUDA_SUCCESS)
    w.also(std::to_string(static_cast<int>(mode)));
}

// Adds to a capture by another stream, and joins it. Most forks of single choices are not joined.
void fork(Walk &w) {
  const auto first = w.a_live_stream_or_null(), second = w.a_live_stream_or_null();
  const auto event = w.an_event(), other = w.an_event();
  if (first.value == second.value || event.value == nullptr || event.value == other.value) return;
  if (CALL(w, cuEventRecord, event, first) != CUDA_SUCCESS) return;
  if (CALL(w, cuStreamWaitEvent, second, event, number(0)) != CUDA_SUCCESS) return;
  const auto to = a_place(w);
  CALL(w, cuMemsetD32Async, to, number(5), bytes(1), second);
  settle(w);
  if (w.dice.once_in(5)) return;
  if (CALL(w, cuEventRecord, other, second) != CUDA_SUCCESS) return;
  CALL(w, cuStreamWaitEvent, first, other, number(0));
  settle(w);
}

}  // namespace

Choices capture_choices() {
  return Choices({
      {10, begin},
      {7, end},
      {6, status},
      {4, update_dependencies},
      {2, exchange_mode},
      {6, fork},
      {1, unsafe},
  });
}

}  // namespace differential
