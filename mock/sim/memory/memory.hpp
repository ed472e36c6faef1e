// SPDX-License-Identifier: Apache-2.0
// The memory of a simulated machine. A device's addresses are a range that the host cannot access; the bytes
// are in another mapping, and bytes() translates. Pinned, registered and managed memory is host memory.
#pragma once

#include <cuda.h>
#include <cushim/detail/memory_kind.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "ipc/share_table.hpp"
#include "memory/managed_pages.hpp"
#include "memory/virtual_memory.hpp"
#include "memory/zeros.hpp"
#include "objects/context.hpp"
#include "objects/device.hpp"

namespace cushim::sim {

struct Pool;

// The mapping of an allocation that another process exported.
struct MemoryImport {
  ShareHandle handle;  // passed to cuIpcOpenMemHandle
  int opens = 1;
  std::byte *addresses = nullptr;  // address range of whole chunks; not accessible to the host
  std::byte *bytes = nullptr;
  std::size_t mapped = 0;  // size of both mappings
  std::vector<Piece> pieces;
};

struct Allocation {
  CUdeviceptr base = 0;
  std::size_t size = 0;
  MemoryKind kind = MemoryKind::device;
  unsigned flags = 0;  // of the call that made it
  Context *context = nullptr;
  Device *device = nullptr;
  unsigned long long id = 0;
  Pool *pool = nullptr;       // if it is a range of a pool's block
  bool is_of_array = false;   // memory of an array, hidden from the program
  bool is_of_module = false;  // a variable of a module; freed with the module
  bool is_freed = false;      // in stream order: the program must not use it any more
  bool is_ending = false;     // a call waits for its users and then releases it
  bool synchronizes = false;  // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS

  std::unique_ptr<ManagedPages> pages;      // null until a call needs them
  std::unique_ptr<MemoryExport> exported;   // if other processes may open it
  std::unique_ptr<MemoryImport> imported;   // if another process exported it
  std::unique_ptr<VirtualMapping> mapping;  // if it is mapped into a reserved range

  std::vector<Work> users;  // work that reads or writes it, also in other contexts

  CUdeviceptr end() const noexcept { return base + size; }

  // Returns whether new work may use the allocation.
  bool is_usable() const noexcept {
    return !is_freed && !is_ending && (context == nullptr || context->is_alive);
  }

  // Reserves memory for one more user. Removes users that are complete or have a later user in their stream
  // when the list is full: amortized O(1) per user. Throws std::bad_alloc.
  void reserve_user();
  // Adds a user; reserve_user() must have been called for it. Ignores a user that was added last.
  void add_user(const Work &work) noexcept {
    while (!users.empty() && sim::is_complete(users.back())) users.pop_back();
    if (!users.empty() && (users.back() == work || work->follows(*users.back()))) users.pop_back();
    users.push_back(work);
  }
};

class Memory {
 public:
  // The granularity of a device's memory accounting, measured on an H200; small allocations share a block.
  static constexpr std::size_t kBlock = SharedBlocks::kBlock;
  static constexpr std::size_t kAlignment = 512;

  explicit Memory(const std::vector<std::unique_ptr<Device>> &devices);
  ~Memory();

  // Returns the bytes of a device's memory in allocations and in physical memory; unused memory of pools does
  // not count.
  std::size_t allocated(const Device &device) const noexcept {
    const Arena &arena = arenas_[static_cast<std::size_t>(device.index)];
    return arena.allocated - arena.idle + device.physical;
  }
  // Returns whether the device has memory for `size` more bytes in blocks of their own.
  static bool has_room(const Device &device, std::size_t size) noexcept {
    return device.used <= device.profile.total_memory && size <= device.profile.total_memory - device.used;
  }

  // allocate() and allocate_on_host() return null if out of memory.
  Allocation *allocate(Device &device, std::size_t size);
  Allocation *allocate_on_host(MemoryKind kind, std::size_t size);
  Allocation &add_registered(void *host, std::size_t size);
  void release(Allocation &allocation);

  // Takes memory for a pool, which no allocation contains yet: of the device, or of the host if `device` is
  // null. Returns 0 if out of memory.
  CUdeviceptr take_block(Device *device, std::size_t size);
  void give_back_block(Device *device, CUdeviceptr base, std::size_t size);
  // Adds an allocation in a pool's block. Freed allocations in the range whose free has not run yet are then
  // found by their id and by kernels only.
  Allocation &add_in_block(Pool &pool, CUdeviceptr base, std::size_t size);
  // Counts an allocation in a block as unused: the program has freed it, although the free may not have run.
  void note_freed(const Allocation &allocation) noexcept;

  // Makes the bytes of a device allocation mappable by other processes. Returns its pieces, rounded to whole
  // chunks; the allocation begins `lead` bytes after the start of the first. Returns an empty vector if
  // memory or file descriptors are exhausted.
  std::vector<Piece> share(const Allocation &allocation, std::size_t &lead);
  // Maps an allocation of another process. Returns null if out of memory.
  Allocation *add_imported(Device &device, FoundMemory found, const ShareHandle &handle);

  // Maps a part of physical memory into a reserved range. Requires that both are valid and that there is no
  // mapping. release() unmaps it. Returns null if the system is out of mappings, with the reason in errno.
  Allocation *map(CUdeviceptr address, std::size_t size, std::shared_ptr<PhysicalMemory> physical,
                  std::size_t offset);

