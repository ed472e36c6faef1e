// SPDX-License-Identifier: Apache-2.0
// Operand values for random kernels: edge values of each type, and random bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "../units/units.hpp"

namespace cushim::ptx::random {

// A sequence of random numbers that is the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) { bits(); }
  std::uint64_t bits() { return units::next(state_); }
  // Returns a number below `count`.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>((bits() >> 11) % count); }
  bool one_in(std::size_t count) { return below(count) == 0; }
  template <class List>
  const auto &pick(const List &list) {
    return list[below(std::size(list))];
  }

 private:
  std::uint64_t state_;
};

// Sets of values: iN integers of N bits, n32 shift counts and lengths, b5 and s5 operands of fns, p 0 or 1,
// and types of PTX. A pair has two values of 16 bits.
inline constexpr std::string_view kinds[] = {"i16", "i32",  "i64",   "n32",    "b5",    "s5",  "p",
                                             "f16", "bf16", "f16x2", "bf16x2", "i16x2", "f32", "f64"};
std::size_t index_of_kind(std::string_view kind);
// Returns the width in bits of a register for values of this kind.
unsigned width_of_kind(std::string_view kind);
std::uint64_t draw(std::string_view kind, Random &random);

// Table kernels have `rows` threads in blocks of `block`; each instruction has up to `places` operands.
inline constexpr std::size_t rows = 2048, block = 256, places = 4;
// Returns the operands of table kernels: for each kind and place, a value for each row. Among the first rows
// are all pairs of edge values in the first two places.
std::vector<std::uint64_t> table_inputs();

}  // namespace cushim::ptx::random
