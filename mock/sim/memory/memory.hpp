// SPDX-License-Identifier: Apache-2.0
// The memory of a simulated machine. A device's addresses are a range that the host cannot access; the bytes
// are in another mapping, and bytes() translates. Pinned, registered and managed memory is host memory.
#pragma once

#include <cuda.h>
#include <cushim/detail/memory_kind.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "ipc/share_table.hpp"
#include "memory/imported_blocks.hpp"
#include "memory/managed_pages.hpp"
#include "memory/multicast.hpp"
#include "memory/range_tree.hpp"
#include "memory/unwritten_bytes.hpp"
#include "memory/virtual_memory.hpp"
#include "memory/zeros.hpp"
#include "objects/context.hpp"
#include "objects/device.hpp"

namespace cushim::sim {

struct GraphMemory;
struct Pool;

struct Allocation {
  CUdeviceptr base = 0;
  std::size_t size = 0;
  MemoryKind kind = MemoryKind::device;
  unsigned flags = 0;  // of the call that made it
  Context *context = nullptr;
  Device *device = nullptr;
  unsigned long long id = 0;
  Pool *pool = nullptr;                 // if it is a range of a pool's block, or of a pool of another process
  GraphMemory *graph_memory = nullptr;  // if an allocation node of a graph has it
  bool is_of_array = false;             // memory of an array, hidden from the program
  bool is_of_module = false;            // a variable of a module; freed with the module
  bool is_freed = false;                // in stream order: the program must not use it any more
  bool is_ending = false;               // a call waits for its users and then releases it
  bool synchronizes = false;            // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS

  std::shared_ptr<const void> numbered;     // the owner of the numbers of pinned and registered memory
  ManagedPlace managed;                     // if it is managed memory; without pages until a call needs them
  std::unique_ptr<MemoryImport> imported;   // if another process exported it
  std::unique_ptr<VirtualMapping> mapping;  // if it is mapped into a reserved range

  std::vector<Work> users;  // work that reads or writes it, also in other contexts

  CUdeviceptr end() const noexcept { return base + size; }

  // Returns whether it is registered with CU_MEMHOSTREGISTER_READ_ONLY.
  bool is_read_only() const noexcept {
    return kind == MemoryKind::registered && (flags & CU_MEMHOSTREGISTER_READ_ONLY) != 0;
  }

  // Returns whether it is a mapping of a multicast object.
  bool is_multicast() const noexcept { return mapping != nullptr && mapping->physical->multicast != nullptr; }

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
  // Freed bytes of a device whose addresses no allocation gets, while mock::KernelCheck::memory is on.
  static constexpr std::size_t kQuarantine = 256 << 20;

  // `numbers` are those of all memory objects of the process.
  Memory(const std::vector<std::unique_ptr<Device>> &devices, ObjectNumbers &numbers);
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

  // Allocations of different owners are not in one block: those of different contexts, and arrays. Measured,
  // driver 580.
  using Owner = std::uintptr_t;
  static Owner owner_of(const Context &context, bool is_array = false) noexcept {
    return reinterpret_cast<std::uintptr_t>(&context) + (is_array ? 1 : 0);
  }

  // allocate() and allocate_on_host() return null if out of memory.
  Allocation *allocate(Device &device, std::size_t size, Owner owner = 0);
  Allocation *allocate_on_host(MemoryKind kind, std::size_t size);
  Allocation &add_registered(void *host, std::size_t size);
  void release(Allocation &allocation);

  // Takes addresses for a pool, without memory. Returns 0 if there are none.
  CUdeviceptr take_window(const Pool &pool, std::size_t size);
  void give_back_window(const Pool &pool, CUdeviceptr base, std::size_t size);
  // Returns whether there is memory for `size` more bytes of a pool.
  bool has_room(const Pool &pool, std::size_t size);
  // Takes memory for addresses of a window, in which no allocation is yet, and gives it back.
  void take_chunk(const Pool &pool, CUdeviceptr base, std::size_t size);
  void give_back_chunk(const Pool &pool, CUdeviceptr base, std::size_t size);
  // Adds an allocation in a pool's block. Freed allocations in the range whose free has not run yet are then
  // found by their id and by kernels only.
  Allocation &add_in_block(Pool &pool, CUdeviceptr base, std::size_t size);
  // Counts an allocation in a block as unused: the program has freed it, although the free may not have run.
  void note_freed(const Allocation &allocation) noexcept;

