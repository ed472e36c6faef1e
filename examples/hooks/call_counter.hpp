// SPDX-License-Identifier: Apache-2.0
// How often a driver is called, by entry point.
#pragma once

#include <cushim/mock/hook.hpp>

#include <array>
#include <atomic>

// Counts from its beginning to its end, the calls of all threads: CallCounter<&cuMemAlloc, &cuMemFree>.
template <auto... functions>
class CallCounter {
 public:
  explicit CallCounter(cushim::Driver &driver)
      : hooks_{cushim::hook::before<functions>(driver, [this](auto...) { ++at<functions>(); })...} {}

  template <auto function>
  long count() {
    return at<function>();
  }

 private:
  template <auto function>
  std::atomic<long> &at() {
    constexpr std::array entries{cushim::entry_of<functions>()...};
    std::size_t place = 0;
    while (entries[place] != cushim::entry_of<function>()) ++place;
    return counts_[place];
  }

  std::atomic<long> counts_[sizeof...(functions)]{};
  cushim::hook::Hook hooks_[sizeof...(functions)];  // last: they end before what they count in
};
