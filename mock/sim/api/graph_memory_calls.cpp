// SPDX-License-Identifier: Apache-2.0
// Nodes that allocate and free memory, and the memory of graphs on a device.
#include "api/graph_objects.hpp"
#include "memory/location.hpp"

namespace cushim::sim {
namespace {

CUresult add_allocation(Call &call, CUgraphNode *out, CUgraph handle, const CUgraphNode *after,
                        std::size_t count, CUDA_MEM_ALLOC_NODE_PARAMS *parameters) {
  Graph &graph = graph_of(call, handle);
  require(parameters != nullptr);
  const std::shared_ptr<GraphMemory> memory = memory_of(call, *parameters);
  const CUresult code =
      add_with_dependencies(call, out, graph, after, count, nullptr, {MemoryAllocation{memory}});
  parameters->dptr = memory->address;
  return code;
}

CUresult add_free(Call &call, CUgraphNode *out, CUgraph handle, const CUgraphNode *after, std::size_t count,
                  CUdeviceptr address) {
  Graph &graph = graph_of(call, handle);
  return add_with_dependencies(call, out, graph, after, count, nullptr,
                               {MemoryFree{graph_memory_at(call, address)}});
}

CUresult get_allocation(Call &call, CUgraphNode handle, CUDA_MEM_ALLOC_NODE_PARAMS *out) {
  require(out != nullptr);
  *out = parameters_of(command_of<MemoryAllocation>(node_of(call, handle)));
  return CUDA_SUCCESS;
}

CUresult get_free(Call &call, CUgraphNode handle, CUdeviceptr *address) {
  require(address != nullptr);
  *address = command_of<MemoryFree>(node_of(call, handle)).memory->address;
  return CUDA_SUCCESS;
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

void serve_graph_memory(Service &service) {
  service.serve<"cuGraphAddMemAllocNode", add_allocation>();
  service.serve<"cuGraphAddMemFreeNode", add_free>();
  service.serve<"cuGraphMemAllocNodeGetParams", get_allocation>();
  service.serve<"cuGraphMemFreeNodeGetParams", get_free>();
  service.serve<"cuDeviceGraphMemTrim", trim>();
  service.serve<"cuDeviceGetGraphMemAttribute", get_attribute>();
  service.serve<"cuDeviceSetGraphMemAttribute", set_attribute>();
}

}  // namespace cushim::sim
