// SPDX-License-Identifier: Apache-2.0
// Which entry points a host function may call.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cushim::sim {

// How the driver treats calls made in host functions, in callbacks and in destructors of user objects.
enum class InHostFunction : std::uint8_t {
  refused,   // NOT_PERMITTED, before arguments are looked at
  rejected,  // INVALID_VALUE, likewise
  admitted,  // as elsewhere; there is no current context
};

// Returns the rule of an entry point.
InHostFunction host_function_rule_of(std::size_t slot);

}  // namespace cushim::sim
