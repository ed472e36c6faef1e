// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cushim::testing {

// Runs a body in the process that was started for it; its exit status.
int run_child(const std::string &name, int file);

}  // namespace cushim::testing
