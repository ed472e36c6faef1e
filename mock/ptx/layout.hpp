// SPDX-License-Identifier: Apache-2.0
// Arithmetic of the layout of variables.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include <cushim/ptx/module.hpp>

namespace cushim::ptx {

inline std::uint64_t round_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

inline std::uint64_t element_size(const Variable &variable) { return std::max(1u, bits(variable.type) / 8); }

// Returns an empty optional if the product overflows.
inline std::optional<std::uint64_t> product(std::uint64_t left, std::uint64_t right) {
  std::uint64_t made = 0;
  if (__builtin_mul_overflow(left, right, &made)) return std::nullopt;
  return made;
}

}  // namespace cushim::ptx
