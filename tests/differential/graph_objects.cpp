// SPDX-License-Identifier: Apache-2.0
#include "graph_objects.hpp"

#include <algorithm>
#include <stdexcept>

namespace differential {

GraphObjects::GraphObjects() {
  std::vector<unsigned char> initial(bytes_of_memory);
  for (unsigned i = 0; i < 4096; ++i) initial[i] = static_cast<unsigned char>(i * 7 + i / 256);
  if (driver().cuMemAlloc(&memory, bytes_of_memory) != CUDA_SUCCESS ||
      driver().cuMemcpyHtoD(memory, initial.data(), initial.size()) != CUDA_SUCCESS)
    throw std::runtime_error("no memory for a walk");
  driver().cuDeviceGraphMemTrim(0);
  std::uint64_t zero = 0;
  driver().cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero);
  driver().cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &zero);
}

void GraphObjects::forget_capture(CUstream stream) {
  for (GraphSlot &slot : g)
    if (slot.handle != nullptr && slot.captured_by == stream) slot = {};
}

bool GraphObjects::end(const std::array<Stream, 4> &streams, const SharedObjects &shared) {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  driver().cuThreadExchangeStreamCaptureMode(&mode);
  for (int round = 0; round < 2; ++round)
    for (const Stream &stream : streams) {
      CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
      if (stream.handle == nullptr) continue;
      driver().cuStreamIsCapturing(stream.handle, &status);
      CUgraph graph = nullptr;
      if (status == CU_STREAM_CAPTURE_STATUS_NONE) continue;
      driver().cuStreamEndCapture(stream.handle, &graph);
      if (graph == nullptr) forget_capture(stream.handle);
      const bool is_known =
          std::ranges::any_of(g, [&](const GraphSlot &slot) { return slot.handle == graph; });
      if (graph != nullptr && !is_known) driver().cuGraphDestroy(graph);
    }
  for (CUcontext context : {shared.c[1], shared.c[0]}) {
    CUgraph graph = nullptr;
    driver().cuCtxSetCurrent(context);
    driver().cuStreamEndCapture(CU_STREAM_PER_THREAD, &graph);
    if (graph == nullptr) forget_capture(CU_STREAM_PER_THREAD);
  }
  mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  driver().cuThreadExchangeStreamCaptureMode(&mode);
  for (CUcontext context : {shared.c[1], shared.c[0]}) {
    driver().cuCtxSetCurrent(context);
    if (driver().cuCtxSynchronize() != CUDA_SUCCESS) return false;
  }
  for (const CUdeviceptr address : allocated) driver().cuMemFree(address);
  for (const ExecutableSlot &one : x)
    if (one.handle != nullptr) driver().cuGraphExecDestroy(one.handle);
  for (const GraphSlot &one : g)
    if (one.handle != nullptr && one.parent == nullptr) driver().cuGraphDestroy(one.handle);
  for (unsigned i = 0; i < users.size(); ++i)
    if (users[i] != nullptr && user_references[i] != 0)
      driver().cuUserObjectRelease(users[i], user_references[i]);
  if (link != nullptr) driver().cuLinkDestroy(link);
  for (const LibrarySlot &one : libraries)
    if (one.handle != nullptr) driver().cuLibraryUnload(one.handle);
  for (const ModuleSlot &one : modules)
    if (one.handle != nullptr) driver().cuModuleUnload(one.handle);
  driver().cuMemFree(memory);
  driver().cuDeviceGraphMemTrim(0);
  return driver().cuCtxSynchronize() == CUDA_SUCCESS;
}

void GraphObjects::settle(const std::array<Stream, 4> &streams) const {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  if (driver().cuThreadExchangeStreamCaptureMode(&mode) != CUDA_SUCCESS) return;
  bool is_capturing = false;
  for (const Stream &stream : streams) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (stream.handle == nullptr) continue;
    if (driver().cuStreamIsCapturing(stream.handle, &status) == CUDA_SUCCESS &&
        status == CU_STREAM_CAPTURE_STATUS_NONE)
      driver().cuStreamSynchronize(stream.handle);
    else
      is_capturing = true;
  }
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  driver().cuStreamIsCapturing(CU_STREAM_PER_THREAD, &status);
  if (status != CU_STREAM_CAPTURE_STATUS_NONE)
    is_capturing = true;
  else
    driver().cuStreamSynchronize(CU_STREAM_PER_THREAD);
  if (!is_capturing) driver().cuCtxSynchronize();
  driver().cuThreadExchangeStreamCaptureMode(&mode);
}

