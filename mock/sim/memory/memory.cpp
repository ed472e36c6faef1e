// SPDX-License-Identifier: Apache-2.0
#include "memory/memory.hpp"

#include "memory/chunks.hpp"
#include "memory/pool.hpp"
#include "memory/rounding.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

namespace cushim::sim {

namespace {

// Returns the size of the addresses that an allocation takes. Small allocations share blocks; a large one has
// blocks of its own. Measured, driver 580.
constexpr std::size_t taken_size(std::size_t size) {
  return rounded_up(size, size < Memory::kBlock ? Memory::kAlignment : Memory::kBlock);
}

std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

std::byte *Memory::reserve(std::size_t size, int protection, std::byte *at) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at != nullptr ? MAP_FIXED : 0);
  void *place = mmap(at, size, protection, flags, -1, 0);
  if (place == MAP_FAILED) return nullptr;
  madvise(place, size, MADV_DONTDUMP);
  return static_cast<std::byte *>(place);
}

// Keeps only the last user of each stream, because earlier work of the stream completes before it.
void Allocation::reserve_user() {
  if (users.size() < users.capacity()) return;
  std::vector<unsigned long> seen(std::bit_ceil(2 * users.size() + 1));  // ids of streams, hashed; 0: none
  const auto is_first = [&seen](unsigned long stream) {
    std::size_t bucket = stream & (seen.size() - 1);
    while (seen[bucket] != 0 && seen[bucket] != stream) bucket = (bucket + 1) & (seen.size() - 1);
    return std::exchange(seen[bucket], stream) == 0;
  };
  for (auto user = users.rbegin(); user != users.rend(); ++user)
    if (!sim::is_complete(*user) && !is_first((*user)->stream)) *user = nullptr;
  std::erase_if(users, [](const Work &user) { return sim::is_complete(user); });
  const std::size_t room = users.capacity();
  if (2 * users.size() >= room) users.reserve(std::max<std::size_t>(4, 2 * room));
}

// Reserves the addresses and bytes of a device; fewer than the profile's total memory if address space is
// limited.
Memory::Arena Memory::reserve_arena(std::size_t total) {
  Arena arena;
  // The real driver can map any free memory at contiguous addresses. Here 25 % more addresses than bytes
  // limit fragmentation.
  const std::size_t whole = rounded_up(total, kBlock), wanted = rounded_up(total + total / 4, kBlock);
  for (std::size_t size = wanted; size != 0; size = size > whole ? whole : rounded_down(size / 2, kBlock)) {
    std::byte *const addresses = reserve(size, PROT_NONE);
    std::byte *const bytes = addresses != nullptr ? reserve(size, PROT_READ | PROT_WRITE) : nullptr;
    // If the device cannot have its full size, leaves the same amount of address space to the program.
    std::byte *const rest = bytes != nullptr && size < whole ? reserve(size, PROT_NONE) : nullptr;
    if (rest != nullptr) munmap(rest, size);
    if (bytes != nullptr && (size >= whole || rest != nullptr)) {
      arena.begin = reinterpret_cast<CUdeviceptr>(addresses);
      arena.bytes = bytes;
      arena.size = size;
      break;
    }
    if (bytes != nullptr) munmap(bytes, size);
    if (addresses != nullptr) munmap(addresses, size);
  }
  if (arena.size != 0) arena.free.insert(0, arena.size);
  arena.touched = Zeros<bool>(arena.size / kChunk);
  arena.users = Zeros<unsigned>(arena.size / kBlock);
  arena.owners = Zeros<Owner>(arena.size / kBlock);
  arena.numbers = Zeros<NumberPair>(arena.size / kBlock);
  return arena;
}

Memory::Memory(const std::vector<std::unique_ptr<Device>> &devices, ObjectNumbers &numbers)
    : numbers_(numbers) {
  std::string limited;
  for (const auto &device : devices) {
    const std::size_t total = device->profile.total_memory;
    arenas_.push_back(reserve_arena(total));
    if (arenas_.back().size < total)
      limited += (limited.empty() ? "" : ", ") + std::to_string(arenas_.back().size) + " of the " +
                 std::to_string(total) + " bytes of device " + std::to_string(device->index);
  }
  if (!limited.empty())
    std::fprintf(stderr, "cushim[sim]: address space is limited (ulimit -v): there is room for %s\n",
                 limited.c_str());
}

