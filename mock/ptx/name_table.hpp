// SPDX-License-Identifier: Apache-2.0
// A hash table with open addressing from names to numbers. The names are string_views that the caller owns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace cushim::ptx {

inline std::uint64_t hash(std::string_view text) {
  constexpr std::uint64_t factor = 0x9e3779b97f4a7c15;
  std::uint64_t state = text.size() * factor;
  const char *at = text.data();
  std::size_t left = text.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    state = (state ^ word) * factor;
    state ^= state >> 32;
  }
  std::uint64_t word = 0;
  std::memcpy(&word, at, left);
  state = (state ^ word) * factor;
  return state ^ (state >> 29);
}

// A map from names to numbers. A name is entered once; its number may be changed.
class NameTable {
 public:
  static constexpr std::uint32_t none = 0xffffffff;

  NameTable() : cells_(16) {}
  explicit NameTable(std::span<const std::string_view> words) : NameTable() {
    for (std::size_t i = 0; i < words.size(); ++i) slot(words[i]) = static_cast<std::uint32_t>(i);
  }

  std::uint32_t find(std::string_view name) const { return cells_[position(name, hash(name))].value; }

  // Returns the number of `name`, which is `none` if it is new. The reference is valid until the next call.
  std::uint32_t &slot(std::string_view name) {
    const std::uint64_t hashed = hash(name);
    std::size_t at = position(name, hashed);
    if (cells_[at].name.data() == nullptr) {
      if (2 * (used_ + 1) > cells_.size()) {
        grow();
        at = position(name, hashed);
      }
      ++used_;
      cells_[at].name = name;
      cells_[at].hash = static_cast<std::uint32_t>(hashed);
    }
    return cells_[at].value;
  }

 private:
  struct Cell {
    std::string_view name;  // null data: the cell is free
    std::uint32_t hash = 0;
    std::uint32_t value = none;
  };

  std::size_t position(std::string_view name, std::uint64_t hashed) const {
    const std::size_t mask = cells_.size() - 1;
    std::size_t at = (hashed >> 7) & mask;
    while (cells_[at].name.data() != nullptr &&
           !(cells_[at].hash == static_cast<std::uint32_t>(hashed) && cells_[at].name == name))
      at = (at + 1) & mask;
    return at;
  }

  void grow() {
    std::vector<Cell> old(cells_.size() * 2);
    old.swap(cells_);
    const std::size_t mask = cells_.size() - 1;
    for (const Cell &cell : old) {
      if (cell.name.data() == nullptr) continue;
      std::size_t at = (hash(cell.name) >> 7) & mask;
      while (cells_[at].name.data() != nullptr) at = (at + 1) & mask;
      cells_[at] = cell;
    }
  }

  std::vector<Cell> cells_;
  std::size_t used_ = 0;
};

}  // namespace cushim::ptx
