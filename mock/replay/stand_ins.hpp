// SPDX-License-Identifier: Apache-2.0
// Addresses that stand for memory of the recorded process which no driver call made. Only calls that do not
// access the memory get them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

namespace cushim::replay {

class StandIns {
 public:
  // Returns the address that stands for a recorded one: the same in each call, and at the same distance from
  // those that stand for addresses near it. Returns numbers that are no addresses of a process as they are.
  std::uint64_t of(std::uint64_t recorded);

 private:
  struct Unmap {
    void operator()(void *mapped) const;
  };
  struct Region {
    std::unique_ptr<void, Unmap> mapped{};
    std::uint64_t begin = 0;  // aligned
  };
  std::map<std::uint64_t, Region> regions_;  // by the begin of the recorded region
};

}  // namespace cushim::replay
