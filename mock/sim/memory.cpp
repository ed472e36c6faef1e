// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"
#include "rounding.hpp"

#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

namespace cushim::sim {

namespace {

constexpr std::size_t kAlignment = 512;
constexpr std::size_t kChunk = SharedBlocks::kChunk;  // poisoned and given back as one
constexpr std::size_t kChunksOfBlock = Memory::kBlock / kChunk;
constexpr int kPoison = SharedBlocks::kPoison;

constexpr std::size_t rounded_down(std::size_t value, std::size_t to) { return value / to * to; }

std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::byte *reserve(std::size_t size, int protection, std::byte *at = nullptr) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at != nullptr ? MAP_FIXED : 0);
  void *place = mmap(at, size, protection, flags, -1, 0);
  if (place == MAP_FAILED) return nullptr;
  madvise(place, size, MADV_DONTDUMP);
  return static_cast<std::byte *>(place);
}

}  // namespace

// Addresses and bytes of a device; less than it has where address space is limited.
Memory::Arena Memory::reserve_arena(std::size_t total) {
  Arena arena;
  // The real driver maps any free memory behind one address. Here a quarter more addresses than bytes keep
  // free memory from being in pieces that are too small.
  const std::size_t whole = rounded_up(total, kBlock), wanted = rounded_up(total + total / 4, kBlock);
  for (std::size_t size = wanted; size != 0; size = size > whole ? whole : rounded_down(size / 2, kBlock)) {
    std::byte *const addresses = reserve(size, PROT_NONE);
    std::byte *const bytes = addresses != nullptr ? reserve(size, PROT_READ | PROT_WRITE) : nullptr;
    // A device that cannot have all leaves as much again for the program.
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
  arena.free.emplace(0, arena.size);
  arena.touched = Zeros<bool>(arena.size / kChunk);
  arena.users = Zeros<unsigned>(arena.size / kBlock);
  return arena;
}

Memory::Memory(const std::vector<std::unique_ptr<Device>> &devices) {
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
  return const_cast<Memory *>(this)->arena_of(address) != nullptr || import_of(address) != nullptr;
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
  device.peak = std::max(device.peak, device.used);
}

// Whether the device has memory for an allocation at this place: for its bytes, and for the blocks that no
// other lies in yet.
bool Memory::has_room(const Arena &arena, const Device &device, std::size_t offset, std::size_t size) {
  const std::size_t total = device.profile.total_memory;
  std::size_t fresh = 0;  // bytes in such blocks
  const std::size_t end = offset + size;
  for (std::size_t block = offset / kBlock; block * kBlock < end; ++block)
    if (arena.users[block] == 0)
      fresh += std::min(end, (block + 1) * kBlock) - std::max(offset, block * kBlock);
  return arena.allocated + size <= total && fresh <= total - std::min(device.used, total);
}

Allocation *Memory::allocate(Device &device, std::size_t size) {
  Arena &arena = arenas_[static_cast<std::size_t>(device.index)];
  if (size > std::min(arena.size, device.profile.total_memory)) return nullptr;
  const std::size_t wanted = rounded_up(size, kAlignment);
  const std::size_t alignment = size < kBlock ? kAlignment : kBlock;
  for (auto place = arena.free.begin(); place != arena.free.end(); ++place) {
    const auto [start, length] = *place;
    const std::size_t offset = rounded_up(start, alignment);
    if (length < wanted + (offset - start) || !has_room(arena, device, offset, size)) continue;
    arena.free.erase(place);
    if (offset > start) arena.free.emplace(start, offset - start);
    if (start + length > offset + wanted)
      arena.free.emplace(offset + wanted, start + length - offset - wanted);
    use(arena, device, offset, wanted, 1);
    arena.allocated += wanted;
    poison_shared(arena, offset, wanted);
    auto made = std::make_unique<Allocation>();
    made->base = arena.begin + offset;
    made->size = size;
    made->device = &device;
    return &add(std::move(made));
  }
  return nullptr;
}

Allocation *Memory::allocate_on_host(MemoryKind kind, std::size_t size) {
  const std::size_t page = page_size();
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
  allocation.exported.reset();
  if (allocation.imported != nullptr) {
    const MemoryImport &import = *allocation.imported;
    munmap(import.addresses, import.mapped);
    munmap(import.bytes, import.mapped);
    --imports_;
  } else if (allocation.kind == MemoryKind::device) {
    Arena &arena = arenas_[static_cast<std::size_t>(allocation.device->index)];
    std::size_t offset = allocation.base - arena.begin;
    std::size_t length = rounded_up(allocation.size, kAlignment);
    use(arena, *allocation.device, offset, length, -1);
    arena.allocated -= length;
    unshare(arena, offset, length);
    // Whole chunks go back to the system; all is poison again for whoever comes next.
    const std::size_t end = offset + length;
    for (std::size_t chunk = offset / kChunk; chunk * kChunk < end; ++chunk) {
      const std::size_t from = std::max(offset, chunk * kChunk), to = std::min(end, (chunk + 1) * kChunk);
      if (!arena.touched[chunk] || arena.is_shared(chunk)) continue;
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
    munmap(reinterpret_cast<void *>(allocation.base), rounded_up(allocation.size, page_size()));
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
  if (arena == nullptr) {
    const MemoryImport *const import = import_of(address);
    if (import == nullptr) return reinterpret_cast<std::byte *>(address);
    const std::size_t offset = address - reinterpret_cast<CUdeviceptr>(import->addresses);
    touch(*import, offset, size);
    return import->bytes + offset;
  }
  const std::size_t offset = address - arena->begin;
  for (std::size_t chunk = offset / kChunk; chunk * kChunk < offset + size; ++chunk)
    if (!arena->touched[chunk]) touch(*arena, chunk);
  return arena->bytes + offset;
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

// ---- Shared with other processes ----

bool Memory::Arena::is_shared(std::size_t chunk) const { return shared.contains(chunk / kChunksOfBlock); }

// What was freed there kept its bytes for those who have it mapped, until somebody comes who gets the place.
void Memory::poison_shared(Arena &arena, std::size_t offset, std::size_t length) {
  const std::size_t end = offset + length;
  for (auto place = arena.shared.lower_bound(offset / kBlock);
       place != arena.shared.end() && place->first * kBlock < end; ++place) {
    const auto &[block, shared] = *place;
    for (std::size_t i = 0; i < kChunksOfBlock; ++i) {
      const std::size_t chunk = block * kBlock + i * kChunk;
      const std::size_t from = std::max(offset, chunk), to = std::min(end, chunk + kChunk);
      if (from < to && shared.blocks->is_touched(shared.index * kChunksOfBlock + i))
        std::memset(arena.bytes + from, kPoison, to - from);
    }
  }
}

// Moves blocks into a file of their own, at the same addresses.
bool Memory::share(Arena &arena, std::size_t block, std::size_t count) {
  std::uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof nonce, 0) < 0) return false;
  const auto blocks = SharedBlocks::make(count * kBlock, nonce);
  if (blocks == nullptr) return false;
  const std::size_t first = block * kChunksOfBlock;
  for (std::size_t chunk = 0; chunk < count * kChunksOfBlock; ++chunk)
    if (arena.touched[first + chunk] && !blocks->fill(chunk, arena.bytes + (first + chunk) * kChunk))
      return false;
  if (blocks->file().map(0, count * kBlock, arena.bytes + block * kBlock) == nullptr) return false;
  for (std::size_t i = 0; i < count; ++i) arena.shared.emplace(block + i, Arena::Shared{blocks, i});
  return true;
}

// Takes blocks that no allocation lies in any more out of their files. Who has them mapped keeps them.
void Memory::unshare(Arena &arena, std::size_t offset, std::size_t length) {
  const std::size_t end = (offset + length - 1) / kBlock;
  for (auto place = arena.shared.lower_bound(offset / kBlock);
       place != arena.shared.end() && place->first <= end;) {
    const std::size_t block = place->first;
    // If there is no memory for the map of the process, they stay as they are.
    if (arena.users[block] != 0 ||
        reserve(kBlock, PROT_READ | PROT_WRITE, arena.bytes + block * kBlock) == nullptr) {
      ++place;
      continue;
    }
    for (std::size_t i = 0; i < kChunksOfBlock; ++i) arena.touched[block * kChunksOfBlock + i] = false;
    place = arena.shared.erase(place);
  }
}

std::vector<Piece> Memory::share(const Allocation &allocation, std::size_t &lead) {
  Arena &arena = arenas_[static_cast<std::size_t>(allocation.device->index)];
  const std::size_t offset = allocation.base - arena.begin;
  const std::size_t begin = rounded_down(offset, kChunk);
  const std::size_t end = rounded_up(offset + allocation.size, kChunk);
  const auto is_shared = [&](std::size_t block) { return arena.shared.contains(block); };
  const std::size_t last = (end - 1) / kBlock;
  for (std::size_t block = begin / kBlock; block <= last; ++block) {
    if (is_shared(block)) continue;
    std::size_t count = 1;
    while (block + count <= last && !is_shared(block + count)) ++count;
    if (!share(arena, block, count)) return {};
  }
  std::vector<Piece> pieces;
  for (std::size_t from = begin; from < end;) {
    const Arena::Shared &shared = arena.shared.at(from / kBlock);
    const std::size_t to = std::min(end, rounded_down(from, kBlock) + kBlock);
    if (!pieces.empty() && pieces.back().blocks == shared.blocks)
      pieces.back().size += to - from;
    else
      pieces.push_back({shared.blocks, shared.index * kBlock + from % kBlock, to - from});
    from = to;
  }
  lead = offset - begin;
  return pieces;
}

Allocation *Memory::add_imported(Device &device, FoundMemory found, const ShareHandle &handle) {
  auto import = std::make_unique<MemoryImport>();
  for (const Piece &piece : found.pieces) import->mapped += piece.size;
  if (import->mapped == 0 || found.lead > import->mapped || found.size > import->mapped - found.lead)
    return nullptr;
  import->addresses = reserve(import->mapped, PROT_NONE);
  import->bytes = import->addresses != nullptr ? reserve(import->mapped, PROT_NONE) : nullptr;
  bool is_mapped = import->bytes != nullptr;
  std::size_t at = 0;
  for (const Piece &piece : found.pieces) {
    is_mapped =
        is_mapped && piece.blocks->file().map(piece.offset, piece.size, import->bytes + at) != nullptr;
    at += piece.size;
  }
  if (!is_mapped) {
    if (import->bytes != nullptr) munmap(import->bytes, import->mapped);
    if (import->addresses != nullptr) munmap(import->addresses, import->mapped);
    return nullptr;
  }
  import->handle = handle;
  import->pieces = std::move(found.pieces);
  auto made = std::make_unique<Allocation>();
  made->base = reinterpret_cast<CUdeviceptr>(import->addresses) + found.lead;
  made->size = found.size;
  made->device = &device;
  made->imported = std::move(import);
  ++imports_;
  return &add(std::move(made));
}

MemoryImport *Memory::import_of(CUdeviceptr address) const {
  if (imports_ == 0) return nullptr;
  const Allocation *const allocation = const_cast<Memory *>(this)->find(address);
  return allocation != nullptr ? allocation->imported.get() : nullptr;
}

void Memory::touch(const MemoryImport &import, std::size_t offset, std::size_t size) {
  std::size_t begin = 0;  // of the piece
  for (const Piece &piece : import.pieces) {
    const std::size_t from = std::max(offset, begin), to = std::min(offset + size, begin + piece.size);
    for (std::size_t chunk = from < to ? (piece.offset + from - begin) / kChunk : 0;
         from < to && chunk * kChunk < piece.offset + to - begin; ++chunk)
      if (!piece.blocks->is_touched(chunk))
        piece.blocks->touch(chunk, import.bytes + begin + chunk * kChunk - piece.offset);
    begin += piece.size;
  }
}

}  // namespace cushim::sim
