// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: physical memory (cuMemCreate), reserved address ranges (cuMemAddressReserve),
// and the parts of an Allocation that is a mapping of one into the other (cuMemMap).
//
// A reserved range is two ranges of the same size in this process: the addresses, which the host cannot
// access, and the bytes. A mapping maps a part of a file of physical memory into the bytes. So two mappings
// of one physical memory show the same bytes, and accesses may cross from one mapping to the next.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ipc/object_numbers.hpp"
#include "ipc/shared_blocks.hpp"
#include "memory/zeros.hpp"
#include "objects/handle.hpp"

namespace cushim::sim {

struct Allocation;
struct Device;
class Multicast;
struct PhysicalHandle;
struct ReservedRange;

// The granularity of physical memory, mappings and reserved ranges, minimum and recommended. Not measured:
// the size of the blocks in which the driver hands out device memory, which was measured on an H200.
inline constexpr std::size_t kGranularity = SharedBlocks::kBlock;

// A part of a file that holds the bytes of physical memory. Counts in the used memory of its device for its
// lifetime. Handles that the process imports from its own exports share it.
class PhysicalBytes {
 public:
  enum class Holder { file, this_object };  // frees the bytes when it ends
  // `counted_on` is null for memory of the host and of another process.
  PhysicalBytes(std::shared_ptr<SharedBlocks> blocks, std::size_t offset, std::size_t size,
                Device *counted_on, Holder holder);
  ~PhysicalBytes();
  PhysicalBytes(const PhysicalBytes &) = delete;
  PhysicalBytes &operator=(const PhysicalBytes &) = delete;

  std::size_t size() const noexcept { return size_; }

  // Maps them at `at`, over what is mapped there. Returns false on failure, with the reason in errno.
  bool map(std::byte *at) const;
  // Poisons the untouched bytes of a part that is mapped at `mapped`.
  void touch(std::size_t offset, std::size_t size, std::byte *mapped) const {
    sim::touch(*blocks_, offset_ + offset, size, mapped);
  }
  // Returns a new file descriptor, which the caller closes; -1 on failure, with the reason in errno. Only for
  // exportable memory.
  int new_descriptor() const { return blocks_->file().new_descriptor(); }
  // The file's descriptor and nonce, with which PhysicalFiles::open() of another process finds it. Only for
  // exportable memory.
  int file() const noexcept { return blocks_->file().number(); }
  std::uint64_t nonce() const noexcept { return blocks_->nonce(); }

 private:
  const std::shared_ptr<SharedBlocks> blocks_;
  const std::size_t offset_, size_;
  Device *const counted_on_;
  const std::unique_ptr<BlocksHold> hold_;  // null if the file is the holder
};

// Physical memory, or a multicast object, which has the same handles and mappings. Lives while it has a
// handle, a mapping, or a binding to a multicast object.
struct PhysicalMemory {
  std::shared_ptr<PhysicalBytes> bytes;  // null: a multicast object
  std::shared_ptr<Multicast> multicast{};
  CUmemAllocationProp properties = {};
  Device *device = nullptr;          // null: memory of the host
  PhysicalHandle *handle = nullptr;  // null after the program has released it
  bool is_tile_pool = false;         // whether it can be mapped to arrays
  NumberHold number{};

  std::size_t size() const noexcept;
  // Returns whether other processes may have the bytes.
  bool is_exportable() const noexcept { return properties.requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE; }
};

// A handle of physical memory. The program releases it as often as it was returned.
struct PhysicalHandle : ObjectOf<Kind::physical_memory> {
  explicit PhysicalHandle(std::shared_ptr<PhysicalMemory> of) : memory(std::move(of)) {
    memory->handle = this;
  }
  ~PhysicalHandle() override { memory->handle = nullptr; }

  const std::shared_ptr<PhysicalMemory> memory;
  unsigned long references = 1;
};

// The files with the bytes of physical memory. Memory that can be exported has a file of its own, which a
// descriptor of the program may keep after the last handle.
class PhysicalFiles {
 public:
  // `device` is null for memory of the host. Returns null on failure, with the reason in errno.
  std::shared_ptr<PhysicalBytes> make(std::size_t size, const CUmemAllocationProp &properties,
                                      Device *device);

  // Exported memory behind a file descriptor.
  struct Opened {
    std::shared_ptr<PhysicalBytes> bytes;
    CUmemAllocationProp properties;
    CUuuid device;  // zeros for memory of the host
  };
  // Returns nothing for other and for damaged files. Does not close the descriptor.
  std::optional<Opened> open(int descriptor);
  // Opens a file of another process. Returns nothing if the process no longer has it.
  std::optional<Opened> open(const Process &process, int file, std::uint64_t nonce);

