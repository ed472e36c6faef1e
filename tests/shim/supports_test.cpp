// SPDX-License-Identifier: Apache-2.0
// The three ways to check whether a driver has an entry point.
#include <gtest/gtest.h>
#include <cushim/driver.hpp>

#include "child.hpp"
#include "support/fakes.hpp"

namespace {

using cushim::Driver;
using cushim::Entry;

Driver &open(const char *fake) { return *Driver::load({.library = fake_path(fake).c_str()}); }

TEST(Supports, All_three_forms_agree_on_what_is_served) {
  Driver &driver = open("12040");
  EXPECT_TRUE(driver.supports<&cuMemAlloc>());
  EXPECT_TRUE(driver.supports(Entry::cuMemAlloc));
  EXPECT_TRUE(driver.supports("cuMemAlloc", 3020));
}

TEST(Supports, All_three_forms_agree_on_what_came_later) {
  Driver &driver = open("11020");
  EXPECT_FALSE(driver.supports<&cuGetProcAddress>());
  EXPECT_FALSE(driver.supports(Entry::cuGetProcAddress));
  EXPECT_FALSE(driver.supports("cuGetProcAddress", 12000));
}

TEST(Supports, An_ABI_is_told_from_an_older_one_of_the_same_name) {
  Driver &driver = open("11020");
  EXPECT_TRUE(driver.supports("cuCtxCreate", 3020));
  EXPECT_FALSE(driver.supports("cuCtxCreate", 11040));
  EXPECT_TRUE(driver.supports(Entry::cuCtxCreate_v3020));
  EXPECT_FALSE(driver.supports(Entry::cuCtxCreate_v11040));
}

TEST(Supports, A_per_thread_variant_is_asked_for_by_flag_or_by_name) {
  Driver &driver = open("12040");
  EXPECT_TRUE(driver.supports("cuStreamQuery", 12000, true));
  EXPECT_TRUE(driver.supports(Entry::cuStreamQuery_ptsz));
  EXPECT_TRUE(driver.supports(Entry::cuStreamQuery_v7000_ptsz));
}

TEST(Supports, A_row_newer_than_these_headers_can_be_asked_for) {
  EXPECT_FALSE(open("12040").supports(Entry::cuCtxCreate_v12050));
  EXPECT_TRUE(open("13050").supports(Entry::cuCtxCreate_v12050));
}

TEST(Supports, A_name_that_does_not_exist_is_not_supported) {
  EXPECT_FALSE(open("12040").supports("cuNoSuchFunction", 12000));
  EXPECT_FALSE(open("12040").supports("", 12000));
}

TEST(Supports, The_free_forms_ask_the_current_driver) {
  const cushim::ScopedDriver old(open("11020"));
  EXPECT_FALSE(cushim::supports<&cuGetProcAddress>());
  const cushim::ScopedDriver recent(open("12040"));
  EXPECT_TRUE(cushim::supports<&cuGetProcAddress>());
  EXPECT_TRUE(cushim::supports(Entry::cuGetProcAddress));
  EXPECT_TRUE(cushim::supports("cuGetProcAddress", 12000));
}

TEST(Supports, Asking_opens_the_default_driver) {
  EXPECT_EQ(
      probe({"version", "why-missing", "cuMemAlloc_v2", "version"}, {{"CUSHIM_LIBRARY", fake_path("12040")}}),
      lines({"0", "served", "12040"}));
}

}  // namespace
