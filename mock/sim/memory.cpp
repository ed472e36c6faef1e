// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace cushim::sim {

namespace {

constexpr std::size_t kAlignment = 512;
// The device's memory is counted in these, measured on an H200; small allocations share one.
constexpr std::size_t kBlock = 2 << 20;
constexpr std::size_t kChunk = 64 << 10;  // poisoned and given back as one
// What fresh device memory holds: not zero, so that reading what nobody wrote shows.
constexpr int kPoison = 0xA5;

constexpr std::size_t rounded_up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

std::byte *reserve(std::size_t size, int protection) {
  void *place = mmap(nullptr, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) return nullptr;
  madvise(place, size, MADV_DONTDUMP);
  return static_cast<std::byte *>(place);
}

}  // namespace

Memory::Memory(const std::vector<std::unique_ptr<Device>> &devices) {
  for (const auto &device : devices) {
    Arena arena;
    // Where address space is limited (ulimit -v), less than the device has.
    for (std::size_t size = rounded_up(device->profile.total_memory, kChunk); size >= kChunk;
         size = rounded_up(size / 2, kChunk)) {
      std::byte *const addresses = reserve(size, PROT_NONE);
      std::byte *const bytes = addresses != nullptr ? reserve(size, PROT_READ | PROT_WRITE) : nullptr;
      if (bytes != nullptr) {
        arena.begin = reinterpret_cast<CUdeviceptr>(addresses);
        arena.bytes = bytes;
        arena.size = size;
        break;
      }
      if (addresses != nullptr) munmap(addresses, size);
      if (size == kChunk) break;
    }
    if (arena.size < device->profile.total_memory)
      std::fprintf(
          stderr,
          "cushim[sim]: there is address space for %zu of the %zu bytes of device %d only (ulimit -v)\n",
          arena.size, device->profile.total_memory, device->index);
    const std::size_t usable = std::min(arena.size, device->profile.total_memory);
    arena.free.emplace(0, usable / kAlignment * kAlignment);
    arena.touched.resize(arena.size / kChunk);
    arena.users.resize(arena.size / kBlock + 1);
    arenas_.push_back(std::move(arena));
  }
}

Memory::~Memory() {
  while (!allocations_.empty()) release(*allocations_.begin()->second);
  for (const Arena &arena : arenas_) {
    if (arena.size == 0) continue;
    munmap(reinterpret_cast<void *>(arena.begin), arena.size);
    munmap(arena.bytes, arena.size);
  }
}

Memory::Arena *Memory::arena_of(CUdeviceptr address) noexcept {
  for (Arena &arena : arenas_)
    if (address >= arena.begin && address - arena.begin < arena.size) return &arena;
  return nullptr;
}

bool Memory::is_of_device(CUdeviceptr address) const noexcept {
  return const_cast<Memory *>(this)->arena_of(address) != nullptr;
}

Allocation &Memory::add(std::unique_ptr<Allocation> allocation) {
  allocation->id = ++last_id_;
  Allocation &added = *allocation;
  allocations_.emplace(added.base, std::move(allocation));
  return added;
}

// Counts an allocation that comes (by is 1) or goes (-1).
void Memory::use(Arena &arena, Device &device, std::size_t offset, std::size_t length, int by) {
  for (std::size_t block = offset / kBlock; block * kBlock < offset + length; ++block) {
    unsigned &users = arena.users[block];
    if (users == 0) device.used += kBlock;
    users += static_cast<unsigned>(by);
    if (users == 0) device.used -= kBlock;
  }
}

