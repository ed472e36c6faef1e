// SPDX-License-Identifier: Apache-2.0
// Which bytes of a range have not been written since they were allocated.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "memory/zeros.hpp"

namespace cushim::sim {

// One bit a byte, and one state a unit of bytes: large ranges take no memory until a part of a unit is
// written.
class UnwrittenBytes {
 public:
  explicit UnwrittenBytes(std::size_t size) : states_(size / kUnit + 1), bits_(size / 8 + kUnit) {}

  // Marks bytes as not written, and as written.
  void add(std::size_t offset, std::size_t size) { set(offset, size, State::all); }
  void remove(std::size_t offset, std::size_t size) { set(offset, size, State::none); }
  // Returns whether one of the bytes has not been written.
  bool has(std::size_t offset, std::size_t size) const;

 private:
  enum class State : std::uint8_t { none, all, by_bit };
  static constexpr std::size_t kUnit = 64 << 10;

  void set(std::size_t offset, std::size_t size, State value);

  Zeros<State> states_;
  Zeros<std::uint8_t> bits_;  // of units whose state is by_bit
};

}  // namespace cushim::sim
