// SPDX-License-Identifier: Apache-2.0
// The memory of a machine. A device's addresses are a range of their own that the host cannot touch; the
// bytes lie elsewhere, and bytes() is the only way to them. Pinned, registered and managed memory is the
// host's own.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "context.hpp"
#include "device.hpp"
#include "share_table.hpp"
#include "zeros.hpp"

namespace cushim::sim {

enum class MemoryKind { device, pinned, registered, managed };

// What an allocation is that another process made.
struct MemoryImport {
  ShareHandle handle;  // that it was opened by
  int opens = 1;
  std::byte *addresses = nullptr;  // whole chunks of them; the host cannot touch them
  std::byte *bytes = nullptr;
  std::size_t mapped = 0;  // the size of both
  std::vector<Piece> pieces;
};

// What the program told of managed memory; places are devices, or CU_DEVICE_CPU.
struct Advice {
  bool is_read_mostly = false;
  int preferred_location = CU_DEVICE_INVALID;
  std::set<int> accessed_by;
};

struct Allocation {
  CUdeviceptr base = 0;
  std::size_t size = 0;
  MemoryKind kind = MemoryKind::device;
  unsigned flags = 0;  // those of the call that made it
  Context *context = nullptr;
  Device *device = nullptr;
  unsigned long long id = 0;
  Pool *pool = nullptr;       // of a stream-ordered allocation
  bool is_of_array = false;   // its addresses are not the program's
  bool is_freed = false;      // in stream order: the program must not use it any more
  bool synchronizes = false;  // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
  Advice advice;              // of managed memory
  int last_prefetch = CU_DEVICE_INVALID;

  std::unique_ptr<MemoryExport> exported;  // if other processes may open it
  std::unique_ptr<MemoryImport> imported;  // if it is another process's

  std::vector<Work> users;  // what is to read or write it; of other contexts too

  CUdeviceptr end() const noexcept { return base + size; }

  void add_user(const Work &work) {
    const auto is_over = [](const Work &user) { return sim::is_complete(user); };
    if (!users.empty() && is_over(users.back())) users.pop_back();  // mostly there is no other
    if (users.size() >= 32) std::erase_if(users, is_over);
    users.push_back(work);
  }
};

class Memory {
 public:
  // A device's memory is counted in these, measured on an H200; small allocations share one.
  static constexpr std::size_t kBlock = 2 << 20;

  explicit Memory(const std::vector<std::unique_ptr<Device>> &devices);
  ~Memory();

  // Bytes of a device that allocations have.
  std::size_t allocated(const Device &device) const noexcept {
    return arenas_[static_cast<std::size_t>(device.index)].allocated;
  }

  // Each is null if memory is out.
  Allocation *allocate(Device &device, std::size_t size);
  Allocation *allocate_on_host(MemoryKind kind, std::size_t size);
  Allocation &add_registered(void *host, std::size_t size);
  void release(Allocation &allocation);

  // Sees to it that other processes can map the bytes of a device's allocation. Whole chunks, the allocation
  // begins `lead` bytes after the first; empty if memory or file numbers are out.
  std::vector<Piece> share(const Allocation &allocation, std::size_t &lead);
  // Maps an allocation of another process. Null if memory is out.
  Allocation *add_imported(Device &device, FoundMemory found, const ShareHandle &handle);

  // The allocation that the address lies in; null if there is none.
  Allocation *find(CUdeviceptr address);
  // Whether [address, address + size) touches any allocation.
  bool overlaps(CUdeviceptr address, std::size_t size);

  // Whether the address is in the range of a device's memory, allocated or not.
  bool is_of_device(CUdeviceptr address) const noexcept;

  // The bytes at an address of any kind.
  std::byte *bytes(CUdeviceptr address, std::size_t size);

  template <class Visit>
  void for_each(Visit visit) {
    for (auto &[base, allocation] : allocations_) visit(*allocation);
  }

 private:
  // A device's range of addresses and its bytes.
  struct Arena {
    CUdeviceptr begin = 0;
    std::size_t size = 0;
    std::byte *bytes = nullptr;
    std::size_t allocated = 0;                // bytes in allocations
    std::map<std::size_t, std::size_t> free;  // offset to size
    Zeros<bool> touched;                      // by chunk: poisoned at the first touch
    Zeros<unsigned> users;                    // by block: how many allocations lie in it

    struct Shared {
      std::shared_ptr<SharedBlocks> blocks;
      std::size_t index;  // which of them
    };
    std::map<std::size_t, Shared> shared;  // by block: those that other processes may have mapped

    bool is_shared(std::size_t chunk) const;
  };

  static Arena reserve_arena(std::size_t total);
  static bool has_room(const Arena &arena, const Device &device, std::size_t offset, std::size_t size);
  Arena *arena_of(CUdeviceptr address) noexcept;
  static void use(Arena &arena, Device &device, std::size_t offset, std::size_t length, int by);
  static bool share(Arena &arena, std::size_t block, std::size_t count);
  static void unshare(Arena &arena, std::size_t offset, std::size_t length);
  static void poison_shared(Arena &arena, std::size_t offset, std::size_t length);
  static void touch(Arena &arena, std::size_t chunk);
  static void touch(const MemoryImport &import, std::size_t offset, std::size_t size);
  Allocation &add(std::unique_ptr<Allocation> allocation);
  MemoryImport *import_of(CUdeviceptr address) const;

  std::vector<Arena> arenas_;  // by the device's index
  std::map<CUdeviceptr, std::unique_ptr<Allocation>> allocations_;
  std::size_t imports_ = 0;  // how many of them are another process's
  unsigned long long last_id_ = 0;
};

}  // namespace cushim::sim
