// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <set>

#include "objects/handle.hpp"

namespace cushim::sim {

struct Device;

// A memory pool (CUmemoryPool) for stream-ordered allocation.
struct Pool : Object {
  static constexpr Kind kKind = Kind::pool;
  static constexpr unsigned long long kBlock = 32 << 20;  // granularity in which it reserves device memory
  Pool() : Object(kKind) {}

  Device *device = nullptr;
  bool is_default = false;
  std::set<const Device *> open_to;  // other devices with access
  int reuse_follow_event = 1;
  int reuse_opportunistic = 1;
  int reuse_internal = 1;
  unsigned long long release_threshold = 0;
  unsigned long long used = 0, used_high = 0;
  unsigned long long reserved = 0, reserved_high = 0;

  void take(std::size_t size) {
    used += size;
    used_high = std::max(used_high, used);
    reserved = std::max(reserved, (used + kBlock - 1) / kBlock * kBlock);
    reserved_high = std::max(reserved_high, reserved);
  }
  void give_back(std::size_t size) { used -= size; }
  // Returns unused memory to the device; keeps at least `keep` bytes reserved.
  void trim(unsigned long long keep) {
    const unsigned long long needed = (used + kBlock - 1) / kBlock * kBlock;
    if (reserved > keep)
      reserved = std::max(needed, std::min(reserved, (keep + kBlock - 1) / kBlock * kBlock));
  }
};

}  // namespace cushim::sim
