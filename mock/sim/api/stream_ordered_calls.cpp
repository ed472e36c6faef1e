// SPDX-License-Identifier: Apache-2.0
// Stream-ordered allocation from memory pools.
#include <algorithm>
#include <functional>
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

// Takes a range of the pool, which is free for the stream according to `may_take`. The pool may take memory
// for it, up to the pool's limit.
std::optional<PoolRanges::Taken> take_range(Call &call, Pool &pool, std::size_t size,
                                            const std::function<bool(const PoolRanges::Free &)> &may_take) {
  Memory &memory = call.system.memory;
  const auto may_grow = [&](std::size_t more) {
    const std::size_t most = rounded_up(pool.max_size, PoolRanges::kChunk), has = pool.ranges.reserved();
    const bool is_allowed = pool.max_size == 0 || (has <= most && more <= most - has);
    return is_allowed && memory.has_room(pool, more);
  };
  auto taken = pool.ranges.take(size, may_take, may_grow);
  if (taken)
    for (const CUdeviceptr chunk : taken->chunks) memory.take_chunk(pool, chunk, PoolRanges::kChunk);
  return taken;
}

// Takes a free range of the pool by the pool's reuse policies, without internal dependencies; nothing if
// there is none.
std::optional<PoolRanges::Taken> reuse(Call &call, Stream &stream, Pool &pool, std::size_t size) {
  std::optional<std::unordered_set<const Task *>> before;  // found on first use
  return take_range(call, pool, size, [&](const PoolRanges::Free &free) {
    if (free.freed == nullptr || free.stream == stream.id) return true;
    if (is_complete(free.freed)) return pool.reuse_opportunistic != 0;
    if (pool.reuse_follow_event == 0) return false;
    if (!before) before = work_before(call, stream);
    return before->contains(free.freed.get());
  });
}

// Adds a window to the pool in which `size` bytes fit. Returns false if the pool or the device has no room
// for them.
bool add_window(Call &call, Pool &pool, std::size_t size) {
  if (size > SIZE_MAX / 2) return false;
  Memory &memory = call.system.memory;
  const std::size_t needed = rounded_up(size, PoolRanges::kChunk),
                    most = rounded_up(pool.max_size, PoolRanges::kChunk), has = pool.ranges.reserved();
  if (pool.max_size != 0 && (needed > most || has > most - needed)) return false;
  if (!memory.has_room(pool, needed) && !(call.system.trim_pools() && memory.has_room(pool, needed)))
    return false;
  // Other processes map a window as a whole.
  const std::size_t usual = pool.handle_types != 0 ? std::size_t{128} << 20 : std::size_t{1} << 30;
  std::size_t taken = std::max(needed, usual);
  CUdeviceptr base = memory.take_window(pool, taken);
  if (base == 0) base = memory.take_window(pool, taken = needed);
  if (base == 0) return false;
  pool.ranges.add_window({base, taken});
  // Makes the new window of an exported pool openable while nothing uses it: cuMemPoolExportPointer then need
  // not wait for running kernels. If that fails, cuMemPoolExportPointer reports why.
  if (pool.nonce != 0 && pool.kind == MemoryKind::device && !pool.is_imported)
    if (const auto table = call.system.sharing.own(); table != nullptr)
      static_cast<void>(call.system.memory.share(pool.device, {base, taken}, table, pool.nonce));
  return true;
}

// Takes a range of the pool, which may grow. An internal dependency is the last resort: the allocation then
// waits for the free. Measured, driver 580: the pool grows first.
std::optional<PoolRanges::Taken> take(Call &call, Stream &stream, Pool &pool, std::size_t size) {
  if (auto taken = reuse(call, stream, pool, size)) return taken;
  if (add_window(call, pool, size)) return reuse(call, stream, pool, size);
  if (pool.reuse_internal == 0) return std::nullopt;
  return take_range(call, pool, size, [](const PoolRanges::Free &) { return true; });
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
  // The capture stays valid; measured, driver 580. Managed memory of a device is not implemented.
  require(pool.handle_types == CU_MEM_HANDLE_TYPE_NONE, CUDA_ERROR_NOT_SUPPORTED);
  require(pool.kind == MemoryKind::device, CUDA_ERROR_NOT_SUPPORTED);
  const std::shared_ptr<GraphMemory> memory = make_graph_memory(call, *pool.device, size);
  require(memory != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
  const GraphNode &node = capture(call, stream, MemoryAllocation{memory}, nullptr);
  *out = std::get<MemoryAllocation>(node.command).memory->address;  // a recapture has the node's memory
  return CUDA_SUCCESS;
}

// Frees memory of a graph: adds a node if the stream captures, else frees what a launch has allocated.
CUresult free_graph_memory(Call &call, Stream &stream, GraphMemory &memory) {
  if (stream.capture != nullptr) {
    require(!memory.is_freed || stream.capture->capture->recapture != nullptr);
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
  *out = 0;
  if (size == 0) return CUDA_SUCCESS;
  const PlacePools &pools = call.system.pools_of({.id = stream.context->device->index});
  return allocate_from(call, stream, call.pool(reinterpret_cast<CUmemoryPool>(pools.current)), out, size);
}

CUresult allocate_from_pool(Call &call, CUdeviceptr *out, std::size_t size, CUmemoryPool pool,
                            CUstream handle) {
  Stream &stream = call.stream(handle);
  require(out != nullptr);
  Pool &from = call.pool(pool);
  require(!from.is_imported);
  *out = 0;
  if (size == 0) return CUDA_SUCCESS;  // measured, driver 580
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
    require(allocation->kind == MemoryKind::device &&
            allocation->imported == nullptr &&  // measured, driver 580
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

constinit const Entries entries_of_stream_ordered_memory = {
    entry<"cuMemAllocAsync", allocate>,
    entry<"cuMemAllocFromPoolAsync", allocate_from_pool>,
    entry<"cuMemFreeAsync", free>,
};

}  // namespace cushim::sim
