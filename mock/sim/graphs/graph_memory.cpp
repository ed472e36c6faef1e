// SPDX-License-Identifier: Apache-2.0
#include "graphs/graph_memory.hpp"

#include <algorithm>

#include "api/call.hpp"
#include "engine/unfinished.hpp"
#include "graphs/executable.hpp"
#include "memory/rounding.hpp"

namespace cushim::sim {

namespace {

std::size_t reserved_size(const GraphMemory &memory) { return rounded_up(memory.size, Memory::kBlock); }

void reserve(GraphMemory &memory) {
  if (memory.is_reserved) return;
  memory.is_reserved = true;
  GraphMemoryUse &use = memory.device->graph_memory;
  use.used += memory.size;
  use.reserved += reserved_size(memory);
  use.used_high = std::max(use.used_high, use.used);
  use.reserved_high = std::max(use.reserved_high, use.reserved);
}

void unreserve(GraphMemory &memory) {
  if (!memory.is_reserved) return;
  memory.is_reserved = false;
  GraphMemoryUse &use = memory.device->graph_memory;
  use.used -= memory.size;
  use.reserved -= reserved_size(memory);
}

// Returns whether nothing but the machine has the memory any more, and no work uses it.
bool is_unused(System &system, const std::shared_ptr<GraphMemory> &memory) {
  if (memory.use_count() != 1 || memory->is_allocated) return false;
  const Allocation *const allocation = system.memory.find(memory->address, memory->id);
  return allocation == nullptr || (!allocation->is_ending && unfinished(allocation->users).empty());
}

// Releases unused memory of all devices.
void release_unused(System &system) {
  std::erase_if(system.graph_memory, [&](const std::shared_ptr<GraphMemory> &memory) {
    if (!is_unused(system, memory)) return false;
    unreserve(*memory);
    if (Allocation *const allocation = system.memory.find(memory->address, memory->id))
      system.release(*allocation);
    return true;
  });
}

// Calls visit(memory, is_freed) for each memory node in the order of the launch.
template <class Visit>
void for_each_memory_node(ExecutableGraph &executable, Visit visit) {
  for (const std::uint32_t index : executable.memory_nodes) {
    const Command &command = executable.graph.nodes[index].command;
    if (const auto *const made = std::get_if<MemoryAllocation>(&command))
      visit(*made->memory, false);
    else
      visit(*std::get<MemoryFree>(command).memory, true);
  }
}

}  // namespace

std::shared_ptr<GraphMemory> make_graph_memory(Call &call, Device &device, std::size_t size) {
  System &system = call.system;
  if (system.graph_memory.size() >= system.graph_memory_swept_at) {
    release_unused(system);
    system.graph_memory_swept_at = std::max<std::size_t>(32, 2 * system.graph_memory.size());
  }
  auto memory = std::make_shared<GraphMemory>();
  system.graph_memory.push_back(memory);  // may throw, so it comes before the allocation
  Allocation *const made = call.allocate(device, size);
  if (made == nullptr) return system.graph_memory.pop_back(), nullptr;
  memory->device = &device;
  memory->address = made->base;
  memory->id = made->id;
  memory->size = size;
  made->graph_memory = memory.get();
  return memory;
}

void trim_graph_memory(System &system, Device &device) {
  release_unused(system);
  for (const std::shared_ptr<GraphMemory> &memory : system.graph_memory)
    if (memory->device == &device && !memory->is_allocated) unreserve(*memory);
}

void take_memory(ExecutableGraph &executable) {
  for_each_memory_node(executable, [](const GraphMemory &memory, bool is_freed) {
    require(is_freed || !memory.has_executable, CUDA_ERROR_NOT_SUPPORTED);
  });
  for_each_memory_node(executable, [](GraphMemory &memory, bool is_freed) {
    if (!is_freed) memory.has_executable = true;
  });
}

void leave_memory(ExecutableGraph &executable) {
  for_each_memory_node(executable, [](GraphMemory &memory, bool is_freed) {
    if (!is_freed) memory.has_executable = false;
  });
}

void launch_memory_nodes(ExecutableGraph &executable) {
  const bool frees_first = (executable.flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
  for_each_memory_node(executable,
                       [](GraphMemory &memory, bool) { memory.will_be_allocated = memory.is_allocated; });
  if (frees_first)
    for_each_memory_node(executable, [](GraphMemory &memory, bool is_freed) {
      if (!is_freed) memory.will_be_allocated = false;
    });
  for_each_memory_node(executable, [](GraphMemory &memory, bool is_freed) {
    require(memory.will_be_allocated == is_freed);
    memory.will_be_allocated = !is_freed;
  });
  for_each_memory_node(executable, [](GraphMemory &memory, bool) {
    memory.is_allocated = memory.will_be_allocated;
    reserve(memory);
  });
}

}  // namespace cushim::sim
