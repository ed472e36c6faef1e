// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cushim::testing {

// Every test of this program, a line each: "Suite.Name", and after a space what CUSHIM_NEEDS says of its body
// and of the SetUp() of the fixture that its suite is named after ("gpus:2,peer").
std::string list_of_tests();

}  // namespace cushim::testing
