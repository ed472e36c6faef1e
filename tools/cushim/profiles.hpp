// SPDX-License-Identifier: Apache-2.0
// cushim profiles: the devices that the simulated driver knows.
#pragma once

#include "outcome.hpp"

namespace cushim::command {

// A line for each built-in device; or everything of each device of the machine of this description, if it
// is not empty (docs/profiles.md). A description that makes no sense is a usage error that says why.
Outcome profiles(const std::string &description);

}  // namespace cushim::command
