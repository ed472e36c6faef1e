// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace cushim::testing {

// Returns seeds for ::testing::ValuesIn(): 1 to `count`, or only that of CUSHIM_TEST_SEED, to repeat a
// failure that one seed found.
std::vector<std::uint64_t> seeds(int count);

}  // namespace cushim::testing
