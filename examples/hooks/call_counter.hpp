// SPDX-License-Identifier: Apache-2.0
// Counts the calls of a driver by entry point.
#pragma once

#include <cushim/mock/hook.hpp>

#include <array>
#include <atomic>

// Counts the calls of all threads during its lifetime: CallCounter<Entry::cuInit>.
template <cushim::Entry... entries>
class CallCounter {
 public:
  explicit CallCounter(cushim::Driver &driver)
      : hooks_{cushim::hook::before<entries>(driver, [this](auto...) { ++at<entries>(); })...} {}

  template <cushim::Entry entry>
  long count() {
    return at<entry>();
  }

 private:
  template <cushim::Entry entry>
  std::atomic<long> &at() {
    constexpr std::array all{entries...};
    std::size_t place = 0;
    while (all[place] != entry) ++place;
    return counts_[place];
  }

  std::atomic<long> counts_[sizeof...(entries)]{};
  // The last member, so hooks are removed before the counts are destroyed.
  cushim::hook::Hook hooks_[sizeof...(entries)];
};
