// SPDX-License-Identifier: Apache-2.0
// The memory pools of a machine.
#include <algorithm>

#include "engine/unfinished.hpp"
#include "machine/system.hpp"
#include "memory/rounding.hpp"

namespace cushim::sim {

Pool &System::make_pool(const PoolPlace &place) {
  auto pool = std::make_unique<Pool>();
  pool->place = place;
  if (place.location == kDeviceLocation) pool->device = devices[static_cast<std::size_t>(place.id)].get();
  if (place.allocation == kManagedAllocation)
    pool->kind = MemoryKind::managed;
  else if (pool->device == nullptr)
    pool->kind = MemoryKind::pinned;
  Pool &made = handles.add(std::move(pool));
  made.join(live_pools);
  return made;
}

PlacePools &System::pools_of(const PoolPlace &place) {
  PlacePools &pools = this->pools[place];
  if (pools.usual == nullptr) {
    pools.usual = &make_pool(place);
    pools.usual->is_default = true;
  }
  if (pools.current == 0) pools.current = pools.usual->handle;
  return pools;
}

void System::destroy_pool(Pool &pool, const char *by) {
  // The current pools of other locations stay the destroyed ones. Measured, driver 580.
  PlacePools &of_place = pools_of(pool.place);
  if (pool.place.is_of_device_memory() && of_place.current == pool.handle)
    of_place.current = of_place.usual->handle;
  std::unique_ptr<Pool> &ended = ended_pools[&pool];  // may throw, so it comes before any change
  pool.leave();
  pool.is_destroyed = true;
  ended = handles.take(pool, by);
  end_pool_if_unused(pool);
}

void System::end_pool_if_unused(Pool &pool) {
  if (!pool.is_destroyed || pool.allocations != 0) return;
  pool.ranges.observe_all();
  trim_pool(pool, 0);
  ended_pools.erase(&pool);
}

// Returns unused blocks while the pool has more than `keep` bytes.
void System::release_blocks(Pool &pool, unsigned long long keep, BlocksBelow below) {
  constexpr std::size_t chunk_bytes = PoolRanges::kChunk;
  const bool is_exported = pool.nonce != 0;  // other processes map whole windows
  while (pool.ranges.reserved() > keep) {
    if (below == BlocksBelow::stay && pool.ranges.reserved() - keep < chunk_bytes) break;
    const auto chunk = pool.ranges.remove_chunk(is_exported ? PoolRanges::Removes::of_unused_windows
                                                            : PoolRanges::Removes::any);
    if (!chunk) break;
    memory.give_back_chunk(pool, *chunk, chunk_bytes);
  }
  while (const auto window = pool.ranges.remove_window())
    memory.give_back_window(pool, window->base, window->size);
}

void System::trim_pool(Pool &pool, unsigned long long keep) { release_blocks(pool, keep, BlocksBelow::stay); }

void System::release_beyond_threshold(Pool &pool) {
  pool.is_threshold_lower = false;
  release_blocks(pool, pool.release_threshold, BlocksBelow::may_go);
}

bool System::trim_pools() {
  const auto reserved = [this] {
    std::size_t sum = 0;
    for_each_pool([&](const Pool &pool) { sum += pool.ranges.reserved(); });
    return sum;
  };
  const std::size_t before = reserved();
  for_each_pool([&](Pool &pool) { trim_pool(pool, 0); });
  return reserved() < before;
}

void System::release_to_pool(PoolRanges::Node &&node, const Allocation &allocation,
                             const Work &freed) noexcept {
  Pool &pool = *allocation.pool;
  const std::size_t size = rounded_up(allocation.size, Memory::kAlignment);
  pool.ranges.give(std::move(node), allocation.base, size, freed);
  if (freed != nullptr) pool.used -= allocation.size;
}

std::vector<System::Observed> System::observed_by_wait(std::span<const Work> works) const {
  bool may_change = false;
  for_each_pool([&](const Pool &pool) { may_change = may_change || pool.may_change_by_wait(); });
  std::vector<Observed> observed;
  if (!may_change) return observed;
  for (const Work &work : works)
    if (work != nullptr) observed.push_back({work->stream, work->serial});
  for (const Task *task : unfinished(works)) observed.push_back({task->stream, task->serial});
  return observed;
}

namespace {

// Calls mark() for the ranges of each pool that has pending frees, and trims the pool to its threshold.
template <class Mark>
void observe_in_pools(System &system, Mark mark) {
  system.for_each_pool([&](Pool &pool) {
    if (!pool.may_change_by_wait()) return;
    mark(pool.ranges);
    system.release_beyond_threshold(pool);
  });
}

}  // namespace

void System::observe(std::span<const Observed> observed) {
  if (observed.empty()) return;
  observe_in_pools(*this, [&](PoolRanges &ranges) {
    for (const Observed &each : observed) ranges.observe(each.stream, each.serial);
  });
}

void System::observe_complete(const Context &context) {
  observe_in_pools(*this, [&](PoolRanges &ranges) { ranges.observe_complete(&context); });
}

}  // namespace cushim::sim
