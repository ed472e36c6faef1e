// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace cushim::ptx::execute {

// A point in the execution of a launch. Each event that releases accesses has a time of its own.
using Time = std::uint32_t;

// The accesses that a thread is ordered after: for groups of threads, all accesses up to a time. A group is a
// thread, a warp, a block or the whole grid.
class VectorClock {
 public:
  using Group = std::uint64_t;
  static constexpr Group thread(std::uint64_t index) { return index; }
  static constexpr Group warp(std::uint64_t index) { return index | std::uint64_t{1} << 62; }
  static constexpr Group block(std::uint64_t index) { return index | std::uint64_t{2} << 62; }
  static constexpr Group grid = std::uint64_t{3} << 62;

  // Returns 0 for a group without entry.
  Time of(Group group) const {
    const auto found = std::ranges::lower_bound(entries_, group, {}, &Entry::first);
    return found != entries_.end() && found->first == group ? found->second : 0;
  }
  void raise(Group group, Time time) {
    const auto found = std::ranges::lower_bound(entries_, group, {}, &Entry::first);
    if (found == entries_.end() || found->first != group)
      entries_.insert(found, {group, time});
    else
      found->second = std::max(found->second, time);
  }
  bool contains(const VectorClock &other) const {
    const Time all = of(grid);
    return std::ranges::all_of(
        other.entries_, [&](const Entry &one) { return all >= one.second || of(one.first) >= one.second; });
  }
  void join(const VectorClock &other);
  // Removes the groups for which `is_unwanted` returns true.
  template <class Predicate>
  void erase(Predicate is_unwanted) {
    std::erase_if(entries_, [&](const Entry &one) { return is_unwanted(one.first); });
  }

 private:
  using Entry = std::pair<Group, Time>;
  std::vector<Entry> entries_;  // by group
};

// Threads that know the same share one clock. Null: an empty clock.
using SharedClock = std::shared_ptr<const VectorClock>;

// Returns a clock that contains both; one of the two if possible.
SharedClock joined(const SharedClock &, const SharedClock &);

}  // namespace cushim::ptx::execute
