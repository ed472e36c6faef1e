// SPDX-License-Identifier: Apache-2.0
// Tests that need a process of their own: one that has not initialized the driver, or that may die.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace cushim::testing::detail {

// In the first process: starts this program again for the running test alone, takes over its answers,
// and is true. In the one so started: is false.
struct FreshProcess {
  bool ended = false;
  std::string failure;  // what it printed if it did not end well; empty if it did
  bool skipped = false;
};
enum class Crash { fails, is_an_answer };
FreshProcess in_a_fresh_process(Crash crash);

}  // namespace cushim::testing::detail

#define CUSHIM_FRESH_PROCESS_(crash)                                                              \
  do {                                                                                            \
    const auto cushim_fresh =                                                                     \
        ::cushim::testing::detail::in_a_fresh_process(::cushim::testing::detail::Crash::crash);   \
    if (cushim_fresh.skipped) GTEST_SKIP() << cushim_fresh.failure;                               \
    if (!cushim_fresh.failure.empty()) FAIL() << "in a fresh process:\n" << cushim_fresh.failure; \
    if (cushim_fresh.ended) return;                                                               \
  } while (false)

// The first line of a test body: the rest of it runs in a process started by exec, with the same driver.
// Its answers and its failures are this test's.
#define CUSHIM_IN_A_FRESH_PROCESS() CUSHIM_FRESH_PROCESS_(fails)

// The same, for calls that some drivers answer with a segmentation fault. Such an end is recorded as the
// answer "process = crashed" and is no failure; by --compare-answers, any answer is as good.
#define CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH() CUSHIM_FRESH_PROCESS_(is_an_answer)
