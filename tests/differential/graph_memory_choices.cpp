// SPDX-License-Identifier: Apache-2.0
// Nodes that allocate and free memory, and the memory of graphs on a device.
#include <algorithm>

#include "node_parameters.hpp"

namespace differential {
namespace {

// Allocates, uses and frees memory in one graph, in this order of dependencies; leaves out some of it.
void allocate(Walk &w) {
  GraphObjects &o = objects(w);
  const auto graph = a_graph(w);
  const Nodes after = nodes_before(w, graph.value);
  ChosenParameters p;
  choose_parameters(w, CU_GRAPH_NODE_TYPE_MEM_ALLOC, p);
  CUgraphNode made = nullptr;
  if (CALL(w, cuGraphAddMemAllocNode, argument(&made, "&node"), graph, after.list(), after.size(),
           argument(&p.allocation, p.text)) != CUDA_SUCCESS ||
      made == nullptr)
    return;
  has_node(w, made, graph.value, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  o.n.back().memory = p.allocation.dptr;
  o.allocated.push_back(p.allocation.dptr);
  o.n.back().bytes = p.allocation.bytesize;
  const std::string name = name_of(w, made);
  CUDA_MEMSET_NODE_PARAMS set{};
  set.dst = p.allocation.dptr;
  set.elementSize = 4;
  set.value = 77;
  set.width = 8;
  set.height = 1;
  CUgraphNode second = nullptr;
  if (w.dice.once_in(4) || CALL(w, cuGraphAddMemsetNode, argument(&second, "&node"), graph,
                                argument<const CUgraphNode *>(&made, name), bytes(1),
                                argument<const CUDA_MEMSET_NODE_PARAMS *>(&set, "set it"),
                                argument(w.shared.c[0], "c[0]")) != CUDA_SUCCESS)
    return;
  has_node(w, second, graph.value, CU_GRAPH_NODE_TYPE_MEMSET);
  CUDA_MEMCPY3D copy{};
  const auto to = a_place(w);
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = set.dst;
  copy.dstDevice = to.value;
  copy.WidthInBytes = 16;
  copy.Height = copy.Depth = 1;
  CUgraphNode third = nullptr;
  if (CALL(w, cuGraphAddMemcpyNode, argument(&third, "&node"), graph,
           argument<const CUgraphNode *>(&second, name_of(w, second)), bytes(1),
           argument<const CUDA_MEMCPY3D *>(&copy, "copy it to " + to.text),
           argument(w.shared.c[0], "c[0]")) != CUDA_SUCCESS)
    return;
  has_node(w, third, graph.value, CU_GRAPH_NODE_TYPE_MEMCPY);
  if (w.dice.once_in(4)) return;
  CUgraphNode fourth = nullptr;
  if (CALL(w, cuGraphAddMemFreeNode, argument(&fourth, "&node"), graph,
           argument<const CUgraphNode *>(&third, name_of(w, third)), bytes(1),
           argument(set.dst, "its memory")) == CUDA_SUCCESS)
    has_node(w, fourth, graph.value, CU_GRAPH_NODE_TYPE_MEM_FREE);
}

// Frees memory of an allocation node in any graph, in a right or wrong place.
void free_memory(Walk &w) {
  GraphObjects &o = objects(w);
  const auto node = a_node(w, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  const auto slot = std::ranges::find(o.n, node.value, &NodeSlot::handle);
  const CUdeviceptr memory = slot == o.n.end() || node.value == nullptr
                                 ? w.dice.one_of<CUdeviceptr>({0, 4096, o.memory})
                                 : slot->memory;
  if (memory != 0 && w.dice.once_in(3)) {
    // Frees it in place of the graph, after the graph ran or before.
    const auto stream = a_graph_stream(w);
    if (slot == o.n.end()) return;
    settle(w);
    if (w.dice.once_in(2))
      CALL(w, cuMemFree, argument(memory, "memory of " + node.text));
    else
      CALL(w, cuMemFreeAsync, argument(memory, "memory of " + node.text), stream);
    settle(w);
    return;
  }
  const auto graph =
      w.dice.once_in(4) || slot == o.n.end() ? a_graph(w) : argument(slot->graph, name_of(w, slot->graph));
  const bool comes_after = !w.dice.once_in(5) && slot != o.n.end();
  const auto offset = w.dice.once_in(10) ? 256 : 0;
  CUgraphNode made = nullptr;
  if (CALL(w, cuGraphAddMemFreeNode, argument(&made, "&node"), graph,
           argument<const CUgraphNode *>(comes_after ? &slot->handle : nullptr,
                                         comes_after ? node.text : "nullptr"),
           bytes(comes_after ? 1 : 0),
           argument(memory + offset, fmt::format("memory of {} + {}", node.text, offset))) == CUDA_SUCCESS)
    has_node(w, made, graph.value, CU_GRAPH_NODE_TYPE_MEM_FREE);
}

void memory_parameters(Walk &w) {
  const bool is_free = w.dice.once_in(3);
  const auto node = a_node(w, is_free ? CU_GRAPH_NODE_TYPE_MEM_FREE : CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  CUDA_MEM_ALLOC_NODE_PARAMS found{};
  Result<CUdeviceptr> address("address");
  if (is_free) {
    CALL(w, cuGraphMemFreeNodeGetParams, node, Argument<CUdeviceptr *>{&address.value, "&address"});
  } else if (CALL(w, cuGraphMemAllocNodeGetParams, node, argument(&found, "&found")) == CUDA_SUCCESS) {
    w.also(fmt::format("{} {} {}", found.bytesize, found.accessDescCount,
                       static_cast<int>(found.poolProps.location.type)));
  }
}

void graph_memory(Walk &w) {
  std::uint64_t value = 0;
  const auto which = static_cast<CUgraphMem_attribute>(w.dice.below(5));
  const auto name = argument(which, std::to_string(static_cast<int>(which)));
  const auto device = integer(w.dice.once_in(15) ? 99 : 0);
  settle(w);
  switch (w.dice.below(6)) {
    case 0:
      CALL(w, cuDeviceGraphMemTrim, device);
      return;
    case 1:
      value = w.dice.one_of<std::uint64_t>({0, 0, 0, 4096});
      CALL(w, cuDeviceSetGraphMemAttribute, device, name, argument<void *>(&value, std::to_string(value)));
      return;
    default:
      if (CALL(w, cuDeviceGetGraphMemAttribute, device, name, argument<void *>(&value, "&value")) ==
              CUDA_SUCCESS &&
          which < CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT)  // other walks leave reserved memory
        w.also(std::to_string(value));
  }
}

}  // namespace

Choices graph_memory_choices() {
  return Choices({
      {3, allocate},
      {2, free_memory},
      {1, memory_parameters},
      {4, graph_memory},
  });
}

}  // namespace differential
