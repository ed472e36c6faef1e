// SPDX-License-Identifier: Apache-2.0
// cushim profiles: the devices that the simulated driver supports.
#pragma once

#include "common/outcome.hpp"
#include "common/verb.hpp"

namespace cushim::command {

// Returns one line for each built-in device; if description is not empty, all values of each device of the
// machine it describes (docs/reference/profiles.md). An invalid description is a usage error with the reason.
Outcome profiles(const std::string &description);

// Adds the verb profiles.
Verb add_profiles(CLI::App &app);

}  // namespace cushim::command