 private:
  std::optional<Opened> open(SharedFile file);
  std::shared_ptr<PhysicalBytes> make_exportable(std::size_t size, const CUmemAllocationProp &properties,
                                                 Device *device);

  BlockFiles shared_;                                                 // of memory that cannot be exported
  std::map<std::uint64_t, std::weak_ptr<PhysicalBytes>> exportable_;  // by the file's nonce
  std::size_t exportable_swept_at_ = 32;
};

// The part of an Allocation that is a mapping.
struct VirtualMapping {
  std::shared_ptr<PhysicalMemory> physical;  // all of it is mapped
  const ReservedRange *range = nullptr;
  NumberHold number{};
  std::byte *bytes = nullptr;  // of the first address
  std::size_t offset = 0;      // of the first byte in the physical memory; not 0 only for external buffers
  // True for a buffer of external memory: cuMemFree unmaps it and frees its address range.
  bool is_external = false;
  // The access of each location that cuMemSetAccess has named; null is the host. Not a tree: there are few.
  std::vector<std::pair<const Device *, CUmemAccess_flags>> access{};

  CUmemAccess_flags access_of(const Device *location) const noexcept {
    for (const auto &[named, flags] : access)
      if (named == location) return flags;
    return CU_MEM_ACCESS_FLAGS_PROT_NONE;
  }
  // Sets the access of a location. For the host, which only memory of the host can be accessible to, changes
  // the protection of the addresses, which begin at `base`. Returns false on failure, with the reason in
  // errno.
  bool set_access(const Device *location, CUmemAccess_flags flags, CUdeviceptr base);
  // Replaces the bytes by memory that no program sees, so that a kernel that still runs in another thread
  // does not crash the process. Takes the addresses out of the host's reach.
  void unmap(CUdeviceptr base) noexcept;
};

// A range of addresses that the program has reserved.
struct ReservedRange {
  CUdeviceptr base = 0;
  std::size_t size = 0;
  std::byte *bytes = nullptr;
  Zeros<Allocation *> mappings{};  // by granule; null: nothing is mapped there

  CUdeviceptr end() const noexcept { return base + size; }
  Allocation *&mapping_at(CUdeviceptr address) noexcept { return mappings[(address - base) / kGranularity]; }
  std::byte *bytes_at(CUdeviceptr address) const noexcept { return bytes + (address - base); }
};

// The reserved ranges of a machine. Lookups take O(log n) of the ranges. Freed addresses are kept, out of the
// host's reach, for later ranges: other mappings of the process never take them, so that a program can
// reserve them again.
class ReservedRanges {
 public:
  ReservedRanges() = default;
  ~ReservedRanges();
  ReservedRanges(const ReservedRanges &) = delete;
  ReservedRanges &operator=(const ReservedRanges &) = delete;

  // Reserves a range: at `wanted` if all of it is free, else anywhere. `alignment` is a power of two of at
  // least the granularity. Returns null if address space is exhausted.
  const ReservedRange *reserve(std::size_t size, std::size_t alignment, CUdeviceptr wanted);
  // Requires that the range has no mapping.
  void free(const ReservedRange &range);
  // Returns the range that contains the address; null if there is none.
  ReservedRange *find(CUdeviceptr address) noexcept {
    if (last_ != nullptr && address - last_->base < last_->size) return last_;
    if (address - gap_ < gap_size_) return nullptr;
    return search(address);
  }
  const ReservedRange *find(CUdeviceptr address) const noexcept {
    return const_cast<ReservedRanges *>(this)->find(address);
  }
  // Returns whether the address is in a range, or was in one that has been freed.
  bool has(CUdeviceptr address) const noexcept;

 private:
  using Freed = std::map<CUdeviceptr, std::size_t>;
  ReservedRange *search(CUdeviceptr address) noexcept;
  CUdeviceptr take_addresses(std::size_t size, std::size_t alignment, CUdeviceptr wanted);
  CUdeviceptr take_freed(Freed::iterator from, CUdeviceptr base, std::size_t size);
  void give_addresses(CUdeviceptr base, std::size_t size);

  std::map<CUdeviceptr, ReservedRange> ranges_;
  ReservedRange *last_ = nullptr;  // the last one that was found, or null
  CUdeviceptr gap_ = 0;            // addresses without a range, around the last one that was in none
  std::size_t gap_size_ = 0;
  Freed freed_;  // base to size; none are adjacent
};

}  // namespace cushim::sim
