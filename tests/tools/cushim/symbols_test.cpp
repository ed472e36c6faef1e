// SPDX-License-Identifier: Apache-2.0
#include "symbols/symbols.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "support/run_command.hpp"

namespace cushim::command {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// Returns the symbols in the command's JSON output.
std::set<std::string> symbols_of(const Finished &listed) {
  std::set<std::string> symbols;
  const nlohmann::json json = listed.json();
  for (const nlohmann::json &entry : json["entries"]) symbols.insert(entry["symbol"]);
  return symbols;
}

const std::string on_fake = "CUSHIM_LIBRARY=" FAKE_GPU;

TEST(Symbols, Without_a_filter_the_whole_list_is_there) {
  EXPECT_THAT(find_symbols({}, nullptr), SizeIs(cushim_entry_count()));
}

TEST(Symbols, A_pattern_chooses_every_abi_and_variant_in_order) {
  std::vector<std::string> found;
  for (const SymbolRow &row : find_symbols({.pattern = "cumemcpyhtod_v2*"}, nullptr))
    found.push_back(row.entry.symbol);
  EXPECT_THAT(found, ElementsAre("cuMemcpyHtoD_v2", "cuMemcpyHtoD_v2_ptds"));
}

TEST(Symbols, Since_leaves_out_what_came_before) {
  const std::vector<SymbolRow> rows = find_symbols({.since = 12000}, nullptr);
  EXPECT_THAT(rows, AllOf(Not(IsEmpty()), SizeIs(testing::Lt(cushim_entry_count()))));
  for (const SymbolRow &row : rows) EXPECT_THAT(row.entry.version, Ge(12000)) << row.entry.symbol;
}

TEST(Symbols, Per_thread_leaves_only_those_variants) {
  const std::vector<SymbolRow> rows = find_symbols({.per_thread = true}, nullptr);
  EXPECT_THAT(rows, Not(IsEmpty()));
  for (const SymbolRow &row : rows) EXPECT_STRNE(row.entry.thread, "") << row.entry.symbol;
}

TEST(Symbols, Presence_is_unknown_without_a_driver) {
  for (const SymbolRow &row : find_symbols({.pattern = "cuInit"}, nullptr)) EXPECT_FALSE(row.present);
  const Finished listed = run({"symbols", "cuInit"}, {"CUSHIM_LIBRARY=none"});
  EXPECT_EQ(listed.exit, 0);
  EXPECT_THAT(listed.out, HasSubstr("?\n"));
}

TEST(Symbols, A_driver_is_asked_what_it_has) {
  const Finished listed = run({"symbols", "cuDeviceGetUuid*"}, {on_fake, "FAKE_GPU_VERSION=11020"});
  EXPECT_EQ(listed.exit, 0);
  EXPECT_THAT(listed.out, testing::ContainsRegex("cuDeviceGetUuid +cuDeviceGetUuid +9.2 +- +yes\n"));
  EXPECT_THAT(listed.out, testing::ContainsRegex("cuDeviceGetUuid_v2 +cuDeviceGetUuid +11.4 +- +no\n"));
}

TEST(Symbols, Present_and_missing_together_are_the_whole_list) {
  const std::set<std::string> present = symbols_of(run({"symbols", "--present", "--json"}, {on_fake}));
  const std::set<std::string> missing = symbols_of(run({"symbols", "--missing", "--json"}, {on_fake}));
  EXPECT_THAT(present, testing::IsSupersetOf({"cuInit", "cuDeviceTotalMem_v2", "cuEventRecord"}));
  EXPECT_THAT(missing, testing::IsSupersetOf({"cuMemAlloc_v2", "cuEventRecord_ptsz"}));
  EXPECT_EQ(present.size() + missing.size(), static_cast<std::size_t>(cushim_entry_count()));
}

TEST(Symbols, Presence_cannot_be_filtered_without_a_driver) {
  for (const char *flag : {"--present", "--missing"}) {
    const Finished listed = run({"symbols", flag}, {"CUSHIM_LIBRARY=none"});
    EXPECT_EQ(listed.exit, 3) << flag;
    EXPECT_THAT(listed.out, HasSubstr("cushim[driver-disabled]")) << flag;
  }
}

TEST(Symbols, Present_and_missing_exclude_each_other) {
  EXPECT_EQ(run({"symbols", "--present", "--missing"}, {on_fake}).exit, 2);
}

TEST(Symbols, No_match_is_a_finding) {
  const Finished listed = run({"symbols", "cuNoSuchThing"}, {"CUSHIM_LIBRARY=none"});
  EXPECT_EQ(listed.exit, 1);
  EXPECT_EQ(listed.out, "No entry point matches.\n");
}

TEST(Symbols, Since_takes_a_release_and_nothing_else) {
  EXPECT_EQ(run({"symbols", "--since", "12.4"}, {"CUSHIM_LIBRARY=none"}).exit, 0);
  EXPECT_EQ(run({"symbols", "--since", "new"}, {"CUSHIM_LIBRARY=none"}).exit, 2);
}

TEST(Symbols, Json_has_the_columns_of_the_text) {
  const Finished listed = run({"symbols", "cuMemcpyHtoD_v2_ptds", "--json"}, {on_fake});
  EXPECT_EQ(listed.json()["driver"], FAKE_GPU);
  EXPECT_EQ(listed.json()["entries"], nlohmann::json::parse(R"([{"symbol": "cuMemcpyHtoD_v2_ptds",
      "base": "cuMemcpyHtoD", "release": "7.0", "thread": "_ptds", "present": false}])"));
  const nlohmann::json without = run({"symbols", "cuInit", "--json"}, {"CUSHIM_LIBRARY=none"}).json();
  EXPECT_TRUE(without["driver"].is_null());
  EXPECT_TRUE(without["entries"][0]["present"].is_null());
}

}  // namespace
}  // namespace cushim::command
