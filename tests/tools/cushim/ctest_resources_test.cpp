// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/run_command.hpp"

namespace cushim::command {
namespace {

using testing::HasSubstr;

const std::string library = "CUSHIM_LIBRARY=" FAKE_GPU;

TEST(CTestResources, Are_the_drivers_devices_with_a_slot_each) {
  const Finished two = run({"ctest-resources"}, {library, "FAKE_GPU_DEVICES=2"});
  EXPECT_EQ(two.exit, 0) << two.error;
  const auto json = two.json();
  EXPECT_EQ(json["version"], (nlohmann::json{{"major", 1}, {"minor", 0}}));
  EXPECT_EQ(json["local"],
            nlohmann::json::parse(R"([{"gpus": [{"id": "0", "slots": 1}, {"id": "1", "slots": 1}]}])"));
}

TEST(CTestResources, Have_as_many_slots_as_asked_for) {
  const Finished five = run({"ctest-resources", "--slots", "5", "--library", FAKE_GPU});
  EXPECT_EQ(five.json()["local"][0]["gpus"][0]["slots"], 5);
  for (const char *wrong : {"0", "-1", "many"}) {
    const Finished refused = run({"ctest-resources", "--slots", wrong}, {library});
    EXPECT_EQ(refused.exit, 2) << wrong;
    EXPECT_THAT(refused.error, HasSubstr("--slots")) << wrong;
  }
}

TEST(CTestResources, Go_into_a_file) {
  const std::string file =
      std::filesystem::temp_directory_path() / ("cushim_resources_" + std::to_string(getpid()) + ".json");
  const Finished written = run({"ctest-resources", "--output", file},
                               {"CUSHIM_LIBRARY=" FAKE_GPU_SIMULATED, "FAKE_GPU_DEVICES=3"});
  EXPECT_EQ(written.exit, 0);
  EXPECT_EQ(written.out, file + ": 3 SIMULATED GPUs with 1 slot each\n");
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  std::filesystem::remove(file);
  EXPECT_EQ(nlohmann::json::parse(text.str())["local"][0]["gpus"].size(), 3U);

  const Finished not_written = run({"ctest-resources", "--output", "/nonexistent/file"}, {library});
  EXPECT_EQ(not_written.exit, 2);
  EXPECT_THAT(not_written.error, HasSubstr("cannot write /nonexistent/file: No such file"));
}

TEST(CTestResources, Without_a_driver_or_a_device_are_not_written) {
  const Finished no_driver = run({"ctest-resources"}, {"CUSHIM_LIBRARY=none"});
  EXPECT_EQ(no_driver.exit, 3);
  EXPECT_EQ(no_driver.out, "");
  EXPECT_THAT(no_driver.error, HasSubstr("driver-disabled"));
  const Finished no_device = run({"ctest-resources"}, {library, "FAKE_GPU_DEVICES=0"});
  EXPECT_EQ(no_device.exit, 1);
  EXPECT_EQ(no_device.out, "");
  EXPECT_NE(no_device.error, "");
}

}  // namespace
}  // namespace cushim::command
