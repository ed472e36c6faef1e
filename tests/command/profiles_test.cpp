// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run.hpp"

namespace cushim::command {
namespace {

using testing::HasSubstr;

TEST(ProfilesVerb, Lists_each_built_in_device_with_memory_compute_capability_status_and_source) {
  const Finished listed = run({"profiles"});
  EXPECT_EQ(listed.exit, 0);
  EXPECT_THAT(listed.out,
              HasSubstr("h200     NVIDIA H200               139.8 GiB  compute 9.0   measured\n"));
  const nlohmann::json json = run({"profiles", "--json"}).json();
  EXPECT_EQ(json["profiles"].size(), 7u);
  for (const nlohmann::json &profile : json["profiles"])
    for (const char *key : {"id", "name", "total_memory", "compute_capability", "status", "source"})
      EXPECT_TRUE(profile.contains(key)) << key;
}

TEST(ProfilesVerb, Prints_every_attribute_of_a_named_machine_and_which_are_estimated) {
  const nlohmann::json json = run({"profiles", "h200,l4;driver=11080", "--json"}).json();
  EXPECT_EQ(json["driver"], 11080);
  ASSERT_EQ(json["devices"].size(), 2u);
  EXPECT_EQ(json["devices"][0]["attributes"]["warp_size"], 32);
  EXPECT_EQ(json["devices"][0]["attributes"].size(), 124u);
  EXPECT_FALSE(json["devices"][0].contains("estimated"));
  EXPECT_THAT(json["devices"][1]["estimated"], testing::Contains("max_pitch"));
  EXPECT_THAT(run({"profiles", "l4"}).out, HasSubstr("  multiprocessor_count "));
}

TEST(ProfilesVerb, A_wrong_name_is_a_usage_error_that_names_the_nearest) {
  const Finished wrong = run({"profiles", "h20"});
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_EQ(wrong.out, "");
  EXPECT_THAT(wrong.error, HasSubstr("did you mean \"h200\"?"));
}

}  // namespace
}  // namespace cushim::command