Memory::~Memory() {
  while (!allocations_.empty()) release(*allocations_.begin()->second);
  for (const auto &[base, block] : host_blocks_) munmap(reinterpret_cast<void *>(base), block.size);
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
  return const_cast<Memory *>(this)->arena_of(address) != nullptr || is_imported(address) ||
         reserved.has(address);
}

Memory::Allocations::node_type Memory::make_node() {
  Allocations made;
  made.emplace(0, std::make_unique<Allocation>());
  return made.extract(made.begin());
}

Allocation &Memory::add(Allocations::node_type &&node) {
  Allocation &added = *node.mapped();
  added.id = ++last_id_;
  node.key() = added.base;
  allocations_.insert(std::move(node));
  return added;
}

// Counts an allocation in its blocks: `by` is 1 to add and -1 to remove.
void Memory::use(Arena &arena, Device &device, std::size_t offset, std::size_t length, int by, Owner owner) {
  for (std::size_t block = offset / kBlock; block * kBlock < offset + length; ++block) {
    unsigned &users = arena.users[block];
    if (users == 0) device.used += kBlock, arena.owners[block] = owner;
    users += static_cast<unsigned>(by);
    if (users == 0) device.used -= kBlock;
  }
  device.peak = std::max(device.peak, device.used);
}

// Returns whether the device has memory for an allocation at this offset: for its bytes, and for the blocks
// that no allocation uses yet.
bool Memory::has_room(const Arena &arena, const Device &device, std::size_t offset, std::size_t size) {
  const std::size_t total = device.profile.total_memory;
  std::size_t fresh = 0;  // bytes in unused blocks
  const std::size_t end = offset + size;
  for (std::size_t block = offset / kBlock; block * kBlock < end; ++block)
    if (arena.users[block] == 0)
      fresh += std::min(end, (block + 1) * kBlock) - std::max(offset, block * kBlock);
  return arena.allocated + size <= total && fresh <= total - std::min(device.used, total);
}

// Takes a range of a device's memory. Returns its offset; nothing if out of memory.
std::optional<std::size_t> Memory::take(Arena &arena, Device &device, std::size_t size, Owner owner,
                                        std::size_t red_zone) {
  if (size > std::min(arena.size, device.profile.total_memory)) return std::nullopt;
  const std::size_t wanted = taken_size(size), taken = wanted + red_zone;
  const auto fits_in_own_block = [&](std::size_t offset, std::size_t end) {
    const std::size_t block = offset / kBlock;
    return offset % kBlock + wanted <= kBlock && offset + taken <= end && arena.users[block] != 0 &&
           arena.owners[block] == owner && has_room(arena, device, offset, size);
  };
  const auto take_at = [&](std::size_t offset) {
    arena.free.cut(offset, taken);
    if (red_zone != 0) arena.red_zones[offset] = red_zone;
    use(arena, device, offset, wanted, 1, owner);
    arena.allocated += rounded_up(size, kAlignment);
    poison_shared(arena, offset, wanted);
    note_unwritten(arena, offset, size);
    return offset;
  };
  const auto next = [&](const auto *free) { return arena.free.first_of_size(taken, free->end()); };
  // A small allocation begins a block only if it fits in no block of its owner. Measured, driver 580.
  if (wanted < kBlock)
    for (const auto *free = arena.free.first_of_size(taken); free != nullptr; free = next(free)) {
      const std::size_t start = free->base, end = free->end(), last_block = rounded_down(end - 1, kBlock);
      if (fits_in_own_block(start, end)) return take_at(start);
      if (last_block > start && fits_in_own_block(last_block, end)) return take_at(last_block);
    }
  for (const auto *free = arena.free.first_of_size(taken); free != nullptr; free = next(free)) {
    const std::size_t start = free->base;
    const bool is_unused = start % kBlock == 0 && arena.users[start / kBlock] == 0;
    const std::size_t offset = is_unused ? start : rounded_down(start, kBlock) + kBlock;
    if (offset + taken > free->end() || arena.users[offset / kBlock] != 0) continue;
    if (has_room(arena, device, offset, size)) return take_at(offset);
  }
  return std::nullopt;
}

