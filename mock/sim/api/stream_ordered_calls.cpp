// SPDX-License-Identifier: Apache-2.0
// Stream-ordered allocation from memory pools.
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "api/service.hpp"
#include "engine/unfinished.hpp"
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

// Takes a free range of the pool by the pool's reuse policies; nothing if there is none. An internal
// dependency is the last resort: the allocation then waits for the free.
std::optional<PoolRanges::Taken> reuse(Call &call, Stream &stream, Pool &pool, std::size_t size) {
  std::optional<std::unordered_set<const Task *>> before;  // found on first use
  const auto may_take = [&](const PoolRanges::Free &free) {
    if (free.freed == nullptr || free.stream == stream.id) return true;
    if (is_complete(free.freed)) return pool.reuse_opportunistic != 0;
    if (pool.reuse_follow_event == 0) return false;
    if (!before) before = work_before(call, stream);
    return before->contains(free.freed.get());
  };
  if (auto taken = pool.ranges.take(size, may_take)) return taken;
  if (pool.reuse_internal == 0) return std::nullopt;
  return pool.ranges.take(size, [](const PoolRanges::Free &) { return true; });
}

// Adds a block to the pool in which `size` bytes fit. Returns false if out of memory, or if the pool would
// become larger than its limit.
bool grow(Call &call, Pool &pool, std::size_t size) {
  Device *const device = pool.kind == MemoryKind::device ? pool.device : nullptr;
  if (size > SIZE_MAX / 2) return false;
  for (const std::size_t unit : {Pool::kBlock, Pool::kSmallBlock}) {
    const std::size_t wanted = rounded_up(size, unit), limit = rounded_up(pool.max_size, Pool::kSmallBlock);
    if (pool.max_size != 0 && (wanted > limit || pool.ranges.reserved() > limit - wanted)) continue;
    CUdeviceptr base = call.system.memory.take_block(device, wanted);
    if (base == 0 && call.system.trim_pools()) base = call.system.memory.take_block(device, wanted);
    if (base == 0) continue;
    pool.ranges.add_block({base, wanted});
    return true;
  }
  return false;
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

CUresult allocate_from(Call &call, Stream &stream, Pool &pool, CUdeviceptr *out, std::size_t size) {
  System &system = call.system;
  require(size <= SIZE_MAX / 2, CUDA_ERROR_OUT_OF_MEMORY);
  require(pool.kind != MemoryKind::device || call.allows(*pool.device, size), CUDA_ERROR_OUT_OF_MEMORY);
  const std::size_t taken_size = rounded_up(size, Memory::kAlignment);
  auto taken = reuse(call, stream, pool, taken_size);
  if (!taken && grow(call, pool, taken_size)) taken = reuse(call, stream, pool, taken_size);
  require(taken.has_value(), CUDA_ERROR_OUT_OF_MEMORY);
  Allocation &made = add(system, pool, *taken, size);
  made.context = stream.context;
  pool.count(taken_size);
  *out = made.base;
  Operation operation{.cost = call.costs(*stream.context).memory_operation};
  operation.come_after(taken->freed);
  call.enqueue(stream, std::move(operation));
  return CUDA_SUCCESS;
}

CUresult allocate(Call &call, CUdeviceptr *out, std::size_t size, CUstream handle) {
  require(out != nullptr);
  Stream &stream = call.stream(handle);
  if (size == 0) return *out = 0, CUDA_SUCCESS;
  Pool &pool = *call.system.pools_of({.id = stream.context->device->index}).current;
  return allocate_from(call, stream, pool, out, size);
}

CUresult allocate_from_pool(Call &call, CUdeviceptr *out, std::size_t size, CUmemoryPool pool,
                            CUstream handle) {
  require(out != nullptr);
  Stream &stream = call.stream(handle);
  Pool &from = call.pool(pool);
  if (size == 0) return *out = 0, CUDA_SUCCESS;  // measured, driver 580
  return allocate_from(call, stream, from, out, size);
}

CUresult free(Call &call, CUdeviceptr address, CUstream handle) {
  Stream &stream = call.stream(handle);
  if (address == 0) return CUDA_SUCCESS;
  System &system = call.system;
  Allocation *const allocation = system.memory.find(address);
  require(allocation != nullptr && allocation->base == address && allocation->is_usable());
  if (allocation->pool == nullptr) {
    require(allocation->kind != MemoryKind::managed, CUDA_ERROR_NOT_SUPPORTED);
    require(allocation->kind == MemoryKind::device && allocation->imported == nullptr &&
            allocation->mapping == nullptr && !allocation->is_of_module);
  }
  PoolRanges::Node node = allocation->pool != nullptr ? PoolRanges::make_node() : PoolRanges::Node();
  // The context may be destroyed before this runs, without waiting for it, and the address may be reused.
  const Work work = call.add(stream, {.cost = call.costs(*stream.context).memory_operation,
                                      .run = [&system, address, id = allocation->id](Move &) {
                                        if (Allocation *const freed = system.memory.find(address, id))
                                          system.release(*freed);
                                      }});
  // The pool's counter decreases at once, before the stream runs the free. Measured, driver 580.
  if (allocation->pool != nullptr) {
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
