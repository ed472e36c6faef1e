// SPDX-License-Identifier: Apache-2.0
// Checks of the reserved members and of all bytes of structures.
#pragma once

#include <algorithm>
#include <iterator>
#include <span>

namespace cushim::sim {

// Returns true if all elements of an array are 0.
template <class Words>
bool is_zero(const Words &words) {
  return std::all_of(std::begin(words), std::end(words), [](auto word) { return word == 0; });
}

// Returns true if two structures have the same bytes.
template <class Structure>
bool has_same_bytes(const Structure &a, const Structure &b) {
  return std::ranges::equal(std::as_bytes(std::span(&a, 1)), std::as_bytes(std::span(&b, 1)));
}

}  // namespace cushim::sim
