// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "execute/warp.hpp"

namespace cushim::ptx::execute {

// The variant of a bulk copy.
struct BulkCopy {
  std::uint32_t ranks = 0;  // frame offset of the 16-bit mask of the blocks that receive a multicast
  std::uint32_t bytes = 0;  // frame offset of the 16-bit mask of the bytes to copy of each 16
  std::uint32_t operation = 0, type = 0;  // of a reduction, as in atomics.hpp
  bool to_shared = false, from_shared = false;
  bool signals = false;  // completes bytes at an mbarrier
  bool multicast = false, reduces = false, masked = false;
};

// Completes bytes at the mbarrier at a shared memory address. Returns false after a fault.
bool complete_bytes_at(Warp &, const Op *, unsigned lane, std::uint64_t mbarrier, std::uint32_t bytes);

}  // namespace cushim::ptx::execute
