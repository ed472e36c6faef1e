// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cushim::testing {

// Makes the devices that CTest allots to this test (--resource-spec-file, resource "gpus") the only visible
// ones, for this process and those that it starts. The identities are places among the devices visible so
// far, as `cushim ctest-resources` writes them. To be called before cuInit. An error in words, or empty.
std::string see_allotted_devices();

}  // namespace cushim::testing
