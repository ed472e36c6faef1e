// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace cushim::ptx::execute {

// One Cell for each `granule` bytes of memory of the host that was used. Takes memory by pages, which begin
// with default cells.
template <class Cell, std::uint64_t granule>
class Shadow {
 public:
  // Returns the cell of an address.
  Cell &at(std::uint64_t address) { return page(address / page_bytes).cells[address % page_bytes / granule]; }

  // Resets the cells of the range that have pages.
  void reset(std::uint64_t begin, std::uint64_t bytes, const Cell &value = {}) {
    const std::uint64_t end = begin + bytes;
    for (std::uint64_t number = begin / page_bytes; number * page_bytes < end; ++number) {
      const auto found = pages_.find(number);
      if (found == pages_.end()) continue;
      const std::uint64_t first = std::max(begin, number * page_bytes) - number * page_bytes,
                          last = std::min(end, (number + 1) * page_bytes) - number * page_bytes;
      std::fill(found->second->cells + first / granule, found->second->cells + (last + granule - 1) / granule,
                value);
    }
  }

 private:
  static constexpr std::uint64_t page_bytes = 4096;
  struct Page {
    Cell cells[page_bytes / granule];
  };

  Page &page(std::uint64_t number) {
    if (number == last_number_) return *last_;
    std::unique_ptr<Page> &found = pages_[number];
    if (found == nullptr) found = std::make_unique<Page>();
    last_number_ = number;
    last_ = found.get();
    return *last_;
  }

  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::uint64_t last_number_ = ~std::uint64_t{0};
  Page *last_ = nullptr;
};

}  // namespace cushim::ptx::execute