  // The blocks that contain a device allocation and no allocation that can be exported separately: the block
  // of small allocations, or all blocks of a large one or of a pool.
  struct Blocks {
    CUdeviceptr base = 0;
    std::size_t size = 0;
  };
  Blocks blocks_of(const Allocation &allocation) const;
  // Moves such blocks into a file that other processes can map, and makes them openable; `pool` is the nonce
  // of their pool, or 0. The first call decides. Host memory, for which `device` is null, is in a file
  // already if its pool can be exported. Returns null if memory, file descriptors or records are exhausted,
  // with the reason in errno.
  const MemoryExport *share(const Device *device, const Blocks &blocks,
                            const std::shared_ptr<ShareTable> &table, std::uint64_t pool = 0);
  // Returns whether share() moves the blocks, which no kernel or copy may use meanwhile.
  bool will_move(const Device *device, const Blocks &blocks) const;

  // Returns the blocks with this key, if they are mapped; else null.
  std::shared_ptr<ImportedBlocks> find_blocks(const ImportedBlocks::Key &key) const;
  // Returns whether no other context has blocks with the number of this key open. Measured, driver 580.
  bool is_open_only_in(const Context &context, const ImportedBlocks::Key &key) const;
  // Maps blocks of another process, of device memory or of pinned memory. Returns null if out of memory.
  std::shared_ptr<ImportedBlocks> map_blocks(const ImportedBlocks::Key &key, FoundBlocks found,
                                             MemoryKind kind = MemoryKind::device);
  // Adds memory in such blocks, which must contain it and no other overlapping memory. `device` is null for
  // host memory.
  Allocation &add_imported(Device *device, std::shared_ptr<ImportedBlocks> blocks, std::size_t offset,
                           std::size_t size);

  // Maps physical memory at an address of a reserved range. The range must contain the whole memory and have
  // no mapping there. release() unmaps it. Returns null if the system is out of mappings, with the reason in
  // errno.
  Allocation *map(CUdeviceptr address, const ReservedRange &range, std::shared_ptr<PhysicalMemory> physical);

  // Maps physical memory into a range of its own, and adds an allocation for a part of it that cuMemFree
  // frees. Returns null like map(), or if address space is exhausted.
  Allocation *map_external(std::shared_ptr<PhysicalMemory> physical, std::size_t offset, std::size_t size);

  // Returns bytes of a multicast object, at an address of its mapping, in the memory of each device; nothing
  // if the bytes are not of one mapping, or not bound to memory of each device.
  std::vector<Multicast::Copy> multicast(CUdeviceptr address, std::size_t size);

  // Visits the allocation that contains `address` and, if it is a mapping, the adjacent mappings of its
  // reserved range up to `size` bytes. Returns false if they do not contain all bytes.
  template <class Visit>
  bool for_each_in(CUdeviceptr address, std::size_t size, Visit visit);
  // The same if `first` contains the address.
  template <class Visit>
  bool for_each_in(Allocation &first, CUdeviceptr address, std::size_t size, Visit visit);

  // Visits the allocations that overlap [address, address + size), in the order of their addresses.
  template <class Visit>
  void for_each_overlapping(CUdeviceptr address, std::size_t size, Visit visit);

  // Returns the program's allocation that contains the address; null if there is none. Ignores the memory of
  // arrays.
  Allocation *find(CUdeviceptr address);
  // Returns the allocation with this base address and id; null if it has been released.
  Allocation *find(CUdeviceptr base, unsigned long long id);
  // Returns the allocation that a kernel accesses at this address: find(), or one whose free has not run yet.
  Allocation *find_for_kernel(CUdeviceptr address, std::size_t size);
  // Returns whether all these addresses of a device are in blocks with an allocation: a device maps whole
  // blocks, so its kernels can also access the bytes between allocations, except with
  // mock::KernelCheck::memory.
  bool is_mapped_for_kernel(const Device &device, CUdeviceptr address, std::size_t size);
  // Returns whether [address, address + size) overlaps an allocation. Requires that the range does not wrap
  // around.
  bool overlaps(CUdeviceptr address, std::size_t size);

