// SPDX-License-Identifier: Apache-2.0
// The memory state that the checks of kernels need: red zones, freed ranges, and bytes that were never
// written.
#include <cushim/detail/kernel_checks.hpp>

#include "memory/chunks.hpp"
#include "memory/memory.hpp"

namespace cushim::sim {

namespace {

// Addresses behind an allocation that belong to none.
constexpr std::size_t kRedZone = 4096;
static_assert(kRedZone % Memory::kAlignment == 0);
// Freed ranges to remember.
constexpr std::size_t kFreedRanges = 1024;

}  // namespace

std::optional<std::size_t> Memory::take(Arena &arena, Device &device, std::size_t size, Owner owner) {
  const std::size_t red_zone = mock::EnabledKernelCheck::is_on(mock::KernelCheck::memory) ? kRedZone : 0;
  auto offset = take(arena, device, size, owner, red_zone);
  if (!offset && end_quarantine(arena, 0)) offset = take(arena, device, size, owner, red_zone);
  if (!offset && red_zone != 0) offset = take(arena, device, size, owner, 0);
  return offset;
}

bool Memory::is_mapped_for_kernel(const Device &device, CUdeviceptr address, std::size_t size) {
  const Arena &arena = arena_of(device);
  if (mock::EnabledKernelCheck::is_on(mock::KernelCheck::memory) || address < arena.begin ||
      address - arena.begin >= arena.size || size > arena.size - (address - arena.begin))
    return false;
  const std::size_t offset = address - arena.begin;
  for (std::size_t block = offset / kBlock; block * kBlock < offset + size; ++block)
    if (arena.users[block] == 0) return false;
  return true;
}

bool Memory::end_quarantine(Arena &arena, std::size_t most) {
  bool any = false;
  while (arena.quarantined > most) {
    const auto [offset, length] = arena.quarantine.front();
    give_back_addresses(arena, offset, length);
    arena.quarantine.pop_front();
    arena.quarantined -= length;
    any = true;
  }
  return any;
}

void Memory::note_freed_range(const Allocation &allocation) {
  if (allocation.kind != MemoryKind::device || !mock::EnabledKernelCheck::is_on(mock::KernelCheck::memory))
    return;
  freed_.push_back({allocation.base, allocation.size});
  if (freed_.size() > kFreedRanges) freed_.pop_front();
}

const Memory::FreedRange *Memory::find_freed(CUdeviceptr address) const {
  const auto found = std::find_if(freed_.rbegin(), freed_.rend(),
                                  [address](const FreedRange &one) { return address - one.base < one.size; });
  return found != freed_.rend() ? &*found : nullptr;
}

void Memory::note_unwritten(Arena &arena, std::size_t offset, std::size_t size) {
  if (arena.unwritten == nullptr) {
    if (!mock::EnabledKernelCheck::is_on(mock::KernelCheck::init)) return;
    arena.unwritten = std::make_unique<UnwrittenBytes>(arena.size);
  }
  if (mock::EnabledKernelCheck::is_on(mock::KernelCheck::init) && !arena.is_shared(offset / kChunk))
    arena.unwritten->add(offset, size);
  else
    arena.unwritten->remove(offset, size);
}

bool Memory::is_unwritten(CUdeviceptr address, std::size_t size) {
  const Arena *const arena = arena_of(address);
  return arena != nullptr && arena->unwritten != nullptr &&
         arena->unwritten->has(address - arena->begin, size);
}

void Memory::note_written(CUdeviceptr address, std::size_t size) {
  Arena *const arena = arena_of(address);
  if (arena != nullptr && arena->unwritten != nullptr) arena->unwritten->remove(address - arena->begin, size);
}

}  // namespace cushim::sim
