// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cushim/table.h>

#include <vector>

namespace cushim::trace {

// Returns make(slot) of a slot; the values of all slots are made at the first call. Never destroyed, because
// calls may come until the process has ended.
template <auto make>
const auto &value_by_slot(int slot) {
  static const auto &values = *[] {
    auto *const made = new std::vector<decltype(make(0))>;
    for (int i = 0; i < CUSHIM_ENTRY_COUNT; ++i) made->push_back(make(i));
    return made;
  }();
  return values[static_cast<std::size_t>(slot)];
}

}  // namespace cushim::trace
