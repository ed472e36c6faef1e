// SPDX-License-Identifier: Apache-2.0
// Explains why a program did not open the simulated driver.
#pragma once

#include <string>

namespace cushim::command {

// Returns the reason, derived from the program's file. Searches for program on PATH, as execvp() does.
std::string bypass_reason(const std::string &program);

}  // namespace cushim::command
