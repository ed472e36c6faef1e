// SPDX-License-Identifier: Apache-2.0
// Memory of pools: blocks, and the allocations in them.
#include <sys/mman.h>

#include <iterator>

#include "memory/memory.hpp"
#include "memory/pool.hpp"
#include "memory/rounding.hpp"

namespace cushim::sim {

CUdeviceptr Memory::take_block(Device *device, std::size_t size) {
  if (device == nullptr) {
    std::map<CUdeviceptr, std::size_t> made;
    made.emplace(0, size);
    std::byte *const host = reserve(size, PROT_READ | PROT_WRITE);
    if (host == nullptr) return 0;
    auto node = made.extract(made.begin());
    node.key() = reinterpret_cast<CUdeviceptr>(host);
    host_blocks_.insert(std::move(node));
    return reinterpret_cast<CUdeviceptr>(host);
  }
  Arena &arena = arena_of(*device);
  const auto offset = take(arena, *device, size);
  if (!offset) return 0;
  arena.idle += size;
  return arena.begin + *offset;
}

void Memory::give_back_block(Device *device, CUdeviceptr base, std::size_t size) {
  if (device == nullptr) {
    munmap(reinterpret_cast<void *>(base), size);
    host_blocks_.erase(base);
    return;
  }
  Arena &arena = arena_of(*device);
  give_back(arena, *device, base - arena.begin, size);
  arena.idle -= size;
}

// Removes freed allocations from the addresses of a new one.
void Memory::replace(CUdeviceptr base, std::size_t size) {
  auto place = allocations_.lower_bound(base);
  if (place != allocations_.begin() && std::prev(place)->second->end() > base) --place;
  while (place != allocations_.end() && place->first < base + size) {
    replaced_.push_back(nullptr);
    replaced_.back() = std::move(place->second);
    place = allocations_.erase(place);
  }
}

Allocation &Memory::add_in_block(Pool &pool, CUdeviceptr base, std::size_t size) {
  auto node = make_node();
  Allocation &made = *node.mapped();
  made.synchronizes = pool.kind == MemoryKind::managed;  // as cuMemAllocManaged
  replace(base, size);
  made.base = base;
  made.size = size;
  made.pool = &pool;
  made.kind = pool.kind;
  made.device = pool.device;
  if (pool.kind == MemoryKind::device) arena_of(*pool.device).idle -= rounded_up(size, kAlignment);
  return add(std::move(node));
}

void Memory::note_freed(const Allocation &allocation) noexcept {
  if (allocation.kind == MemoryKind::device)
    arena_of(*allocation.device).idle += rounded_up(allocation.size, kAlignment);
}

void Memory::release_in_block(const Allocation &allocation) {
  if (!allocation.is_freed) note_freed(allocation);
  if (allocation.kind != MemoryKind::device) return;
  Arena &arena = arena_of(*allocation.device);
  forget(arena, allocation.base - arena.begin, rounded_up(allocation.size, kAlignment));
}

}  // namespace cushim::sim
