// SPDX-License-Identifier: Apache-2.0
// The table layout is the same for all headers, both languages, and both kinds of default stream.
#include <cushim/load.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string_view>
#include <vector>

#include "view.h"

View *views;

namespace {

using testing::ElementsAreArray;

TEST(Layout, Every_translation_unit_sees_the_same_table_under_all_headers_and_streams_in_C_and_in_Cpp) {
  int compared = 0;
  for (const View *view = views; view != nullptr; view = view->next, ++compared) {
    SCOPED_TRACE(view->name);
    EXPECT_EQ(view->size, (CUSHIM_TABLE_CAPACITY + 2) * sizeof(void *));
    ASSERT_EQ(view->entries, cushim_entry_count());
    for (int slot = 0; slot < view->entries; ++slot)
      EXPECT_EQ(view->offsets[slot], (static_cast<std::size_t>(slot) + 2) * sizeof(void *))
          << cushim_entry(slot)->symbol;
  }
  EXPECT_EQ(compared, 4 * CUSHIM_TEST_TOOLKIT_COUNT);
}

TEST(Layout, A_function_named_in_supports_is_the_same_slot_under_all_headers_and_streams) {
  std::vector<int> expected;
  for (const char *symbol : {"cuInit", "cuMemAlloc_v2", "cuDeviceTotalMem_v2", "cuCtxDestroy_v2",
                             "cuEventDestroy_v2", "cuMemAlloc_v2", "cuMemAlloc", "cuMemcpyHtoD_v2_ptds",
                             "cuStreamQuery_ptsz", "cuCtxCreate_v4", "cuGetProcAddress_v2"})
    expected.push_back(cushim_find_symbol(symbol));
  int compared = 0;
  for (const View *view = views; view != nullptr; view = view->next) {
    if (view->slots == nullptr) continue;
    EXPECT_THAT(std::vector<int>(view->slots, view->slots + view->slot_count), ElementsAreArray(expected))
        << view->name;
    ++compared;
  }
  EXPECT_EQ(compared, 2 * CUSHIM_TEST_TOOLKIT_COUNT);
}

TEST(Layout, A_name_means_its_per_thread_variant_only_where_per_thread_default_streams_are_asked_for) {
  for (const View *view = views; view != nullptr; view = view->next) {
    if (view->slots == nullptr) continue;
    const bool per_thread = std::string_view(view->name).find("per_thread") != std::string_view::npos;
    EXPECT_STREQ(cushim_entry(view->stream_query)->symbol,
                 per_thread ? "cuStreamQuery_ptsz" : "cuStreamQuery")
        << view->name;
  }
}

TEST(Layout, The_views_that_were_compared_come_from_as_many_releases_as_were_given) {
  std::set<int> releases;
  for (const View *view = views; view != nullptr; view = view->next) releases.insert(view->cuda_version);
  EXPECT_GE(static_cast<int>(releases.size()), CUSHIM_TEST_RELEASE_COUNT);
}

}  // namespace