Allocation *Memory::allocate(Device &device, std::size_t size, Owner owner) {
  Arena &arena = arena_of(device);
  auto node = make_node();
  const auto offset = take(arena, device, size, owner);
  if (!offset) return nullptr;
  if (arena.users[*offset / kBlock] == 1) take_numbers(arena, *offset);
  Allocation &made = *node.mapped();
  made.base = arena.begin + *offset;
  made.size = size;
  made.device = &device;
  return &add(std::move(node));
}

Allocation *Memory::allocate_on_host(MemoryKind kind, std::size_t size) {
  const std::size_t page = page_size();
  if (size > SIZE_MAX - page) return nullptr;
  auto node = make_node();
  std::byte *const host = reserve(rounded_up(size, page), PROT_READ | PROT_WRITE);
  if (host == nullptr) return nullptr;
  Allocation &made = *node.mapped();
  made.base = reinterpret_cast<CUdeviceptr>(host);
  made.size = size;
  made.kind = kind;
  return &add(std::move(node));
}

Allocation &Memory::add_registered(void *host, std::size_t size) {
  auto node = make_node();
  Allocation &made = *node.mapped();
  made.base = reinterpret_cast<CUdeviceptr>(host);
  made.size = size;
  made.kind = MemoryKind::registered;
  return add(std::move(node));
}

// Calls `visit` with each chunk of the bytes, and with the offset and the size of the part in it.
template <class Visit>
void Memory::for_each_chunk(std::size_t offset, std::size_t size, Visit visit) {
  const std::size_t end = offset + size;
  for (std::size_t chunk = offset / kChunk; chunk * kChunk < end; ++chunk) {
    const std::size_t from = std::max(offset, chunk * kChunk);
    visit(chunk, from, std::min(end, (chunk + 1) * kChunk) - from);
  }
}

// Makes the bytes undefined: whole chunks go back to the system, the rest is poisoned again.
void Memory::forget(Arena &arena, std::size_t offset, std::size_t length) {
  for_each_chunk(offset, length, [&](std::size_t chunk, std::size_t from, std::size_t size) {
    if (!arena.touched[chunk] || arena.is_shared(chunk)) return;
    if (size == kChunk) {
      madvise(arena.bytes + from, kChunk, MADV_DONTNEED);
      arena.touched[chunk] = false;
    } else {
      std::memset(arena.bytes + from, kPoison, size);
    }
  });
}

// Gives back what take() took.
void Memory::give_back(Arena &arena, Device &device, std::size_t offset, std::size_t size) {
  const std::size_t length = taken_size(size);
  const auto red_zone = arena.red_zones.find(offset);
  if (red_zone == arena.red_zones.end()) {
    give_back_addresses(arena, offset, length);  // may throw, so it comes before any change
  } else {
    const std::size_t whole = length + red_zone->second;
    arena.quarantine.emplace_back(offset, whole);
    arena.quarantined += whole;
    arena.red_zones.erase(red_zone);
  }
  use(arena, device, offset, length, -1);
  arena.allocated -= rounded_up(size, kAlignment);
  unshare(arena, offset, length);
  forget(arena, offset, length);
  end_quarantine(arena, kQuarantine);
}

void Memory::erase(const Allocation &allocation) {
  const auto is_it = [&](const auto &other) { return other.get() == &allocation; };
  if (std::erase_if(replaced_, is_it) == 0) allocations_.erase(allocation.base);
}

void Memory::release(Allocation &allocation) {
  note_freed_range(allocation);
  if (allocation.imported != nullptr) {
    --imports_;
  } else if (allocation.mapping != nullptr) {
    allocation.mapping->unmap(allocation.base);
    note_mapping(allocation, nullptr);
    if (allocation.mapping->is_external) reserved.free(*allocation.mapping->range);
  } else if (allocation.pool != nullptr) {
    release_in_block(allocation);
  } else if (allocation.kind == MemoryKind::device) {
    Arena &arena = arena_of(*allocation.device);
    const std::size_t offset = allocation.base - arena.begin;
    give_back(arena, *allocation.device, offset, allocation.size);
    if (arena.users[offset / kBlock] == 0) give_back_numbers(arena, offset);
  } else if (allocation.kind != MemoryKind::registered) {
    munmap(reinterpret_cast<void *>(allocation.base), rounded_up(allocation.size, page_size()));
  }
  erase(allocation);
}

