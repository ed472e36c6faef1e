// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/kind.hpp"

namespace cushim::check {

// How an entry point affects object lifetimes.
struct LifetimeEffect {
  enum class Act : std::uint8_t { none, makes, opens, ends, retains, releases, resets };
  Act act = Act::none;
  std::uint8_t subject = 0;      // index of the argument that is the object
  Kind kind = Kind::none;        // of the handle; none: memory
  const char *memory = nullptr;  // noun of the memory; null for a handle
  bool changes_current = false;  // changes the thread's current context
};
const LifetimeEffect &lifetime_effect_of(int slot);

}  // namespace cushim::check
