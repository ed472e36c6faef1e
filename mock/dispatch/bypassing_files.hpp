// SPDX-License-Identifier: Apache-2.0
// Finds code in this process whose driver calls bypass the current driver.
#pragma once

#include <string>
#include <vector>

namespace cushim::mock {

// Returns the paths of the mapped files that link libcuda or NVIDIA's runtime library: their calls reach the
// real driver, whichever driver is current. Cannot detect files that open libcuda themselves.
std::vector<std::string> driver_users();

// Returns the paths of the files with another copy of cushim: each copy has its own current driver.
std::vector<std::string> other_copies();

// Writes a warning to stderr for each of the two lists that is not empty. Call once in a process.
void warn_about_bypasses();

}  // namespace cushim::mock
