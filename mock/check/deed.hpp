// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cushim::check {

// What a row does to lives.
struct Deed {
  enum class Act : std::uint8_t { none, makes, opens, ends, retains, releases, resets };
  Act act = Act::none;
  std::uint8_t subject = 0;      // which argument
  const char *memory = nullptr;  // the noun, where it is memory
  bool changes_current = false;  // the thread's current context
};
const Deed &deed_of(int slot);

}  // namespace cushim::check
