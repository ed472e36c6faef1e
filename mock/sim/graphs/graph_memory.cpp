// SPDX-License-Identifier: Apache-2.0
#include "graphs/graph_memory.hpp"

#include <algorithm>
#include <map>

#include "api/call.hpp"
#include "engine/unfinished.hpp"
#include "graphs/executable.hpp"
#include "memory/rounding.hpp"

namespace cushim::sim {

namespace {

// The physical memory of graphs in bytes: that which is allocated, and that of a launch. Each graph has
// memory of its own in units of 32 MiB. Measured on an H200, driver 580; there, gaps in the addresses add
// units.
std::size_t physical_size(const System &system, const Device &device) {
  constexpr std::size_t unit = std::size_t{32} << 20, alignment = 512;
  std::map<unsigned long, std::size_t> sizes;  // by graph
  for (const std::shared_ptr<GraphMemory> &memory : system.graph_memory)
    if (memory->device == &device && (memory->is_allocated || memory->is_in_launch))
      sizes[memory->graph] += rounded_up(memory->size, alignment);
  std::size_t total = 0;
  for (const auto &[graph, size] : sizes) total += rounded_up(size, unit);
  return total;
}

void set_physical_size(Device &device, std::size_t size) {
  GraphMemoryUse &use = device.graph_memory;
  use.used = use.reserved = size;
  use.used_high = std::max(use.used_high, use.used);
  use.reserved_high = std::max(use.reserved_high, use.reserved);
}

// Returns whether only system.graph_memory owns the memory, and no work uses it.
bool is_unused(System &system, const std::shared_ptr<GraphMemory> &memory) {
  if (memory.use_count() != 1 || memory->is_allocated) return false;
  const Allocation *const allocation = system.memory.find(memory->address, memory->id);
  return allocation == nullptr || (!allocation->is_ending && unfinished(allocation->users).empty());
}

// Releases unused memory of all devices.
void release_unused(System &system) {
  std::erase_if(system.graph_memory, [&](const std::shared_ptr<GraphMemory> &memory) {
    if (!is_unused(system, memory)) return false;
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
    if (memory->device == &device) memory->is_backed = memory->is_allocated;
  set_physical_size(device, physical_size(system, device));
}

void take_memory(ExecutableGraph &executable) {
  for_each_memory_node(executable, [](const GraphMemory &memory, bool is_freed) {
    require(is_freed || !memory.has_executable, CUDA_ERROR_NOT_SUPPORTED);
  });
  for_each_memory_node(executable, [](GraphMemory &memory, bool is_freed) {
    if (!is_freed) memory.has_executable = memory.has_been_instantiated = true;
  });
}

void leave_memory(ExecutableGraph &executable) {
  for_each_memory_node(executable, [](GraphMemory &memory, bool is_freed) {
    if (!is_freed) memory.has_executable = false;
  });
}

namespace {

// Allocates and frees in the order of the nodes; throws before a change.
void check_memory_nodes(ExecutableGraph &executable) {
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
}

}  // namespace

void back_memory(System &system, ExecutableGraph &executable) {
  Device *device = nullptr;
  for_each_memory_node(executable, [&](GraphMemory &memory, bool) {
    if (!memory.is_backed) device = memory.device;
    memory.is_backed = memory.is_in_launch = true;
  });
  if (device != nullptr)
    set_physical_size(*device,
                      std::max<std::size_t>(device->graph_memory.used, physical_size(system, *device)));
  for_each_memory_node(executable, [](GraphMemory &memory, bool) { memory.is_in_launch = false; });
}

void launch_memory_nodes(System &system, ExecutableGraph &executable) {
  if (executable.memory_nodes.empty()) return;
  check_memory_nodes(executable);
  for_each_memory_node(executable,
                       [](GraphMemory &memory, bool is_freed) { memory.is_allocated = !is_freed; });
  back_memory(system, executable);
}

}  // namespace cushim::sim
