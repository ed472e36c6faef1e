// SPDX-License-Identifier: Apache-2.0
// Who calls the driver in this process past a driver that is swapped in.
#pragma once

#include <string>
#include <vector>

namespace cushim {
inline namespace v1 {
namespace mock {

// Paths of the files mapped into this process that link libcuda or NVIDIA's runtime library: their calls
// reach the real driver, whatever is current. Files that open libcuda by themselves cannot be told.
std::vector<std::string> other_users();

// Paths of the files that carry a copy of cushim other than this one: each has a current driver of its own.
std::vector<std::string> other_copies();

// Writes a warning to stderr for each of the two that is not empty. To be called once a process.
void warn_of_others();

}  // namespace mock
}  // namespace v1
}  // namespace cushim