void settle(Walk &w) { objects(w).settle(w.s); }

Argument<CUdeviceptr> a_place(Walk &w) {
  GraphObjects &o = objects(w);
  const unsigned at = 4096 + 16 * (o.next_place++ % 1024);
  return {o.memory + at, fmt::format("memory + {}", at)};
}

void fill_arguments(Walk &w, unsigned name, LaunchArguments &arguments) {
  const auto place = a_place(w);
  arguments.to = place.value;
  arguments.value = 1 + w.dice.below(1000);
  const std::string kernel = kernel_names[name];
  if (kernel == "mixed")
    arguments.pointers = {&arguments.small, &arguments.to, &arguments.pair, &arguments.real};
  else
    arguments.pointers = {&arguments.to, &arguments.value, &arguments.value, &arguments.value};
  arguments.text = fmt::format("{{{}, {}}}", place.text, arguments.value);
}

Argument<CUfunction> a_function(Walk &w, unsigned &name) {
  GraphObjects &o = objects(w);
  const unsigned first = w.dice.below(static_cast<unsigned>(o.f.size()));
  name = 0;
  if (w.dice.once_in(60)) return {nullptr, "nullptr"};
  for (unsigned i = 0; i < o.f.size(); ++i) {
    const unsigned at = (first + i) % static_cast<unsigned>(o.f.size());
    if (o.f[at].handle == nullptr) continue;
    name = o.f[at].name;
    return {o.f[at].handle, fmt::format("f[{}]", at)};
  }
  return {nullptr, "nullptr"};
}

Argument<CUgraph> a_graph(Walk &w) {
  if (w.dice.once_in(50)) return {nullptr, "nullptr"};
  return a_living(w.dice, objects(w).g, "g");
}

Argument<CUgraphNode> a_node(Walk &w) {
  GraphObjects &o = objects(w);
  if (o.n.empty() || w.dice.once_in(50)) return {nullptr, "nullptr"};
  const unsigned at = w.dice.below(static_cast<unsigned>(o.n.size()));
  return {o.n[at].handle, name_of(w, o.n[at].handle)};
}

Argument<CUgraphNode> a_node(Walk &w, CUgraphNodeType type) {
  GraphObjects &o = objects(w);
  std::vector<CUgraphNode> found;
  for (const NodeSlot &node : o.n)
    if (node.type == type) found.push_back(node.handle);
  if (found.empty() || w.dice.once_in(12)) return a_node(w);
  const CUgraphNode node = found[w.dice.below(static_cast<unsigned>(found.size()))];
  return {node, name_of(w, node)};
}

Argument<CUgraphExec> an_executable(Walk &w) {
  if (w.dice.once_in(50)) return {nullptr, "nullptr"};
  return a_living(w.dice, objects(w).x, "x");
}

Argument<CUstream> a_graph_stream(Walk &w) {
  const unsigned which = w.dice.below(30);
  if (which == 0) return {nullptr, "nullptr"};
  if (which == 1) return {CU_STREAM_LEGACY, "CU_STREAM_LEGACY"};
  if (which == 2) return {CU_STREAM_PER_THREAD, "CU_STREAM_PER_THREAD"};
  return w.a_live_stream_or_null();
}

Nodes nodes_before(Walk &w, CUgraph graph) {
  GraphObjects &o = objects(w);
  Nodes nodes;
  std::vector<CUgraphNode> own;
  for (const NodeSlot &node : o.n)
    if (node.graph == graph) own.push_back(node.handle);
  const unsigned count = w.dice.one_of({0U, 0U, 1U, 1U, 1U, 2U, 2U, 3U});
  for (unsigned i = 0; i < count && !own.empty(); ++i)
    nodes.handles.push_back(own[w.dice.below(static_cast<unsigned>(own.size()))]);
  // Two equal dependencies are an error; keep a few.
  if (!w.dice.once_in(4)) {
    std::vector<CUgraphNode> once;
    for (CUgraphNode node : nodes.handles)
      if (std::ranges::find(once, node) == once.end()) once.push_back(node);
    nodes.handles = once;
  }
  if (w.dice.once_in(60)) nodes.handles.push_back(nullptr);
  if (w.dice.once_in(60) && !o.n.empty())
    nodes.handles.push_back(o.n[w.dice.below(static_cast<unsigned>(o.n.size()))].handle);
  nodes.count = nodes.handles.size();
  nodes.text = "{";
  for (CUgraphNode node : nodes.handles) nodes.text += name_of(w, node) + " ";
  nodes.text += "}";
  if (nodes.handles.empty() && w.dice.once_in(60)) {
    nodes.count = 1;
    nodes.text = "nullptr";
  }
  return nodes;
}

