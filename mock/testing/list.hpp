// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cushim::testing {

// Returns one line for each test of this program: "Suite.Name", then a space and the requirements that
// CUSHIM_NEEDS declares in its body and in SetUp() of the fixture that its suite is named after
// ("gpus:2,peer").
std::string list_of_tests();

}  // namespace cushim::testing
