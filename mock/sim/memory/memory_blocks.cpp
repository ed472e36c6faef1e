// SPDX-License-Identifier: Apache-2.0
// Memory of pools: blocks, and the allocations in them.
#include <sys/mman.h>

#include <iterator>

#include "memory/memory.hpp"
#include "memory/pool.hpp"
#include "memory/rounding.hpp"

namespace cushim::sim {

CUdeviceptr Memory::take_block(const Pool &pool, std::size_t size) {
  if (pool.kind != MemoryKind::device) return take_host_block(size, pool.handle_types != 0);
  Arena &arena = arena_of(*pool.device);
  const auto offset = take(arena, *pool.device, size);
  if (!offset) return 0;
  arena.idle += size;
  return arena.begin + *offset;
}

// The program may write to host memory at any time, so it cannot be moved into a file later.
CUdeviceptr Memory::take_host_block(std::size_t size, bool is_exportable) {
  std::map<CUdeviceptr, HostBlock> made;
  HostBlock &block = made.emplace(0, HostBlock{.size = size}).first->second;
  std::byte *host = nullptr;
  if (!is_exportable) {
    host = reserve(size, PROT_READ | PROT_WRITE);
  } else if (auto blocks = host_files_.with_room(size)) {
    const std::size_t offset = *blocks->take(size);
    host = blocks->file().map(offset, size);
    block.piece = {blocks, offset, size, std::make_shared<BlocksHold>(blocks, offset, size)};
  }
  if (host == nullptr) return 0;
  auto node = made.extract(made.begin());
  node.key() = reinterpret_cast<CUdeviceptr>(host);
  host_blocks_.insert(std::move(node));
  return reinterpret_cast<CUdeviceptr>(host);
}

void Memory::give_back_block(const Pool &pool, CUdeviceptr base, std::size_t size) {
  if (pool.kind != MemoryKind::device) {
    munmap(reinterpret_cast<void *>(base), size);
    host_blocks_.erase(base);
    return;
  }
  Arena &arena = arena_of(*pool.device);
  give_back(arena, *pool.device, base - arena.begin, size);
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
  const std::size_t offset = allocation.base - arena.begin, length = rounded_up(allocation.size, kAlignment);
  forget(arena, offset, length);
  poison_shared(arena, offset, length);
}

}  // namespace cushim::sim