  // Returns whether the address is in a device's address range or a reserved range, allocated or not.
  bool is_of_device(CUdeviceptr address) const noexcept;

  // Returns the bytes at an address of any memory kind. Poisons device memory on first touch.
  std::byte *bytes_to_read(CUdeviceptr address, std::size_t size);
  // The same for bytes that the caller writes: note_written().
  std::byte *bytes(CUdeviceptr address, std::size_t size) {
    note_written(address, size);
    return bytes_to_read(address, size);
  }
  // Sets bytes to 0. Device memory that is not shared then takes no memory of the machine until it is written
  // to.
  void clear(CUdeviceptr address, std::size_t size);

  // Memory of a device that was allocated while mock::KernelCheck::init was on: whether one of the bytes has
  // not been written since. Other memory counts as written.
  bool is_unwritten(CUdeviceptr address, std::size_t size);
  void note_written(CUdeviceptr address, std::size_t size);
  // The last allocation that contained this address, if it was freed while mock::KernelCheck::memory was on;
  // else null.
  struct FreedRange {
    CUdeviceptr base = 0;
    std::size_t size = 0;
  };
  const FreedRange *find_freed(CUdeviceptr address) const;

  ReservedRanges reserved;
  PhysicalFiles physical_files;
  MulticastObjects multicasts{physical_files};

  template <class Visit>
  void for_each(Visit visit) {
    for (auto &[base, allocation] : allocations_) visit(*allocation);
    for (const auto &allocation : replaced_) visit(*allocation);
  }

 private:
  struct FreeAddresses {};
  // A device's address range and its bytes.
  struct Arena {
    CUdeviceptr begin = 0;
    std::size_t size = 0;
    std::byte *bytes = nullptr;
    std::size_t allocated = 0;      // total bytes in allocations and in blocks of pools
    std::size_t idle = 0;           // bytes of such blocks that are in no allocation
    RangeTree<FreeAddresses> free;  // by offset
    Zeros<bool> touched;            // by chunk: whether it has been poisoned
    Zeros<unsigned> users;          // by block: number of allocations in it
    Zeros<Owner> owners;            // by block with users: the owner of these allocations
    Zeros<NumberPair> numbers;      // by the first block of an allocation or of a pool's window

    struct Shared {
      std::shared_ptr<SharedBlocks> blocks;
      std::size_t index;  // index of the block in `blocks`
      std::shared_ptr<BlocksHold> hold;
      std::shared_ptr<const MemoryExport> exported;
    };
    // For mock::KernelCheck::memory: addresses behind an allocation that none gets, by its offset, and freed
    // ranges that are not given out again yet.
    std::map<std::size_t, std::size_t> red_zones;
    std::deque<std::pair<std::size_t, std::size_t>> quarantine;
    std::size_t quarantined = 0;
    std::unique_ptr<UnwrittenBytes> unwritten;  // null: all bytes count as written

    std::map<std::size_t, Shared> shared;  // by block: blocks that other processes may have mapped
    BlockFiles files;

    bool is_shared(std::size_t chunk) const;
  };

  // A block of a pool of host memory.
  struct HostBlock {
    std::size_t size = 0;
    NumberHold number{};
    Piece piece{};                                   // empty: private memory of the process
    std::shared_ptr<const MemoryExport> exported{};  // null: other processes cannot open it
  };

