// SPDX-License-Identifier: Apache-2.0
// explore() in a GoogleTest test:
//
//   TEST(Frames, Are_whole) {
//     explore(100, [](sim::Machine &machine) {
//       ...
//       EXPECT_EQ(frame, whole);
//     });
//   }
#pragma once

#include <gtest/gtest.h>

#include <cushim/sim/explore.hpp>

#include <concepts>
#include <utility>

namespace cushim::sim {

// Returns the number of failed assertions of the running test.
inline int failed_assertions() {
  const ::testing::TestResult &result = *::testing::UnitTest::GetInstance()->current_test_info()->result();
  int count = 0;
  for (int part = 0; part < result.total_part_count(); ++part)
    count += result.GetTestPartResult(part).failed();
  return count;
}

// Like explore() of cushim/sim/explore.hpp, but a run fails by a failed assertion or an exception. Then the
// test fails, and its message has the order of the run. Call it only on the test's thread.
template <class Body>
requires std::invocable<Body &, Machine &> && std::same_as < std::invoke_result_t<Body &, Machine &>,
void > void explore(int seeds, Body &&body, const Options &options = {}) {
  const auto passes = [&body](Machine &machine) {
    const int before = failed_assertions();
    body(machine);
    return failed_assertions() == before;
  };
  if (const auto failing = explore(seeds, std::function<bool(Machine &)>(passes), options))
    ADD_FAILURE() << failing->text();
}

}  // namespace cushim::sim
