// SPDX-License-Identifier: Apache-2.0
// The memory of graphs: an allocation node has one address for as long as the graph and its executable graph
// exist, and until the program frees the memory.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace cushim::sim {

struct Call;
struct Device;
struct ExecutableGraph;
struct System;

// The memory of one allocation node. The node, nodes that free the memory, their executable graphs and the
// machine share it.
struct GraphMemory : std::enable_shared_from_this<GraphMemory> {
  Device *device = nullptr;
  CUdeviceptr address = 0;
  unsigned long long id = 0;              // of the allocation
  unsigned long graph = 0;                // id of the graph whose node it belongs to
  std::size_t size = 0;                   // bytes
  bool is_managed = false;                // CU_MEM_ALLOCATION_TYPE_MANAGED: memory of the device all the same
  std::vector<CUmemAccessDesc> access{};  // as the program described it
  bool is_allocated = false;              // a launch has allocated it, and nothing has freed it since
  bool is_backed = false;                 // a launch has allocated it since the last trim
  bool will_be_allocated = false;         // used while a launch is checked
  bool is_in_launch = false;              // used while the memory of a launch is counted
  bool has_executable = false;            // there may be one executable graph at a time
  bool has_been_instantiated = false;
  bool is_freed = false;  // by a node; one at most
};

// Makes memory for a new node. The device's memory counts as used from now on; on the real driver, from the
// first launch. Returns null if out of memory.
std::shared_ptr<GraphMemory> make_graph_memory(Call &call, Device &device, std::size_t size);

// Gives the memory of graphs that do not exist any more back to the device, unless it is allocated. Physical
// memory that is not allocated stops being used.
void trim_graph_memory(System &system, Device &device);

// Mark the memory that an executable graph allocates as taken by it, and as available to another one.
// take_memory() fails with NOT_SUPPORTED, and changes nothing, if another has taken it: measured, driver 580.
void take_memory(ExecutableGraph &executable);
void leave_memory(ExecutableGraph &executable);

// Gives all memory of an executable graph physical memory, unless it has had some since the last trim. An
// upload does so, too: measured on an H200, driver 580.
void back_memory(System &system, ExecutableGraph &executable);

// Marks the memory of an executable graph as allocated and freed by its nodes. INVALID_VALUE, and no change,
// if a node allocates memory that a launch has allocated and nothing has freed (measured, driver 580), or
// frees memory that is not allocated. With CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH, memory that the
// graph has allocated is freed first.
void launch_memory_nodes(System &system, ExecutableGraph &executable);

}  // namespace cushim::sim
