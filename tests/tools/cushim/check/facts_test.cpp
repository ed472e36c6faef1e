// SPDX-License-Identifier: Apache-2.0
// Tests the facts that `cushim check` derives from a file about its use of the driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check/check_facts.hpp"
#include "elf_recipe.hpp"

namespace cushim::command {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

FileFacts facts_of(const ElfRecipe &recipe) { return inspect("file", make_elf(recipe)); }

std::vector<std::string> symbols_of(const EntryList &entries) {
  std::vector<std::string> symbols;
  for (const CushimEntryInfo *entry : entries) symbols.emplace_back(entry->symbol);
  return symbols;
}

std::vector<std::string> error_names(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("cudaErrorNumber" + std::to_string(i));
  return names;
}

TEST(CheckFacts, A_file_without_a_word_of_CUDA_is_not_concerned) {
  const FileFacts facts = facts_of({.needed = {"libc.so.6", "libcudata.so.3"},
                                    .dynamic_symbols = {{"printf"}, {"curl_easy_init"}},
                                    .texts = {"customer", "cube"}});
  EXPECT_FALSE(facts.uses_cuda());
  EXPECT_EQ(facts.floor(), nullptr);
}

TEST(CheckFacts, Linking_libcuda_is_seen_with_and_without_a_version) {
  EXPECT_TRUE(facts_of({.needed = {"libcuda.so.1"}}).links_driver);
  EXPECT_TRUE(facts_of({.needed = {"libcuda.so"}}).links_driver);
  EXPECT_FALSE(facts_of({.needed = {"libcudart.so.12"}}).links_driver);
}

TEST(CheckFacts, The_newest_import_sets_the_floor) {
  const FileFacts facts =
      facts_of({.dynamic_symbols = {{"cuMemAlloc"}, {"cuGetProcAddress_v2"}, {"cuMemAlloc_v2"}}});
  EXPECT_THAT(symbols_of(facts.imports), ElementsAre("cuGetProcAddress_v2", "cuMemAlloc", "cuMemAlloc_v2"));
  ASSERT_NE(facts.floor(), nullptr);
  EXPECT_STREQ(facts.floor()->symbol, "cuGetProcAddress_v2");
  EXPECT_EQ(facts.floor()->version, 12000);
}

TEST(CheckFacts, An_import_means_the_ABI_of_its_exact_symbol) {
  // The CUDA 13 headers map cuCtxGetDevice to the latter symbol.
  EXPECT_EQ(facts_of({.dynamic_symbols = {{"cuCtxGetDevice"}}}).floor()->version, 2000);
  EXPECT_EQ(facts_of({.dynamic_symbols = {{"cuCtxGetDevice_v2"}}}).floor()->version, 13000);
}

TEST(CheckFacts, A_weak_import_sets_no_floor) {
  const FileFacts facts = facts_of({.dynamic_symbols = {{"cuInit"}, {"cuCtxGetDevice_v2", false, true}}});
  EXPECT_STREQ(facts.floor()->symbol, "cuInit");
  EXPECT_THAT(symbols_of(facts.weak_imports), ElementsAre("cuCtxGetDevice_v2"));
}

TEST(CheckFacts, A_symbol_that_a_file_defines_is_not_an_import) {
  const FileFacts facts =
      facts_of({.dynamic_symbols = {{"cuInit", true}, {"cuDeviceGet", true}}, .texts = {"cuMemAlloc"}});
  EXPECT_EQ(facts.exports, 2);
  EXPECT_THAT(facts.imports, IsEmpty());
  EXPECT_THAT(facts.names, IsEmpty()) << "a driver names entry points that it does not use";
}

TEST(CheckFacts, Unknown_imports_that_look_like_entry_points_are_listed_for_files_that_link_the_driver) {
  const std::vector<RecipeSymbol> symbols = {{"cuFutureCall"}, {"cublasCreate_v2"}, {"curl_easy_init"}};
  EXPECT_THAT(facts_of({.needed = {"libcuda.so.1"}, .dynamic_symbols = symbols}).unknown,
              ElementsAre("cuFutureCall"));
  EXPECT_THAT(facts_of({.dynamic_symbols = symbols}).unknown, IsEmpty());
}

TEST(CheckFacts, Strings_that_equal_the_name_of_an_entry_point_are_hints) {
  const FileFacts facts = facts_of(
      {.texts = {"libcuda.so.1", "cuMemAlloc_v2", "cuGetProcAddress", "cuInit failed", "cublasCreate"}});
  EXPECT_TRUE(facts.names_library);
  EXPECT_FALSE(facts.links_driver);
  EXPECT_THAT(symbols_of(facts.names), ElementsAre("cuGetProcAddress", "cuMemAlloc_v2"));
  EXPECT_STREQ(facts.would_use()->symbol, "cuGetProcAddress");
  EXPECT_EQ(facts.floor(), nullptr);
}

TEST(CheckFacts, A_file_that_holds_cushim_gives_no_hints) {
  const FileFacts facts = facts_of(
      {.texts = {"libcuda.so.1", "cuMemAlloc_v2"}, .cushim = std::array<std::uint32_t, 3>{1, 22, 333}});
  EXPECT_EQ(facts.cushim, "1.22.333");
  EXPECT_THAT(facts.names, IsEmpty());
  EXPECT_TRUE(facts.uses_cuda());
}

TEST(CheckFacts, A_linked_cushim_is_seen) {
  EXPECT_EQ(facts_of({.needed = {"libcushim.so.1"}}).linked_cushim, "libcushim.so.1");
}

TEST(CheckFacts, A_linked_runtime_library_is_seen) {
  const RuntimeFacts runtime = facts_of({.needed = {"libcudart.so.13"}}).runtime;
  EXPECT_EQ(runtime.shared, "libcudart.so.13");
  EXPECT_FALSE(runtime.is_static);
}

TEST(CheckFacts, A_copy_of_the_runtime_library_is_seen_by_its_symbols) {
  const RuntimeFacts runtime = facts_of({.static_symbols = {{"cudaGetDeviceCount", true}}}).runtime;
  EXPECT_TRUE(runtime.is_static);
  EXPECT_FALSE(runtime.is_hint);
}

TEST(CheckFacts, A_call_of_the_runtime_library_is_not_a_copy) {
  EXPECT_FALSE(facts_of({.static_symbols = {{"cudaGetDeviceCount", false}}}).runtime.is_static);
}

TEST(CheckFacts, A_copy_in_a_stripped_file_is_seen_by_its_names_of_error_codes) {
  std::vector<std::string> texts = error_names(133);
  EXPECT_FALSE(facts_of({.texts = texts}).runtime.is_static) << "it cannot open the driver";
  texts.push_back("libcuda.so.1");
  const RuntimeFacts runtime = facts_of({.texts = texts}).runtime;
  EXPECT_TRUE(runtime.is_static);
  EXPECT_TRUE(runtime.is_hint);
}

TEST(CheckFacts, A_program_that_speaks_of_some_error_codes_holds_no_copy) {
  std::vector<std::string> texts = error_names(20);
  texts.push_back("libcuda.so.1");
  EXPECT_FALSE(facts_of({.texts = texts}).runtime.is_static);
}

TEST(CheckFacts, The_runtime_library_itself_is_not_a_copy) {
  const RuntimeFacts runtime =
      facts_of({.soname = "libcudart.so.13", .dynamic_symbols = {{"cudaGetDeviceCount", true}}}).runtime;
  EXPECT_TRUE(runtime.is_itself);
  EXPECT_FALSE(runtime.is_static);
}

TEST(CheckFacts, Device_code_is_seen_by_its_sections) {
  EXPECT_TRUE(facts_of({.sections = {".nv_fatbin"}}).runtime.has_device_code);
  EXPECT_TRUE(facts_of({.sections = {".nvFatBinSegment"}}).runtime.has_device_code);
  EXPECT_FALSE(facts_of({.sections = {".text"}}).runtime.has_device_code);
}

}  // namespace
}  // namespace cushim::command
