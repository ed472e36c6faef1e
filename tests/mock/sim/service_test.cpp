// SPDX-License-Identifier: Apache-2.0
// The table of implemented entry points, and the lookup of ABI variants by name.
#include "api/service.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace cushim::sim {
namespace {

template <Name name>
void expect_variants(std::set<Entry> expected) {
  std::set<Entry> found;
  for (const int slot : kVariants<name>) found.insert(static_cast<Entry>(slot));
  EXPECT_EQ(found, expected) << name.view();
}

TEST(Variants, Of_a_base_name_are_those_of_all_versions) {
  expect_variants<"cuMemcpyHtoD">(
      {Entry::cuMemcpyHtoD_v2000, Entry::cuMemcpyHtoD_v3020, Entry::cuMemcpyHtoD_v7000_ptds});
  expect_variants<"cuInit">({Entry::cuInit_v2000});
}

TEST(Variants, Of_a_base_name_with_a_version_are_those_of_that_version) {
  expect_variants<"cuStreamGetCtx_v12050">({Entry::cuStreamGetCtx_v12050, Entry::cuStreamGetCtx_v12050_ptsz});
}

TEST(Variants, Of_an_unknown_name_do_not_exist) {
  expect_variants<"cuStreamGet">({});
  expect_variants<"cuStreamGetCtx_v1">({});
}

TEST(Service, Implements_a_per_thread_variant_if_and_only_if_it_implements_its_counterpart) {
  int per_thread_variants = 0;
  for (int slot = 0; slot < CUSHIM_ENTRY_COUNT; ++slot) {
    const std::string_view symbol = cushim::detail::symbols[slot];
    if (!symbol.ends_with("_ptsz") && !symbol.ends_with("_ptds")) continue;
    const auto counterpart = std::ranges::find(cushim::detail::symbols, symbol.substr(0, symbol.size() - 5));
    ASSERT_NE(counterpart, std::ranges::end(cushim::detail::symbols)) << symbol;
    const int other = static_cast<int>(counterpart - std::ranges::begin(cushim::detail::symbols));
    EXPECT_EQ(Service::all().serves(slot), Service::all().serves(other)) << symbol;
    per_thread_variants += Service::all().serves(slot);
  }
  EXPECT_GT(per_thread_variants, 0);
}

}  // namespace
}  // namespace cushim::sim
