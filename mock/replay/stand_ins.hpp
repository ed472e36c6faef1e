// SPDX-License-Identifier: Apache-2.0
// Addresses that stand for memory of the recorded process which no driver call made. Only calls that do not
// access the memory get them.
#pragma once

#include <cstdint>
#include <map>

namespace cushim::replay {

class StandIns {
 public:
  StandIns() = default;
  StandIns(const StandIns &) = delete;
  StandIns &operator=(const StandIns &) = delete;
  ~StandIns();

  // Returns the address that stands for a recorded one: the same in each call, and at the same distance from
  // those that stand for addresses near it. Returns numbers that are no addresses of a process as they are.
  std::uint64_t of(std::uint64_t recorded);

 private:
  struct Region {
    void *mapped = nullptr;
    std::uint64_t begin = 0;  // aligned
  };
  std::map<std::uint64_t, Region> regions_;  // by the begin of the recorded region
};

}  // namespace cushim::replay
