// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "support/run_command.hpp"

namespace cushim::command {
namespace {

using testing::HasSubstr;

TEST(ProfilesVerb, Lists_each_built_in_device_with_memory_compute_capability_status_and_source) {
  EXPECT_THAT(output_of({"profiles"}),
              HasSubstr("h200     NVIDIA H200               139.8 GiB  compute 9.0   measured\n"));
  const nlohmann::json json = run({"profiles", "--json"}).json();
  EXPECT_EQ(json["profiles"].size(), 7u);
  for (const nlohmann::json &profile : json["profiles"])
    for (const char *key : {"id", "name", "total_memory", "compute_capability", "status", "source"})
      EXPECT_TRUE(profile.contains(key)) << key;
}

TEST(ProfilesVerb, Prints_every_value_of_a_named_machine_with_its_status_and_source) {
  const nlohmann::json json = run({"profiles", "h200,l4;driver=11.8", "--json"}).json();
  EXPECT_EQ(json["driver"], 11080);
  ASSERT_EQ(json["devices"].size(), 2u);
  const nlohmann::json &h200 = json["devices"][0]["values"], &l4 = json["devices"][1]["values"];
  EXPECT_EQ(h200["attributes.warp_size"]["value"], 32);
  EXPECT_EQ(h200["attributes.warp_size"]["status"], "measured");
  EXPECT_EQ(h200["peer.bandwidth"]["status"], "estimated");
  EXPECT_EQ(l4["attributes.multiprocessor_count"]["value"], 58);
  EXPECT_EQ(l4["attributes.multiprocessor_count"]["status"], "published");
  EXPECT_FALSE(l4.contains("attributes.numa_id")) << "later than the driver";
  EXPECT_EQ(l4["attributes.texture_pitch_alignment"]["source"], "as the h200");
  EXPECT_THAT(run({"profiles", "l4"}).out,
              HasSubstr("    attributes.multiprocessor_count                                      58\n"));
}

TEST(ProfilesVerb, Prints_which_devices_reach_each_other) {
  const nlohmann::json json = run({"profiles", "l4x2,h200", "--json"}).json();
  ASSERT_EQ(json["links"].size(), 2u);
  EXPECT_EQ(json["links"][0]["from"], 0);
  EXPECT_EQ(json["links"][0]["to"], 1);
  EXPECT_EQ(json["links"][0]["native_atomics"], false);
  EXPECT_THAT(run({"profiles", "h200x2"}).out, HasSubstr("Device 1 reaches 0: 380 GB/s, native atomics, "));
}

TEST(ProfilesVerb, Reads_a_file_and_names_the_line_of_what_is_wrong_with_it) {
  const std::string path = testing::TempDir() + "mine.json";
  std::ofstream(path) << "{\"id\": \"mine\", \"like\": \"l4\",\n\"total_memroy\": 5}\n";
  const Finished wrong = run({"profiles", path});
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_THAT(wrong.error, HasSubstr("mine.json:2: there is no \"total_memroy\" in the file; did you mean"));
  std::ofstream(path) << "{\"id\": \"mine\", \"like\": \"l4\",\n\"total_memory\": 5}\n";
  EXPECT_EQ(run({"profiles", path, "--json"}).json()["devices"][0]["total_memory"], 5);
}

TEST(ProfilesVerb, A_pipe_and_an_endless_file_are_refused) {
  const std::string path = testing::TempDir() + "pipe.json";
  unlink(path.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const Finished pipe = run({"profiles", path});
  EXPECT_EQ(pipe.exit, 2);
  EXPECT_THAT(pipe.error, HasSubstr("pipe.json\" is a directory, device or pipe, not a file"));
  unlink(path.c_str());
  ASSERT_EQ(symlink("/dev/zero", path.c_str()), 0);
  EXPECT_EQ(run({"profiles", path}).exit, 2);
  unlink(path.c_str());
  std::ofstream(path) << "{\"id\": \"" << std::string(2 << 20, 'a') << "\"}";
  EXPECT_THAT(run({"profiles", path}).error, HasSubstr("is longer than the limit of 1 MiB"));
  unlink(path.c_str());
}

TEST(ProfilesVerb, A_wrong_name_is_a_usage_error_that_names_the_nearest) {
  const Finished wrong = run({"profiles", "h20"});
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_EQ(wrong.out, "");
  EXPECT_THAT(wrong.error, HasSubstr("did you mean \"h200\"?"));
}

}  // namespace
}  // namespace cushim::command
