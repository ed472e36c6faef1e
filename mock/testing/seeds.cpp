// SPDX-License-Identifier: Apache-2.0
#include <cushim/testing/seeds.hpp>

#include <cstdlib>
#include <numeric>

namespace cushim::testing {

std::vector<std::uint64_t> seeds(int count) {
  if (const char *one = std::getenv("CUSHIM_TEST_SEED"); one != nullptr && *one != '\0')
    return {std::strtoull(one, nullptr, 0)};
  std::vector<std::uint64_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 1);
  return all;
}

}  // namespace cushim::testing