  // Visits the allocation that contains `address` and, if it is a mapping, the adjacent mappings of its
  // reserved range up to `size` bytes. Returns false if they do not contain all bytes.
  template <class Visit>
  bool for_each_in(CUdeviceptr address, std::size_t size, Visit visit);

  // Returns the program's allocation that contains the address; null if there is none. Ignores the memory of
  // arrays.
  Allocation *find(CUdeviceptr address);
  // Returns the allocation with this base address and id; null if it has been released.
  Allocation *find(CUdeviceptr base, unsigned long long id);
  // Returns the allocation that a kernel accesses at this address: find(), or one whose free has not run yet.
  Allocation *find_for_kernel(CUdeviceptr address, std::size_t size);
  // Returns whether [address, address + size) overlaps an allocation. Requires that the range does not wrap
  // around.
  bool overlaps(CUdeviceptr address, std::size_t size);

  // Returns whether the address is in a device's address range or a reserved range, allocated or not.
  bool is_of_device(CUdeviceptr address) const noexcept;

  // Returns the bytes at an address of any memory kind. Poisons device memory on first touch.
  std::byte *bytes(CUdeviceptr address, std::size_t size);

  ReservedRanges reserved;
  PhysicalFiles physical_files;

  template <class Visit>
  void for_each(Visit visit) {
    for (auto &[base, allocation] : allocations_) visit(*allocation);
    for (const auto &allocation : replaced_) visit(*allocation);
  }

 private:
  // A device's address range and its bytes.
  struct Arena {
    CUdeviceptr begin = 0;
    std::size_t size = 0;
    std::byte *bytes = nullptr;
    std::size_t allocated = 0;                // total bytes in allocations and in blocks of pools
    std::size_t idle = 0;                     // bytes of such blocks that are in no allocation
    std::map<std::size_t, std::size_t> free;  // offset to size
    Zeros<bool> touched;                      // by chunk: whether it has been poisoned
    Zeros<unsigned> users;                    // by block: number of allocations in it

    struct Shared {
      std::shared_ptr<SharedBlocks> blocks;
      std::size_t index;  // index of the block in `blocks`
      std::shared_ptr<BlocksHold> hold;
    };
    std::map<std::size_t, Shared> shared;  // by block: blocks that other processes may have mapped
    BlockFiles files;

    bool is_shared(std::size_t chunk) const;
  };

  // Maps memory, which takes no storage until it is written to. Returns null if there is none.
  static std::byte *reserve(std::size_t size, int protection, std::byte *at = nullptr);
  static Arena reserve_arena(std::size_t total);
  static bool has_room(const Arena &arena, const Device &device, std::size_t offset, std::size_t size);
  Arena *arena_of(CUdeviceptr address) noexcept;
  Arena &arena_of(const Device &device) noexcept { return arenas_[static_cast<std::size_t>(device.index)]; }
  static std::optional<std::size_t> take(Arena &arena, Device &device, std::size_t size);
  static void give_back(Arena &arena, Device &device, std::size_t offset, std::size_t size);
  static void forget(Arena &arena, std::size_t offset, std::size_t length);
  void replace(CUdeviceptr base, std::size_t size);
  void release_in_block(const Allocation &allocation);
  void erase(const Allocation &allocation);
  static void use(Arena &arena, Device &device, std::size_t offset, std::size_t length, int by);
  static bool share(Arena &arena, std::size_t block, std::size_t count);
  static void unshare(Arena &arena, std::size_t offset, std::size_t length);
  static void poison_shared(Arena &arena, std::size_t offset, std::size_t length);
  static void touch(Arena &arena, std::size_t chunk);
  static void touch(const MemoryImport &import, std::size_t offset, std::size_t size);
  using Allocations = std::map<CUdeviceptr, std::unique_ptr<Allocation>>;
  // Makes a map node before the map is changed, so that add() cannot throw.
  static Allocations::node_type make_node();
  Allocation &add(Allocations::node_type &&node);
  MemoryImport *import_of(CUdeviceptr address) const;
  std::byte *bytes_of_mapping(const Allocation &first, CUdeviceptr address, std::size_t size);

  std::vector<Arena> arenas_;  // by the device's index
  Allocations allocations_;
  std::vector<std::unique_ptr<Allocation>> replaced_;  // freed; newer allocations have their addresses
  std::map<CUdeviceptr, std::size_t> host_blocks_;     // sizes of the blocks of pools
  std::size_t imports_ = 0;                            // number of imported allocations
  std::size_t mappings_ = 0;                           // number of allocations that are mappings
  unsigned long long last_id_ = 0;
};

template <class Visit>
bool Memory::for_each_in(CUdeviceptr address, std::size_t size, Visit visit) {
  Allocation *const first = find(address);
  if (first == nullptr) return false;
  visit(*first);
  if (size <= first->end() - address) return true;
  if (first->mapping == nullptr) return false;
  const ReservedRange &range = *reserved.find(address);
  if (size > range.end() - address) return false;
  CUdeviceptr reached = first->end();
  for (auto next = allocations_.find(reached); reached < address + size; ++next) {
    if (next == allocations_.end() || next->first != reached) return false;
    visit(*next->second);
    reached = next->second->end();
  }
  return true;
}

}  // namespace cushim::sim