Allocation *Memory::allocate(Device &device, std::size_t size) {
  Arena &arena = arenas_[static_cast<std::size_t>(device.index)];
  if (size > arena.size) return nullptr;
  const std::size_t wanted = rounded_up(size, kAlignment);
  const std::size_t alignment = size < kBlock ? kAlignment : kBlock;
  for (auto place = arena.free.begin(); place != arena.free.end(); ++place) {
    const auto [start, length] = *place;
    const std::size_t offset = rounded_up(start, alignment);
    if (length < wanted + (offset - start)) continue;
    arena.free.erase(place);
    if (offset > start) arena.free.emplace(start, offset - start);
    if (start + length > offset + wanted)
      arena.free.emplace(offset + wanted, start + length - offset - wanted);
    use(arena, device, offset, wanted, 1);
    auto made = std::make_unique<Allocation>();
    made->base = arena.begin + offset;
    made->size = size;
    made->device = &device;
    return &add(std::move(made));
  }
  return nullptr;
}

Allocation *Memory::allocate_on_host(MemoryKind kind, std::size_t size) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (size > SIZE_MAX - page) return nullptr;
  std::byte *const host = reserve(rounded_up(size, page), PROT_READ | PROT_WRITE);
  if (host == nullptr) return nullptr;
  auto made = std::make_unique<Allocation>();
  made->base = reinterpret_cast<CUdeviceptr>(host);
  made->size = size;
  made->kind = kind;
  return &add(std::move(made));
}

Allocation &Memory::add_registered(void *host, std::size_t size) {
  auto made = std::make_unique<Allocation>();
  made->base = reinterpret_cast<CUdeviceptr>(host);
  made->size = size;
  made->kind = MemoryKind::registered;
  return add(std::move(made));
}

void Memory::release(Allocation &allocation) {
  if (allocation.kind == MemoryKind::device) {
    Arena &arena = arenas_[static_cast<std::size_t>(allocation.device->index)];
    std::size_t offset = allocation.base - arena.begin;
    std::size_t length = rounded_up(allocation.size, kAlignment);
    use(arena, *allocation.device, offset, length, -1);
    // Whole chunks go back to the system; all is poison again for whoever comes next.
    const std::size_t end = offset + length;
    for (std::size_t chunk = offset / kChunk; chunk * kChunk < end; ++chunk) {
      const std::size_t from = std::max(offset, chunk * kChunk), to = std::min(end, (chunk + 1) * kChunk);
      if (!arena.touched[chunk]) continue;
      if (to - from == kChunk) {
        madvise(arena.bytes + from, kChunk, MADV_DONTNEED);
        arena.touched[chunk] = false;
      } else {
        std::memset(arena.bytes + from, kPoison, to - from);
      }
    }
    auto after = arena.free.upper_bound(offset);
    if (after != arena.free.end() && offset + length == after->first) {
      length += after->second;
      after = arena.free.erase(after);
    }
    if (after != arena.free.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == offset) {
        offset = before->first;
        length += before->second;
        arena.free.erase(before);
      }
    }
    arena.free.emplace(offset, length);
  } else if (allocation.kind != MemoryKind::registered) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    munmap(reinterpret_cast<void *>(allocation.base), rounded_up(allocation.size, page));
  }
  allocations_.erase(allocation.base);
}

Allocation *Memory::find(CUdeviceptr address) {
  auto place = allocations_.upper_bound(address);
  if (place == allocations_.begin()) return nullptr;
  Allocation &allocation = *std::prev(place)->second;
  return address < allocation.end() ? &allocation : nullptr;
}

bool Memory::overlaps(CUdeviceptr address, std::size_t size) {
  if (find(address) != nullptr) return true;
  const auto next = allocations_.upper_bound(address);
  return next != allocations_.end() && next->first < address + size;
}

std::byte *Memory::bytes(CUdeviceptr address, std::size_t size) {
  Arena *const arena = arena_of(address);
  if (arena == nullptr) return reinterpret_cast<std::byte *>(address);
  const std::size_t offset = address - arena->begin;
  for (std::size_t chunk = offset / kChunk; chunk * kChunk < offset + size; ++chunk) {
    if (arena->touched[chunk]) continue;
    std::memset(arena->bytes + chunk * kChunk, kPoison, kChunk);
    arena->touched[chunk] = true;
  }
  return arena->bytes + offset;
}

}  // namespace cushim::sim
