// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cushim::testing {

// Makes the devices that CTest allocates to this test (--resource-spec-file, resource "gpus") the only
// visible ones, for this process and those that it starts. The IDs are indices of the devices visible so
// far, as `cushim ctest-resources` writes them. Call before cuInit. Returns an error message, or an empty
// string.
std::string restrict_to_ctest_devices();

}  // namespace cushim::testing
