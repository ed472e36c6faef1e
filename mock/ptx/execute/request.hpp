// SPDX-License-Identifier: Apache-2.0
// The addresses of one access by a warp.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "execute/count.hpp"

namespace cushim::ptx::execute {

inline constexpr std::uint64_t sector_bytes = 32;
inline constexpr std::uint64_t bank_bytes = 4, banks = 32;
inline constexpr std::uint64_t pass_bytes = bank_bytes * banks;

// Distinct numbers of the lanes, sorted.
struct Distinct {
  std::uint64_t values[lanes * 8];
  unsigned count = 0;

  void add(std::uint64_t value) { values[count++] = value; }
  void finish() {
    if (!std::is_sorted(values, values + count)) std::sort(values, values + count);
    count = static_cast<unsigned>(std::unique(values, values + count) - values);
  }
};

inline std::uint64_t units(std::uint64_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit; }

// Lanes' addresses of one request, all in one space.
struct Request {
  std::uint64_t address[lanes];
  std::uint32_t mask = 0;
  std::uint32_t bytes = 0;  // of a lane

  template <class Visit>
  void each(Visit visit) const {
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      visit(lane, address[lane]);
    }
  }
};

// Counts the passes over the banks of shared memory, or of the L1 cache, which are the same.
void count_passes(const Request &, bool is_load, AccessCounts &to);
// Adds what a request of a sampled block costs.
void cost_request(Warp &, const Request &, const CountedAccess &, CountedSpace);

}  // namespace cushim::ptx::execute
