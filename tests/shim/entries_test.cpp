// SPDX-License-Identifier: Apache-2.0
// Queries of the list of entry points.
#include <cushim/load.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace {

std::string by_version(const char *base, int version, bool per_thread = false) {
  const int slot = cushim_find_version(base, version, per_thread);
  return slot < 0 ? "none" : cushim_entry(slot)->symbol;
}

TEST(Entries, Each_symbol_is_found_at_its_own_slot_and_no_two_rows_share_one) {
  std::set<std::string> symbols;
  for (int slot = 0; slot < cushim_entry_count(); ++slot) {
    EXPECT_EQ(cushim_find_symbol(cushim_entry(slot)->symbol), slot);
    symbols.insert(cushim_entry(slot)->symbol);
  }
  EXPECT_EQ(static_cast<int>(symbols.size()), cushim_entry_count());
}

TEST(Entries, There_is_none_before_the_first_or_beyond_the_last_or_by_an_unknown_name) {
  EXPECT_EQ(cushim_entry(-1), nullptr);
  EXPECT_EQ(cushim_entry(cushim_entry_count()), nullptr);
  EXPECT_EQ(cushim_find_symbol("cuNoSuchFunction"), -1);
  EXPECT_EQ(cushim_find_symbol(""), -1);
}

TEST(Entries, Each_row_is_what_its_base_version_and_thread_find) {
  for (int slot = 0; slot < cushim_entry_count(); ++slot) {
    const CushimEntryInfo *entry = cushim_entry(slot);
    EXPECT_EQ(cushim_find_version(entry->base, entry->version, entry->thread[0] != '\0'), slot)
        << entry->symbol;
  }
}

TEST(Entries, A_version_finds_the_newest_ABI_that_is_not_newer) {
  EXPECT_EQ(by_version("cuMemAlloc", 2000), "cuMemAlloc");
  EXPECT_EQ(by_version("cuMemAlloc", 3010), "cuMemAlloc");
  EXPECT_EQ(by_version("cuMemAlloc", 3020), "cuMemAlloc_v2");
  EXPECT_EQ(by_version("cuMemAlloc", 13000), "cuMemAlloc_v2");
  EXPECT_EQ(by_version("cuCtxCreate", 11030), "cuCtxCreate_v2");
  EXPECT_EQ(by_version("cuCtxCreate", 11040), "cuCtxCreate_v3");
}

TEST(Entries, A_version_from_before_the_function_finds_nothing) {
  EXPECT_EQ(by_version("cuMemAlloc", 1000), "none");
  EXPECT_EQ(by_version("cuMemAllocAsync", 11010), "none");
  EXPECT_EQ(by_version("cuNoSuchFunction", 13000), "none");
}

TEST(Entries, Per_thread_finds_the_variant_where_the_base_has_any_and_else_the_plain_function) {
  EXPECT_EQ(by_version("cuMemcpyHtoD", 12000, true), "cuMemcpyHtoD_v2_ptds");
  EXPECT_EQ(by_version("cuStreamQuery", 12000, true), "cuStreamQuery_ptsz");
  EXPECT_EQ(by_version("cuMemAlloc", 12000, true), "cuMemAlloc_v2");
}

TEST(Entries, Per_thread_finds_nothing_for_releases_from_before_the_variants) {
  EXPECT_EQ(by_version("cuStreamQuery", 6050), "cuStreamQuery");
  EXPECT_EQ(by_version("cuStreamQuery", 6050, true), "none");
}

}  // namespace
