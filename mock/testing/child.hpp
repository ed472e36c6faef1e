// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cushim::testing {

// Runs the body in the process that was started for it. Returns the exit status.
int run_child(const std::string &name, int file);

}  // namespace cushim::testing
