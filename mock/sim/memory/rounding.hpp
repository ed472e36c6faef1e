// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace cushim::sim {

// Returns the least multiple of `to` that is not less than `value`.
constexpr std::size_t rounded_up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

// Returns the greatest multiple of `to` that is not greater than `value`.
constexpr std::size_t rounded_down(std::size_t value, std::size_t to) { return value / to * to; }

}  // namespace cushim::sim
