// SPDX-License-Identifier: Apache-2.0
// Stream-ordered allocation from memory pools.
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "api/graph_objects.hpp"
#include "commands/submit.hpp"
#include "engine/unfinished.hpp"
#include "graphs/capturing.hpp"
#include "memory/rounding.hpp"

namespace cushim::sim {
namespace {

// Returns the unfinished work that an allocation in the stream comes after.
std::unordered_set<const Task *> work_before(Call &call, Stream &stream) {
  std::vector<Work> works = call.works_of(stream);
  const Context &context = *stream.context;
  if (stream.is_blocking() && context.legacy != nullptr) works.push_back(context.legacy->tail);
  return unfinished(works);
}

// Takes a free range of the pool by the pool's reuse policies, without internal dependencies; nothing if
// there is none.
std::optional<PoolRanges::Taken> reuse(Call &call, Stream &stream, Pool &pool, std::size_t size) {
  std::optional<std::unordered_set<const Task *>> before;  // found on first use
  const auto may_take = [&](const PoolRanges::Free &free) {
    if (free.freed == nullptr || free.stream == stream.id) return true;
    if (is_complete(free.freed)) return pool.reuse_opportunistic != 0;
    if (pool.reuse_follow_event == 0) return false;
    if (!before) before = work_before(call, stream);
    return before->contains(free.freed.get());
  };
  return pool.ranges.take(size, may_take);
}

// Adds a block to the pool in which `size` bytes fit. Returns false if out of memory, or if the pool would
// become larger than its limit.
bool grow(Call &call, Pool &pool, std::size_t size) {
  if (size > SIZE_MAX / 2) return false;
  const std::size_t wanted = rounded_up(size, Pool::kBlock), limit = rounded_up(pool.max_size, Pool::kBlock);
  if (pool.max_size != 0 && (wanted > limit || pool.ranges.reserved() > limit - wanted)) return false;
  CUdeviceptr base = call.system.memory.take_block(pool, wanted);
  if (base == 0 && call.system.trim_pools()) base = call.system.memory.take_block(pool, wanted);
  if (base == 0) return false;
  pool.ranges.add_block({base, wanted});
  return true;
}

// Takes a range of the pool, which may grow. An internal dependency is the last resort: the allocation then
// waits for the free. Measured, driver 580: the pool grows first.
std::optional<PoolRanges::Taken> take(Call &call, Stream &stream, Pool &pool, std::size_t size) {
  if (auto taken = reuse(call, stream, pool, size)) return taken;
  if (grow(call, pool, size)) return reuse(call, stream, pool, size);
  if (pool.reuse_internal == 0) return std::nullopt;
  return pool.ranges.take(size, [](const PoolRanges::Free &) { return true; });
}

// Adds the allocation. If that throws, the pool has the range again.
Allocation &add(System &system, Pool &pool, const PoolRanges::Taken &taken, std::size_t size) {
  PoolRanges::Node node = PoolRanges::make_node();
  try {
    return system.memory.add_in_block(pool, taken.base, size);
  } catch (...) {
    pool.ranges.give(std::move(node), taken.base, rounded_up(size, Memory::kAlignment), taken.freed);
    throw;
  }
}

// Adds an allocation node to the graph of a stream that captures.
CUresult capture_allocation(Call &call, Stream &stream, const Pool &pool, CUdeviceptr *out,
                            std::size_t size) {
  if (pool.kind != MemoryKind::device)
    refuse_in_capture(stream, CUDA_ERROR_NOT_SUPPORTED);  // not implemented
  require(stream.capture->capture->is_valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  const std::shared_ptr<GraphMemory> memory = make_graph_memory(call, *pool.device, size);
  require(memory != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
  capture(call, stream, MemoryAllocation{memory}, nullptr);
  *out = memory->address;
  return CUDA_SUCCESS;
}

// Frees memory of a graph: adds a node if the stream captures, else frees what a launch has allocated.
CUresult free_graph_memory(Call &call, Stream &stream, GraphMemory &memory) {
  if (stream.capture != nullptr) {
    const Graph *const graph = call.system.handles.find<Graph>(stream.capture->capture->graph);
    require(graph == nullptr || !graph->freed_memory.contains(&memory));
    capture_command(call, stream, MemoryFree{memory.shared_from_this()});
    return CUDA_SUCCESS;
  }
  require(memory.is_allocated);
  memory.is_allocated = false;
  call.enqueue(stream, {.cost = call.costs(*stream.context).memory_operation});
  return CUDA_SUCCESS;
}

CUresult allocate_from(Call &call, Stream &stream, Pool &pool, CUdeviceptr *out, std::size_t size) {
  System &system = call.system;
  *out = 0;  // also on failure: measured, driver 580
  if (stream.capture != nullptr) return capture_allocation(call, stream, pool, out, size);
  if (!system.captures.empty()) require_no_strict_capture(call);
  require(size <= SIZE_MAX / 2, CUDA_ERROR_OUT_OF_MEMORY);
  require(pool.kind != MemoryKind::device || call.allows(*pool.device, size), CUDA_ERROR_OUT_OF_MEMORY);
  const std::size_t taken_size = rounded_up(size, Memory::kAlignment);
  const auto taken = take(call, stream, pool, taken_size);
  require(taken.has_value(), CUDA_ERROR_OUT_OF_MEMORY);
  Allocation &made = add(system, pool, *taken, size);
  made.context = stream.context;
  pool.count(size);
  *out = made.base;
  Operation operation{.cost = call.costs(*stream.context).memory_operation};
  operation.come_after(taken->freed);
  call.enqueue(stream, std::move(operation));
  return CUDA_SUCCESS;
}

CUresult allocate(Call &call, CUdeviceptr *out, std::size_t size, CUstream handle) {
  Stream &stream = call.stream(handle);
  require(out != nullptr);
  if (size == 0) return *out = 0, CUDA_SUCCESS;
  const PlacePools &pools = call.system.pools_of({.id = stream.context->device->index});
  return allocate_from(call, stream, call.pool(reinterpret_cast<CUmemoryPool>(pools.current)), out, size);
}

CUresult allocate_from_pool(Call &call, CUdeviceptr *out, std::size_t size, CUmemoryPool pool,
                            CUstream handle) {
  Stream &stream = call.stream(handle);
  require(out != nullptr);
  Pool &from = call.pool(pool);
  require(!from.is_imported);
  if (size == 0) return *out = 0, CUDA_SUCCESS;  // measured, driver 580
  return allocate_from(call, stream, from, out, size);
}

CUresult free(Call &call, CUdeviceptr address, CUstream handle) {
  Stream &stream = call.stream(handle);
  if (address == 0) return CUDA_SUCCESS;
  System &system = call.system;
  Allocation *const allocation = system.memory.find(address);
  require(allocation != nullptr && allocation->base == address && allocation->is_usable());
  if (allocation->graph_memory != nullptr) return free_graph_memory(call, stream, *allocation->graph_memory);
  require(stream.capture == nullptr);  // a graph frees memory of graphs only; measured, driver 580
  if (allocation->pool == nullptr) {
    require(allocation->kind != MemoryKind::managed, CUDA_ERROR_NOT_SUPPORTED);
    require(allocation->kind == MemoryKind::device && allocation->imported == nullptr &&
            allocation->mapping == nullptr && !allocation->is_of_module);
  }
  const bool gives_range = allocation->pool != nullptr && allocation->imported == nullptr;
  PoolRanges::Node node = gives_range ? PoolRanges::make_node() : PoolRanges::Node();
  // The context may be destroyed before this runs, without waiting for it, and the address may be reused.
  const Work work = call.add(stream, {.cost = call.costs(*stream.context).memory_operation,
                                      .run = [&system, address, id = allocation->id](Move &) {
                                        if (Allocation *const freed = system.memory.find(address, id))
                                          system.release(*freed);
                                      }});
  // The pool's counter decreases at once, before the stream runs the free. Measured, driver 580.
  if (gives_range) {
    System::release_to_pool(std::move(node), *allocation, work);
    system.memory.note_freed(*allocation);
  }
  allocation->is_freed = true;
  call.start(work);
  return CUDA_SUCCESS;
}

}  // namespace

void serve_stream_ordered_memory(Service &service) {
  service.serve<"cuMemAllocAsync", allocate>();
  service.serve<"cuMemAllocFromPoolAsync", allocate_from_pool>();
  service.serve<"cuMemFreeAsync", free>();
}

}  // namespace cushim::sim