Allocation *Memory::find(CUdeviceptr address) {
  if (ReservedRange *const range = reserved.find(address)) {
    Allocation *const mapping = range->mapping_at(address);
    // A buffer of external memory need not fill its granules.
    return mapping != nullptr && address - mapping->base < mapping->size ? mapping : nullptr;
  }
  auto place = allocations_.upper_bound(address);
  if (place == allocations_.begin()) return nullptr;
  Allocation &allocation = *std::prev(place)->second;
  return address < allocation.end() && !allocation.is_of_array ? &allocation : nullptr;
}

Allocation *Memory::find(CUdeviceptr base, unsigned long long id) {
  const auto place = allocations_.find(base);
  if (place != allocations_.end() && place->second->id == id) return place->second.get();
  const auto replaced = std::ranges::find(replaced_, id, &Allocation::id);
  return replaced != replaced_.end() ? replaced->get() : nullptr;
}

Allocation *Memory::find_for_kernel(CUdeviceptr address, std::size_t size) {
  const auto has = [&](const Allocation &allocation) {
    return allocation.base <= address && address < allocation.end() && size <= allocation.end() - address;
  };
  Allocation *const found = find(address);
  if (found != nullptr && has(*found)) return found;
  for (const auto &replaced : replaced_)
    if (has(*replaced)) return replaced.get();
  return nullptr;
}

bool Memory::overlaps(CUdeviceptr address, std::size_t size) {
  if (find(address) != nullptr) return true;
  const auto next = allocations_.upper_bound(address);
  return next != allocations_.end() && next->first < address + size;
}

std::byte *Memory::bytes_to_read(CUdeviceptr address, std::size_t size) {
  Arena *const arena = arena_of(address);
  if (arena == nullptr) {
    const bool is_own = reserved.find(address) == nullptr && imports_ == 0;  // memory of the host
    Allocation *const allocation = is_own ? nullptr : find(address);
    if (allocation != nullptr && allocation->mapping != nullptr)
      return bytes_of_mapping(*allocation, address, size);
    if (allocation == nullptr || allocation->imported == nullptr || allocation->kind != MemoryKind::device)
      return reinterpret_cast<std::byte *>(address);
    const ImportedBlocks &blocks = *allocation->imported->blocks;
    const std::size_t offset = address - blocks.base();
    sim::touch(*blocks.found.piece.blocks, blocks.found.piece.offset + offset, size, blocks.bytes + offset);
    return blocks.bytes + offset;
  }
  const std::size_t offset = address - arena->begin;
  for (std::size_t chunk = offset / kChunk; chunk * kChunk < offset + size; ++chunk)
    if (!arena->touched[chunk]) touch(*arena, chunk);
  return arena->bytes + offset;
}

void Memory::clear(CUdeviceptr address, std::size_t size) {
  note_written(address, size);
  Arena *const arena = arena_of(address);
  if (arena == nullptr) {
    std::memset(bytes(address, size), 0, size);
    return;
  }
  for_each_chunk(address - arena->begin, size, [&](std::size_t chunk, std::size_t from, std::size_t part) {
    if (part == kChunk && !arena->is_shared(chunk)) {
      if (arena->touched[chunk]) madvise(arena->bytes + from, kChunk, MADV_DONTNEED);
      arena->touched[chunk] = true;
    } else {
      if (!arena->touched[chunk]) touch(*arena, chunk);
      std::memset(arena->bytes + from, 0, part);
    }
  });
}

void Memory::touch(Arena &arena, std::size_t chunk) {
  std::byte *const bytes = arena.bytes + chunk * kChunk;
  if (arena.is_shared(chunk)) {
    const Arena::Shared &shared = arena.shared.at(chunk / kChunksOfBlock);
    shared.blocks->touch(shared.index * kChunksOfBlock + chunk % kChunksOfBlock, bytes);
  } else {
    std::memset(bytes, kPoison, kChunk);
  }
  arena.touched[chunk] = true;
}

}  // namespace cushim::sim
