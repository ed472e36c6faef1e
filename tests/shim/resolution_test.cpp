// SPDX-License-Identifier: Apache-2.0
// Each entry point resolves to exactly its own function of the driver, with every kind of lookup; missing
// entry points return an error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cushim/driver.hpp>

#include <string>

#include "child.hpp"
#include "support/every_entry.hpp"
#include "support/fakes.hpp"

namespace {

using cushim::Driver;
using cushim::Entry;

Driver &open(const std::string &fake) {
  const cushim::Loaded loaded = Driver::load({.library = fake_path(fake).c_str()});
  if (!loaded) throw std::runtime_error(loaded.diagnosis.text());
  return *loaded;
}

class Resolution : public testing::TestWithParam<int> {
 protected:
  std::string fake() const { return std::to_string(GetParam()); }
};

TEST_P(Resolution, Every_row_up_to_the_driver_s_version_reaches_exactly_its_own_function) {
  Driver &driver = open(fake());
  const auto last_call = fake_function<int()>(fake(), "fake_last_call");
  int reached = 0;
  every_entry(driver, [&](int slot, const CushimEntryInfo &entry, int code) {
    if (entry.version > GetParam()) return;
    EXPECT_NE(code, CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND) << entry.symbol;
    EXPECT_EQ(last_call(), slot) << entry.symbol << " reached " << cushim_entry(last_call())->symbol;
    EXPECT_TRUE(cushim_supports(&driver, slot)) << entry.symbol;
    ++reached;
  });
  EXPECT_GT(reached, 450);
}

TEST_P(Resolution, Every_row_above_it_returns_302_and_was_never_asked_for) {
  Driver &driver = open(fake());
  const auto calls = fake_function<int()>(fake(), "fake_calls");
  every_entry(driver, [&, before = calls()](int slot, const CushimEntryInfo &entry, int code) mutable {
    if (entry.version > GetParam()) {
      EXPECT_EQ(code, CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND) << entry.symbol;
      EXPECT_EQ(calls(), before) << entry.symbol;
      EXPECT_FALSE(cushim_supports(&driver, slot)) << entry.symbol;
    }
    before = calls();
  });
  EXPECT_EQ(fake_function<int()>(fake(), "fake_lookups_too_new")(), 0);
}

INSTANTIATE_TEST_SUITE_P(Of, Resolution, testing::Values(11020, 11040, 12040, 13000, 13050),
                         [](const auto &parameter) { return std::to_string(parameter.param); });

TEST(Resolution, The_lookup_is_the_newest_that_the_driver_has) {
  EXPECT_EQ(open("11020").lookup(), CUSHIM_LOOKUP_DLSYM);
  EXPECT_EQ(open("11040").lookup(), CUSHIM_LOOKUP_GET_PROC_V1);
  EXPECT_EQ(open("12040").lookup(), CUSHIM_LOOKUP_GET_PROC_V2);
}

TEST(Resolution, A_driver_without_one_function_serves_the_others) {
  for (const char *fake : {"incomplete", "incomplete_11020"}) {
    Driver &driver = open(fake);
    EXPECT_EQ(driver.cuMemAllocAsync(nullptr, 0, nullptr), CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND) << fake;
    EXPECT_FALSE(driver.supports(Entry::cuMemAllocAsync)) << fake;
    EXPECT_EQ(driver.cuMemFreeAsync(0, nullptr), CUDA_SUCCESS) << fake;
    EXPECT_TRUE(driver.supports(Entry::cuMemFreeAsync)) << fake;
  }
}

TEST(Resolution, Why_an_entry_is_missing_is_said_in_words) {
  Driver &complete = open("12040");
  EXPECT_EQ(complete.why_missing(Entry::cuMemAllocAsync), "");
  EXPECT_EQ(
      complete.why_missing(Entry::cuMemcpyBatchAsync_v12080),
      "cuMemcpyBatchAsync was added in CUDA 12.8; the driver " + fake_path("12040") + " supports CUDA 12.4");
  EXPECT_EQ(open("incomplete").why_missing(Entry::cuMemAllocAsync),
            "the driver " + fake_path("incomplete") + " (CUDA 12.4) does not have cuMemAllocAsync");
  EXPECT_EQ(complete.why_missing(static_cast<Entry>(1000)), "slot 1000 is not an entry point");
}

TEST(Resolution, A_text_too_long_for_its_buffer_is_cut_and_its_length_still_told) {
  Driver &driver = open("12040");
  const int slot = static_cast<int>(Entry::cuMemcpyBatchAsync_v12080);
  const std::string whole = driver.why_missing(Entry::cuMemcpyBatchAsync_v12080);
  char text[10] = "unchanged";
  EXPECT_EQ(cushim_why_missing(&driver, slot, text, 5), whole.size());
  EXPECT_STREQ(text, "cuMe");
  EXPECT_EQ(cushim_why_missing(&driver, slot, nullptr, 0), whole.size());
}

TEST(Resolution, Slots_that_only_a_newer_cushim_knows_hold_a_stub) {
  Driver &driver = open("13050");
  EXPECT_EQ(driver.size, sizeof(CushimDriver));
  for (int slot = cushim_entry_count(); slot < CUSHIM_TABLE_CAPACITY; ++slot)
    ASSERT_EQ(call_slot(driver, slot), CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND) << slot;
  EXPECT_FALSE(cushim_supports(&driver, cushim_entry_count()));
  EXPECT_FALSE(cushim_supports(&driver, CUSHIM_TABLE_CAPACITY));
  EXPECT_FALSE(cushim_supports(&driver, -1));
}

TEST(Resolution, Functions_of_a_profiler_that_the_driver_returns_are_used_and_listed_with_their_library) {
  // The fake driver reads its environment at each lookup; no other test in this process opens this driver.
  const std::string profiler = fake_path("profiler");
  ASSERT_EQ(probe({"load", "call", "cuMemAlloc_v2", "call", "cuMemFree_v2", "object", "cuMemAlloc_v2",
                   "object", "cuMemFree_v2"},
                  {{"CUSHIM_LIBRARY", fake_path("12040")}, {"FAKE_PROFILER", profiler}}),
            lines({"cushim[ok]: the driver is usable (CUSHIM_LIBRARY: " + fake_path("12040") + ").",
                   std::to_string(CUDA_ERROR_PROFILER_ALREADY_STARTED), "0", profiler, fake_path("12040")}));
}

}  // namespace
