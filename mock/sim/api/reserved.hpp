// SPDX-License-Identifier: Apache-2.0
// Checks of the reserved members of structures.
#pragma once

#include <algorithm>
#include <iterator>

namespace cushim::sim {

// Returns true if all elements of an array are 0.
template <class Words>
bool is_zero(const Words &words) {
  return std::all_of(std::begin(words), std::end(words), [](auto word) { return word == 0; });
}

}  // namespace cushim::sim