namespace {
// Returns the name of an object whose slot may be one of those with the name `name`.
template <class Slots, class Handle>
std::string name_in(const Slots &slots, const char *name, Handle handle, const std::string &another) {
  if (handle == nullptr) return "null";
  for (unsigned i = 0; i < slots.size(); ++i)
    if (slots[i].handle == handle) return fmt::format("{}[{}]", name, i);
  return another;
}

std::string type_letter(CUgraphNode node) {
  CUgraphNodeType type{};
  if (node == nullptr || driver().cuGraphNodeGetType(node, &type) != CUDA_SUCCESS) return "?";
  return std::string(1, static_cast<char>('a' + static_cast<int>(type)));
}
}  // namespace

std::string name_of(Walk &w, CUgraph graph) { return name_in(objects(w).g, "g", graph, "another"); }
std::string name_of(Walk &w, CUgraphNode node) {
  return name_in(objects(w).n, "n", node, "another " + type_letter(node));
}
std::string name_of(Walk &w, CUfunction function) { return name_in(objects(w).f, "f", function, "another"); }
std::string name_of(Walk &w, CUkernel kernel) { return name_in(objects(w).k, "k", kernel, "another"); }

void describe(Walk &w, CUgraph graph) {
  std::array<CUgraphNode, 64> nodes{};
  std::size_t count = nodes.size();
  if (driver().cuGraphGetNodes(graph, nodes.data(), &count) != CUDA_SUCCESS) return w.also("unknown");
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += type_letter(nodes[i]);
  std::array<CUgraphNode, 128> from{}, to{};
  std::array<CUgraphEdgeData, 128> data{};
  std::size_t edges = from.size();
  if (driver().cuGraphGetEdges(graph, from.data(), to.data(), data.data(), &edges) == CUDA_SUCCESS) {
    std::vector<std::string> all;
    const auto index = [&](CUgraphNode node) { return std::ranges::find(nodes, node) - nodes.begin(); };
    for (std::size_t i = 0; i < edges; ++i)
      all.push_back(fmt::format("{}-{}{}", index(from[i]), index(to[i]),
                                data[i].type == 0 && data[i].from_port == 0
                                    ? ""
                                    : fmt::format("p{}{}", data[i].from_port, data[i].type)));
    std::ranges::sort(all);
    for (const std::string &one : all) text += "," + one;
  }
  w.also(text.empty() ? "-" : text);
}

void has_node(Walk &w, CUgraphNode node, CUgraph graph, CUgraphNodeType type) {
  objects(w).n.push_back({node, graph, type, 0, 0});
  w.did(fmt::format("n[{}] is new", objects(w).n.size() - 1));
}

unsigned free_graph_slot(Walk &w) {
  GraphObjects &o = objects(w);
  const unsigned at = w.dice.below(static_cast<unsigned>(o.g.size()));
  return o.g[at].handle == nullptr ? at : static_cast<unsigned>(o.g.size());
}

void has_ended(Walk &w, CUgraph graph) {
  GraphObjects &o = objects(w);
  if (graph == nullptr) return;
  for (GraphSlot &slot : o.g) {
    if (slot.handle == graph) slot = {};
    if (slot.parent == graph) has_ended(w, slot.handle);
  }
  // A node keeps its number.
  for (NodeSlot &node : o.n)
    if (node.graph == graph) node = {};
  std::erase_if(o.conditions, [&](const ConditionSlot &one) { return one.graph == graph; });
  std::erase_if(o.n, [](const NodeSlot &node) { return node.handle == nullptr; });
}

void has_lost_capture(Walk &w, CUstream stream) {
  std::vector<CUgraph> lost;
  for (const GraphSlot &slot : objects(w).g)
    if (slot.handle != nullptr && slot.captured_by == stream) lost.push_back(slot.handle);
  for (CUgraph graph : lost) has_ended(w, graph);
}

void has_ended(Walk &w, CUgraphNode node) {
  GraphObjects &o = objects(w);
  for (GraphSlot &slot : o.g)
    if (slot.handle != nullptr && slot.node == node) has_ended(w, slot.handle);
  std::erase_if(o.n, [&](const NodeSlot &one) { return one.handle == node; });
}

}  // namespace differential
