// SPDX-License-Identifier: Apache-2.0
#include "node_parameters.hpp"

#include <algorithm>

namespace differential {

namespace {
void count(void *counter) { ++*static_cast<std::atomic<unsigned> *>(counter); }

void choose_kernel(Walk &w, ChosenParameters &p) {
  unsigned name = 0;
  const auto function = a_function(w, name);
  fill_arguments(w, name, p.arguments);
  p.kernel = {};
  p.kernel.func = function.value;
  p.kernel.gridDimX = w.dice.one_of({1U, 1U, 1U, 2U, 4U, 0U});
  p.kernel.gridDimY = w.dice.once_in(12) ? 2 : 1;
  p.kernel.gridDimZ = w.dice.once_in(30) ? 65536 : 1;
  p.kernel.blockDimX = w.dice.one_of({1U, 32U, 32U, 32U, 64U, 64U, 1025U, 0U});
  p.kernel.blockDimY = w.dice.once_in(12) ? 2 : 1;
  p.kernel.blockDimZ = 1;
  p.kernel.sharedMemBytes = w.dice.one_of({0U, 0U, 0U, 0U, 512U, 50'000U});
  p.kernel.kernelParams = p.arguments.pointers.data();
  if (w.dice.once_in(10)) p.kernel.ctx = w.dice.one_of({w.shared.c[0], w.shared.c[1]});
  p.text = fmt::format("{{{} {} {} {} {} {} {} {} {}}}", function.text, p.kernel.gridDimX, p.kernel.gridDimY,
                       p.kernel.gridDimZ, p.kernel.blockDimX, p.kernel.blockDimY, p.kernel.sharedMemBytes,
                       p.kernel.kernelParams == nullptr ? "null" : p.arguments.text,
                       p.kernel.ctx == nullptr ? "" : w.shared.name_of(p.kernel.ctx, {}));
}

void choose_copy(Walk &w, ChosenParameters &p) {
  GraphObjects &o = objects(w);
  p.copy = {};
  const unsigned from = 16 * w.dice.below(200);
  const auto to = a_place(w);
  p.copy.srcMemoryType = p.copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  p.copy.srcDevice = o.memory + from;
  p.copy.dstDevice = to.value;
  p.copy.WidthInBytes = w.dice.one_of<std::size_t>({8, 8, 16, 4, 0});
  p.copy.Height = w.dice.once_in(10) ? 2 : 1;
  p.copy.Depth = w.dice.once_in(20) ? 0 : 1;
  p.copy.srcPitch = p.copy.dstPitch = p.copy.Height == 2 ? 8 : 0;
  if (p.copy.Height == 2) p.copy.WidthInBytes = w.dice.once_in(4) ? 9 : 4;
  if (w.dice.once_in(15)) p.copy.dstDevice = 0;
  if (w.dice.once_in(30)) p.copy.srcMemoryType = static_cast<CUmemorytype>(9);
  p.text = fmt::format("{{{} {} {}x{}x{} {}}}", from, to.text, p.copy.WidthInBytes, p.copy.Height,
                       p.copy.Depth, static_cast<int>(p.copy.srcMemoryType));
}

void choose_set(Walk &w, ChosenParameters &p) {
  const auto to = a_place(w);
  p.set = {};
  p.set.dst = w.dice.once_in(20) ? 0 : to.value;
  p.set.elementSize = w.dice.one_of({1U, 2U, 4U, 4U, 4U, 3U, 8U});
  p.set.value = w.dice.below(w.dice.once_in(8) ? 100'000 : 100);
  p.set.width = w.dice.one_of<std::size_t>({1, 2, 2, 3, 0});
  p.set.height = w.dice.one_of<std::size_t>({1, 1, 1, 1, 1, 2, 0});
  p.set.pitch = p.set.height == 2 ? w.dice.one_of<std::size_t>({8, 4, 0}) : 0;
  if (p.set.height == 2) p.set.width = 1;
  if (w.dice.once_in(20)) p.set.dst += 1;
  p.text = fmt::format("{{{} {} x{} {}x{} pitch {}}}", to.text, p.set.value, p.set.elementSize, p.set.width,
                       p.set.height, p.set.pitch);
}

void choose_host(Walk &w, ChosenParameters &p) {
  p.host = {w.dice.once_in(20) ? nullptr : count, &w.host_functions};
  p.text = p.host.fn == nullptr ? "{nullptr}" : "{count}";
}

void choose_batch(Walk &w, ChosenParameters &p) {
  const auto to = a_place(w);
  p.operations = {};
  for (unsigned i = 0; i < p.operations.size(); ++i) {
    p.operations[i].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    p.operations[i].writeValue.address = to.value + 4 * i;
    p.operations[i].writeValue.value = 40 + i;
  }
  p.batch = {};
  p.batch.ctx = w.dice.one_of<CUcontext>(
      {w.shared.c[0], w.shared.c[0], w.shared.c[0], w.shared.c[0], w.shared.c[1], nullptr});
  p.batch.count = w.dice.one_of({1U, 2U, 1U, 2U, 0U, 300U});
  p.batch.paramArray = p.operations.data();
  if (p.batch.count == 300) {
    p.batch.count = 2;
    p.operations[1].writeValue.address += 1;
  }
  p.batch.flags = w.dice.once_in(20) ? 1 : 0;
  p.text = fmt::format("{{{} {} x{} {}}}", w.shared.name_of(p.batch.ctx, {}), to.text, p.batch.count,
                       p.batch.flags);
}

void choose_allocation(Walk &w, ChosenParameters &p) {
  p.allocation = {};
  p.allocation.poolProps.allocType =
      w.dice.once_in(15) ? CU_MEM_ALLOCATION_TYPE_INVALID : CU_MEM_ALLOCATION_TYPE_PINNED;
  p.allocation.poolProps.location.type =
      w.dice.once_in(20) ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
  p.allocation.poolProps.location.id = w.dice.once_in(25) ? 99 : 0;
  p.allocation.bytesize = w.dice.one_of<std::size_t>({512, 512, 4096, 100'000, 3'000'000, 40'000'000, 0});
  if (w.dice.once_in(8)) {
    p.access = {};
    p.access.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = w.dice.once_in(3) ? 7 : 0};
    p.access.flags = w.dice.once_in(4) ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    p.allocation.accessDescs = &p.access;
    p.allocation.accessDescCount = 1;
  }
  if (w.dice.once_in(25)) p.allocation.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  p.text = fmt::format("{{{} {} {} {} access {}:{}:{} handles {}}}",
                       static_cast<int>(p.allocation.poolProps.allocType),
                       static_cast<int>(p.allocation.poolProps.location.type),
                       p.allocation.poolProps.location.id, p.allocation.bytesize,
                       p.allocation.accessDescs == nullptr ? "null" : "one", p.allocation.accessDescCount,
                       p.access.location.id, static_cast<int>(p.allocation.poolProps.handleTypes));
}

void choose_event(Walk &w, ChosenParameters &p) {
  const auto event = w.an_event();
  p.event = event.value;
  p.text = event.text;
}

void choose_graph(Walk &w, ChosenParameters &p) {
  const auto graph = a_graph(w);
  p.graph = graph.value;
  p.text = graph.text;
}
}  // namespace

void choose_parameters(Walk &w, CUgraphNodeType type, ChosenParameters &p) {
  static const std::map<CUgraphNodeType, void (*)(Walk &, ChosenParameters &)> choosers({
      {CU_GRAPH_NODE_TYPE_KERNEL, choose_kernel},
      {CU_GRAPH_NODE_TYPE_MEMCPY, choose_copy},
      {CU_GRAPH_NODE_TYPE_MEMSET, choose_set},
      {CU_GRAPH_NODE_TYPE_HOST, choose_host},
      {CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, choose_batch},
      {CU_GRAPH_NODE_TYPE_MEM_ALLOC, choose_allocation},
      {CU_GRAPH_NODE_TYPE_EVENT_RECORD, choose_event},
      {CU_GRAPH_NODE_TYPE_WAIT_EVENT, choose_event},
      {CU_GRAPH_NODE_TYPE_GRAPH, choose_graph},
  });
  p.type = type;
  const auto chooser = choosers.find(type);
  if (chooser == choosers.end())
    p.text = "{}";
  else
    chooser->second(w, p);
}

void fill(Walk &w, const ChosenParameters &p, CUgraphNodeParams &all) {
  all = {};
  all.type = p.type;
  const CUcontext context = w.dice.once_in(20) ? nullptr : w.shared.c[0];
  switch (p.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      std::memcpy(&all.kernel, &p.kernel, sizeof p.kernel);
      return;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      all.memcpy.copyCtx = context;
      all.memcpy.copyParams = p.copy;
      return;
    case CU_GRAPH_NODE_TYPE_MEMSET:
      all.memset = {p.set.dst,   p.set.pitch,  p.set.value, p.set.elementSize,
                    p.set.width, p.set.height, context};
      return;
    case CU_GRAPH_NODE_TYPE_HOST:
      all.host.fn = p.host.fn;
      all.host.userData = p.host.userData;
      return;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      all.memOp = {p.batch.ctx, p.batch.count, p.batch.paramArray, p.batch.flags};
      return;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      all.alloc.poolProps = p.allocation.poolProps;
      all.alloc.accessDescs = p.allocation.accessDescs;
      all.alloc.accessDescCount = p.allocation.accessDescCount;
      all.alloc.bytesize = p.allocation.bytesize;
      return;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      all.eventRecord.event = p.event;
      return;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      all.eventWait.event = p.event;
      return;
    case CU_GRAPH_NODE_TYPE_GRAPH:
      all.graph.graph = p.graph;
      return;
    default:
      return;
  }
}

CUgraphNodeType a_type(Walk &w) {
  return w.dice.one_of({CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_KERNEL,
                        CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEMSET,
                        CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_HOST,
                        CU_GRAPH_NODE_TYPE_HOST, CU_GRAPH_NODE_TYPE_EMPTY, CU_GRAPH_NODE_TYPE_EMPTY,
                        CU_GRAPH_NODE_TYPE_GRAPH, CU_GRAPH_NODE_TYPE_EVENT_RECORD,
                        CU_GRAPH_NODE_TYPE_WAIT_EVENT, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP});
}

void has_part(Walk &w, CUgraph part, CUgraph parent, CUgraphNode node) {
  GraphObjects &o = objects(w);
  if (part == nullptr || std::ranges::find(o.g, part, &GraphSlot::handle) != o.g.end()) return;
  const auto free = std::ranges::find(o.g, nullptr, &GraphSlot::handle);
  if (free == o.g.end()) return;
  *free = {part, parent, node, nullptr};
  w.did(fmt::format("g[{}] is a part", free - o.g.begin()));
  std::array<CUgraphNode, 64> nodes{};
  std::size_t all = nodes.size();
  if (driver().cuGraphGetNodes(part, nodes.data(), &all) != CUDA_SUCCESS) return;
  for (std::size_t i = 0; i < all; ++i) {
    CUgraphNodeType type{};
    if (driver().cuGraphNodeGetType(nodes[i], &type) == CUDA_SUCCESS) has_node(w, nodes[i], part, type);
  }
}

}  // namespace differential
