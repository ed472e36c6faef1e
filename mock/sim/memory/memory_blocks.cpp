// SPDX-License-Identifier: Apache-2.0
// Memory of pools: blocks, and the allocations in them.
#include <sys/mman.h>

#include <iterator>

#include "memory/memory.hpp"
#include "memory/pool.hpp"
#include "memory/rounding.hpp"

namespace cushim::sim {

// Takes addresses at the end of the arena, as far as possible from those of other allocations.
std::optional<std::size_t> Memory::take_addresses(Arena &arena, std::size_t size) {
  for (const auto *free = arena.free.last_before(arena.size); free != nullptr;
       free = arena.free.last_before(free->base)) {
    if (free->size < size) continue;
    const std::size_t offset = rounded_down(free->end() - size, kBlock);
    if (offset < free->base) continue;
    arena.free.cut(offset, size);
    return offset;
  }
  return std::nullopt;
}

// May throw, before any change.
void Memory::give_back_addresses(Arena &arena, std::size_t offset, std::size_t length) {
  auto &free = arena.free;
  auto *const before = free.last_before(offset), *const after = free.first_from(offset);
  const bool joins_before = before != nullptr && before->end() == offset;
  const bool joins_after = after != nullptr && after->base == offset + length;
  if (joins_before && joins_after) length += free.extract(after->base)->size;
  if (joins_before)
    free.resize(*before, before->base, before->size + length);
  else if (joins_after)
    free.resize(*after, offset, after->size + length);
  else
    free.insert(offset, length);
}

CUdeviceptr Memory::take_window(const Pool &pool, std::size_t size) {
  if (pool.kind != MemoryKind::device) return take_host_block(size, pool.handle_types != 0);
  Arena &arena = arena_of(*pool.device);
  const auto offset = take_addresses(arena, size);
  if (!offset) return 0;
  take_numbers(arena, *offset);
  return arena.begin + *offset;
}

void Memory::give_back_window(const Pool &pool, CUdeviceptr base, std::size_t size) {
  if (pool.kind == MemoryKind::device) {
    Arena &arena = arena_of(*pool.device);
    const std::size_t offset = base - arena.begin;
    unshare(arena, offset, size);
    give_back_numbers(arena, offset);
    return give_back_addresses(arena, offset, size);
  }
  munmap(reinterpret_cast<void *>(base), size);
  host_blocks_.erase(base);
}

bool Memory::has_room(const Pool &pool, std::size_t size) {
  if (pool.kind != MemoryKind::device) return true;
  const std::size_t total = pool.device->profile.total_memory, allocated = arena_of(*pool.device).allocated;
  return has_room(*pool.device, size) && allocated <= total && size <= total - allocated;
}

void Memory::take_chunk(const Pool &pool, CUdeviceptr base, std::size_t size) {
  if (pool.kind != MemoryKind::device) return;
  Arena &arena = arena_of(*pool.device);
  use(arena, *pool.device, base - arena.begin, size, 1);
  arena.allocated += size;
  arena.idle += size;
  poison_shared(arena, base - arena.begin, size);
}

void Memory::give_back_chunk(const Pool &pool, CUdeviceptr base, std::size_t size) {
  if (pool.kind != MemoryKind::device) {
    if (pool.handle_types == 0) madvise(reinterpret_cast<void *>(base), size, MADV_DONTNEED);
    return;
  }
  Arena &arena = arena_of(*pool.device);
  const std::size_t offset = base - arena.begin;
  use(arena, *pool.device, offset, size, -1);
  arena.allocated -= size;
  arena.idle -= size;
  unshare(arena, offset, size);
  forget(arena, offset, size);
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
  node.mapped().number = NumberHold(numbers_, take_pair(numbers_));
  host_blocks_.insert(std::move(node));
  return reinterpret_cast<CUdeviceptr>(host);
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
  if (pool.kind == MemoryKind::device) {
    Arena &arena = arena_of(*pool.device);
    arena.idle -= rounded_up(size, kAlignment);
    note_unwritten(arena, base - arena.begin, size);
  }
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
