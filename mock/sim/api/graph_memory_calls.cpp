// SPDX-License-Identifier: Apache-2.0
// Nodes that allocate and free memory, and the memory of graphs on a device.
#include "api/graph_objects.hpp"
#include "graphs/graph_memory.hpp"
#include "memory/location.hpp"

namespace cushim::sim {
namespace {

CUresult add_allocation(Call &call, CUgraphNode *out, CUgraph handle, const CUgraphNode *after,
                        std::size_t count, CUDA_MEM_ALLOC_NODE_PARAMS *parameters) {
  Graph &graph = graph_of(call, handle);
  require(parameters != nullptr);
  nodes_of(call, graph, after, count);  // checked before the parameters; measured, driver 580
  const std::shared_ptr<GraphMemory> memory = memory_of(call, *parameters);
  // Not in child graphs: measured, driver 580.
  require(graph.parent == nullptr || graph.is_body, CUDA_ERROR_NOT_SUPPORTED);
  const CUresult code =
      add_with_dependencies(call, out, graph, after, count, nullptr, {MemoryAllocation{memory}});
  parameters->dptr = memory->address;
  return code;
}

// Returns the memory that a new node of a graph frees.
std::shared_ptr<GraphMemory> memory_to_free(Call &call, const Graph &graph, CUdeviceptr address) {
  std::shared_ptr<GraphMemory> memory = graph_memory_at(call, address);
  // Another graph may free it after that: measured, driver 580.
  require(memory->graph != graph.id || !memory->has_been_instantiated);
  require(!memory->is_freed);
  return memory;
}

// A call that fails because of the memory has made a node and removed it: the graph counts as one with memory
// nodes, and dependencies that have no other dependents are again the newest ones. Measured on an H200,
// driver 580.
CUresult add_free(Call &call, CUgraphNode *out, CUgraph handle, const CUgraphNode *after, std::size_t count,
                  CUdeviceptr address) {
  Graph &graph = graph_of(call, handle);
  const std::vector<GraphNode *> dependencies = nodes_of(call, graph, after, count);
  require(graph.parent == nullptr || graph.is_body, CUDA_ERROR_NOT_SUPPORTED);  // measured, driver 580
  graph.has_memory_nodes = true;
  try {
    const std::shared_ptr<GraphMemory> memory = memory_to_free(call, graph, address);
    return add_with_dependencies(call, out, graph, after, count, nullptr, {MemoryFree{memory}});
  } catch (...) {
    for (GraphNode *const node : dependencies) {
      if (!node->dependents.empty()) continue;
      node->sink.leave();
      Graph::add_to_front(graph.sinks, node->sink);
    }
    throw;
  }
}

CUresult get_allocation(Call &call, CUgraphNode handle, CUDA_MEM_ALLOC_NODE_PARAMS *out) {
  return store(out, [&] { return parameters_of(command_of<MemoryAllocation>(node_of(call, handle))); });
}

CUresult get_free(Call &call, CUgraphNode handle, CUdeviceptr *address) {
  return store(address, [&] { return command_of<MemoryFree>(node_of(call, handle)).memory->address; });
}

// ---- Memory of graphs on a device ----

CUresult trim(Call &call, CUdevice device) {
  trim_graph_memory(call.system, call.device(device));
  return CUDA_SUCCESS;
}

CUresult get_attribute(Call &call, CUdevice device, CUgraphMem_attribute attribute, void *out) {
  const GraphMemoryUse &use = call.device(device).graph_memory;
  require(out != nullptr);
  const auto store = [out](cuuint64_t value) {
    *static_cast<cuuint64_t *>(out) = value;
    return CUDA_SUCCESS;
  };
  switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
      return store(use.used);
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
      return store(use.used_high);
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
      return store(use.reserved);
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
      return store(use.reserved_high);
  }
  fail(CUDA_ERROR_INVALID_VALUE);
}

// Sets a high-water mark, which is at least the current value. Only 0 is allowed. Measured, driver 580.
CUresult set_attribute(Call &call, CUdevice device, CUgraphMem_attribute attribute, void *value) {
  GraphMemoryUse &use = call.device(device).graph_memory;
  require(value != nullptr && *static_cast<const cuuint64_t *>(value) == 0);
  require(attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH);
  if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)
    use.used_high = use.used;
  else
    use.reserved_high = use.reserved;
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_graph_memory = {
    entry<"cuGraphAddMemAllocNode", add_allocation>,
    entry<"cuGraphAddMemFreeNode", add_free>,
    entry<"cuGraphMemAllocNodeGetParams", get_allocation>,
    entry<"cuGraphMemFreeNodeGetParams", get_free>,
    entry<"cuDeviceGraphMemTrim", trim>,
    entry<"cuDeviceGetGraphMemAttribute", get_attribute>,
    entry<"cuDeviceSetGraphMemAttribute", set_attribute>,
};

}  // namespace cushim::sim
