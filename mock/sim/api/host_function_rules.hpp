// SPDX-License-Identifier: Apache-2.0
// Which entry points a host function may call.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cushim::sim {

// What a call by a host function, a callback or the destructor of a user object does.
enum class InHostFunction : std::uint8_t {
  refused,   // NOT_PERMITTED, before arguments are looked at
  rejected,  // INVALID_VALUE, likewise
  admitted,  // as elsewhere; there is no current context
};

// Returns the rule of an entry point.
InHostFunction host_function_rule_of(std::size_t slot);

}  // namespace cushim::sim
