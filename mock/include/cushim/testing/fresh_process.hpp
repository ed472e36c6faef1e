// SPDX-License-Identifier: Apache-2.0
// Runs a test in its own process: one that has not initialized the driver, or that may crash.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace cushim::testing::detail {

// The result of in_a_fresh_process().
struct FreshProcess {
  bool ended = false;
  std::string failure;  // output of the process if it failed; else empty
  bool skipped = false;
};
enum class Crash { fails, is_recorded };
// In the first process: runs this program again for the running test only, takes over its answers, and sets
// `ended`. In the fresh process: leaves `ended` false.
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

// As the first line of a test body: runs the rest of the body in a process that has not loaded a driver
// before, with the same choice of driver. Its answers and failures become those of this test. The process is
// forked from one that was started by exec at the first such test; no fixture has been set up in it.
#define CUSHIM_IN_A_FRESH_PROCESS() CUSHIM_FRESH_PROCESS_(fails)

// The same, for calls that crash some drivers with a segmentation fault. A crash is recorded as the answer
// "process = crashed" and is not a failure; --compare-answers then accepts any answer.
#define CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH() CUSHIM_FRESH_PROCESS_(is_recorded)
