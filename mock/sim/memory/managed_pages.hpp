// SPDX-License-Identifier: Apache-2.0
// The state that cuMemAdvise and prefetches set for each page of an allocation of managed memory.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <map>
#include <set>

#include "memory/rounding.hpp"

namespace cushim::sim {

// A location as cuMemRangeGetAttribute returns it.
struct PageLocation {
  int type = CU_MEM_LOCATION_TYPE_INVALID;
  int device = CU_DEVICE_INVALID;  // CU_DEVICE_CPU for the host and its nodes
  int id = CU_DEVICE_INVALID;
  bool operator==(const PageLocation &) const = default;
};

struct PageState {
  bool is_read_mostly = false;
  PageLocation preferred{};
  std::set<int> accessed_by{};  // devices, and CU_DEVICE_CPU
  PageLocation prefetched{};    // the last prefetch
  bool operator==(const PageState &) const = default;
};

class ManagedPages {
 public:
  static constexpr std::size_t kPage = 4096;

  // Calls change(PageState &) for the pages that contain bytes of [offset, offset + size).
  template <class Change>
  void change(std::size_t offset, std::size_t size, Change change) {
    const auto begin = split(offset / kPage);
    const auto end = split(rounded_up(offset + size, kPage) / kPage);
    for (auto run = begin; run != end; ++run) change(run->second);
    merge(begin, end);
  }

  // Returns the state that all these pages have in common; a member in which they differ has its default.
  PageState common(std::size_t offset, std::size_t size) const;

 private:
  // Runs of pages with the same state, by their first page. The last run has no end.
  using Runs = std::map<std::size_t, PageState>;

  // Returns the run that begins at a page.
  Runs::iterator split(std::size_t page);
  // Merges equal neighbours from the run before `begin` to `end`.
  void merge(Runs::iterator begin, Runs::iterator end);

  Runs runs_{{0, {}}};
};

}  // namespace cushim::sim
