// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace cushim::testing {

// Seeds for ::testing::ValuesIn(): 1 to count, or only the one in CUSHIM_TEST_SEED, so that a failure
// found with one seed can be run again.
std::vector<std::uint64_t> seeds(int count);

}  // namespace cushim::testing