  // Maps memory, which takes no storage until it is written to. Returns null if there is none.
  static std::byte *reserve(std::size_t size, int protection, std::byte *at = nullptr);
  static Arena reserve_arena(std::size_t total);
  static bool has_room(const Arena &arena, const Device &device, std::size_t offset, std::size_t size);
  Arena *arena_of(CUdeviceptr address) noexcept;
  Arena &arena_of(const Device &device) noexcept { return arenas_[static_cast<std::size_t>(device.index)]; }
  static std::optional<std::size_t> take(Arena &arena, Device &device, std::size_t size, Owner owner);
  static std::optional<std::size_t> take(Arena &arena, Device &device, std::size_t size, Owner owner,
                                         std::size_t red_zone);
  // Gives out freed ranges again until at most `most` bytes are left. Returns whether there was one.
  static bool end_quarantine(Arena &arena, std::size_t most);
  static void note_unwritten(Arena &arena, std::size_t offset, std::size_t size);
  void note_freed_range(const Allocation &allocation);
  static void give_back(Arena &arena, Device &device, std::size_t offset, std::size_t size);
  template <class Visit>
  static void for_each_chunk(std::size_t offset, std::size_t size, Visit visit);
  static std::optional<std::size_t> take_addresses(Arena &arena, std::size_t size);
  static void give_back_addresses(Arena &arena, std::size_t offset, std::size_t length);
  static void forget(Arena &arena, std::size_t offset, std::size_t length);
  CUdeviceptr take_host_block(std::size_t size, bool is_exportable);
  void replace(CUdeviceptr base, std::size_t size);
  void release_in_block(const Allocation &allocation);
  void erase(const Allocation &allocation);
  static void use(Arena &arena, Device &device, std::size_t offset, std::size_t length, int by,
                  Owner owner = 0);
  void take_numbers(Arena &arena, std::size_t offset) noexcept;
  void give_back_numbers(Arena &arena, std::size_t offset) noexcept;
  static const MemoryExport *share(Arena &arena, std::size_t block, std::size_t count,
                                   const std::shared_ptr<ShareTable> &table, const CUuuid &device,
                                   std::uint64_t pool);
  static void unshare(Arena &arena, std::size_t offset, std::size_t length);
  static void poison_shared(Arena &arena, std::size_t offset, std::size_t length);
  static void touch(Arena &arena, std::size_t chunk);
  using Allocations = std::map<CUdeviceptr, std::unique_ptr<Allocation>>;
  // Makes a map node before the map is changed, so that add() cannot throw.
  static Allocations::node_type make_node();
  Allocation &add(Allocations::node_type &&node);
  bool is_imported(CUdeviceptr address) const;
  // Sets what find() returns at the addresses of a mapping.
  void note_mapping(const Allocation &mapping, Allocation *found);
  std::byte *bytes_of_mapping(Allocation &first, CUdeviceptr address, std::size_t size);

  ObjectNumbers &numbers_;
  std::vector<Arena> arenas_;  // by the device's index
  Allocations allocations_;
  std::vector<std::unique_ptr<Allocation>> replaced_;  // freed; newer allocations have their addresses
  std::map<CUdeviceptr, HostBlock> host_blocks_;
  BlockFiles host_files_;  // of the host blocks of pools that can be exported
  std::map<ImportedBlocks::Key, std::weak_ptr<ImportedBlocks>> imported_blocks_;
  std::size_t imported_swept_at_ = 32;
  std::size_t imports_ = 0;  // number of imported allocations
  unsigned long long last_id_ = 0;
  std::deque<FreedRange> freed_;  // newest last
};

template <class Visit>
bool Memory::for_each_in(CUdeviceptr address, std::size_t size, Visit visit) {
  Allocation *const first = find(address);
  return first != nullptr && for_each_in(*first, address, size, visit);
}

template <class Visit>
bool Memory::for_each_in(Allocation &first, CUdeviceptr address, std::size_t size, Visit visit) {
  visit(first);
  if (size <= first.end() - address) return true;
  if (first.mapping == nullptr) return false;
  ReservedRange &range = *reserved.find(address);
  if (size > range.end() - address) return false;
  for (CUdeviceptr reached = first.end(); reached < address + size;) {
    Allocation *const next = range.mapping_at(reached);
    if (next == nullptr || reached - next->base >= next->size) return false;
    visit(*next);
    reached = next->end();
  }
  return true;
}

template <class Visit>
void Memory::for_each_overlapping(CUdeviceptr address, std::size_t size, Visit visit) {
  auto next = allocations_.upper_bound(address);
  if (next != allocations_.begin() && std::prev(next)->second->end() > address) --next;
  for (; next != allocations_.end() && next->first < address + size; ++next) visit(*next->second);
}

}  // namespace cushim::sim
