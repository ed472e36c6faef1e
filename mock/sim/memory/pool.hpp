// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>

#include "memory/location.hpp"
#include "memory/memory.hpp"
#include "memory/pool_ranges.hpp"
#include "objects/handle.hpp"

namespace cushim::sim {

// The location and the allocation type of a pool's memory.
struct PoolPlace {
  int allocation = kPinnedAllocation;
  int location = kDeviceLocation;
  int id = 0;  // the device's index, a NUMA node; else 0
  auto operator<=>(const PoolPlace &) const = default;

  bool is_of_device_memory() const noexcept {
    return allocation == kPinnedAllocation && location == kDeviceLocation;
  }
};

// A memory pool (CUmemoryPool) for stream-ordered allocation.
struct Pool : ObjectOf<Kind::pool> {
  PoolPlace place;
  MemoryKind kind = MemoryKind::device;
  Device *device = nullptr;  // null: host memory
  bool is_default = false;
  bool is_destroyed = false;         // kept until its last allocation is freed
  int handle_types = 0;              // CUmemAllocationHandleType
  std::size_t max_size = 0;          // 0: no limit
  std::set<const Device *> open_to;  // devices with access besides its own
  int reuse_follow_event = 1;
  int reuse_opportunistic = 1;
  int reuse_internal = 1;
  unsigned long long release_threshold = 0;
  bool is_threshold_lower = false;  // lowered, and no wait has released memory since
  unsigned long long used = 0, used_high = 0, reserved_high = 0;
  std::size_t allocations = 0;  // includes those whose free has not run
  std::uint64_t nonce = 0;      // identifies the pool between processes; 0 until it is exported
  bool is_imported = false;     // the memory is another process's
  PoolRanges ranges;

  bool is_open_to(const Device *other) const {
    return kind == MemoryKind::managed || other == device || open_to.contains(other);
  }
  // Returns whether the end of a wait can change ranges or release memory.
  bool may_change_by_wait() const { return ranges.has_pending() || is_threshold_lower; }
  void count(std::size_t size) {
    ++allocations;
    used += size;
    used_high = std::max(used_high, used);
    reserved_high = std::max<unsigned long long>(reserved_high, ranges.reserved());
  }
};

}  // namespace cushim::sim
