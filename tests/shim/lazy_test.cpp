// SPDX-License-Identifier: Apache-2.0
// Processes that never call load(), that fork, or that exit; and threads that make their first calls
// concurrently.
#include <cushim/load.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "child.hpp"
#include "support/fakes.hpp"

namespace {

const Environment kDriver{{"CUSHIM_LIBRARY", fake_path("12040")}};
const Environment kNoDriver{{"CUSHIM_LIBRARY", "none"}};
const std::string kLoaded = "cushim[ok]: the driver is usable (CUSHIM_LIBRARY: " + fake_path("12040") + ").";
const std::string kDisabled =
    "cushim[driver-disabled]: CUSHIM_LIBRARY=none disables the driver (CUSHIM_LIBRARY: none). Unset "
    "CUSHIM_LIBRARY to use the installed driver.";

TEST(Lazy, The_first_call_opens_the_driver_and_not_before) {
  EXPECT_EQ(probe({"name", "call", "cuInit", "name", "version"}, kDriver),
            lines({"", "0", fake_path("12040"), "12040"}));
}

TEST(Lazy, Every_entry_binds_itself_at_its_first_call) {
  const Outcome lazy = probe({"every-entry"}, kDriver);
  EXPECT_EQ(kLoaded + "\n" + lazy.out, probe({"load", "every-entry"}, kDriver).out);
  EXPECT_THAT(lazy.out, testing::ContainsRegex("^0: [0-9]+;1: [0-9];302: [0-9]+;\n$"));
}

TEST(Lazy, Without_a_driver_every_entry_returns_303) {
  EXPECT_EQ(probe({"every-entry"}, kNoDriver), lines({"303: " + std::to_string(cushim_entry_count()) + ";"}));
  EXPECT_EQ(probe({"load", "every-entry"}, kNoDriver),
            lines({kDisabled, "303: " + std::to_string(cushim_entry_count()) + ";"}));
}

TEST(Lazy, A_driver_that_was_missing_at_the_first_call_can_be_loaded_later) {
  EXPECT_EQ(
      probe({"call", "cuInit", "library", fake_path("12040"), "call", "cuInit", "load", "call", "cuInit"},
            kNoDriver),
      lines({"303", "303", kLoaded, "0"}));
}

TEST(Lazy, Why_an_entry_is_missing_without_a_driver_is_the_diagnosis) {
  EXPECT_EQ(probe({"why-missing", "cuInit"}, kNoDriver),
            lines({"cuInit is missing because no driver was found: " + kDisabled}));
}

TEST(Lazy, Eight_threads_may_make_the_first_calls_at_once) {
  EXPECT_EQ(probe({"first-calls", "version"}, kDriver), lines({"wrong: 0", "12040"}));
}

TEST(Lazy, Threads_may_load_and_swap_and_call_at_once) {
  EXPECT_EQ(probe({"load-and-swap"}, kDriver), lines({"wrong: 0"}));
}

TEST(Fork, A_child_of_a_process_that_used_the_driver_gets_the_diagnosis_forked) {
  EXPECT_EQ(
      probe({"initialize", "in-child", "call", "cuInit", "explain", "3"}, kDriver),
      lines(
          {kLoaded, "3",
           "cushim[forked]: this process was forked after its parent initialized the driver, which does not "
           "work in the child. Start the child with exec (multiprocessing's spawn method), or fork before "
           "the "
           "first driver call."}));
}

TEST(Fork, A_child_that_loads_with_initialization_is_refused_with_that_reason) {
  const Outcome child = probe({"initialize", "in-child", "initialize"}, kDriver);
  EXPECT_THAT(child.out, testing::HasSubstr("\ncushim[forked]: "));
}

TEST(Fork, A_child_forked_before_the_first_use_has_a_driver_of_its_own) {
  EXPECT_EQ(probe({"in-child", "initialize", "call", "cuCtxGetCurrent"}, kDriver), lines({kLoaded, "0"}));
}

TEST(Teardown, Calls_from_an_exit_handler_reach_the_driver) {
  EXPECT_EQ(probe({"load", "at-exit", "call", "cuCtxGetCurrent", "version"}, kDriver),
            lines({kLoaded, "0", "12040"}));
}

TEST(Teardown, The_first_call_of_all_may_come_from_an_exit_handler) {
  EXPECT_EQ(probe({"at-exit", "call", "cuCtxGetCurrent", "version"}, kDriver), lines({"0", "12040"}));
}

TEST(Teardown, Calls_after_the_driver_s_own_destructors_still_answer) {
  EXPECT_EQ(probe({"load", "at-the-very-end", "call", "cuCtxGetCurrent", "explain", "4", "version"}, kDriver),
            lines({kLoaded, "4",
                   "cushim[torn-down]: the driver has shut down because the process is ending. Release GPU "
                   "objects before main returns, or ignore this error at exit.",
                   "12040"}));
}

}  // namespace
