// SPDX-License-Identifier: Apache-2.0
// The text of `cushim doctor` for constructed reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/doctor.hpp"

namespace cushim::command {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> numbered(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("cuCall" + std::to_string(i));
  return names;
}

DoctorReport with_releases(const std::vector<ReleaseReport> &releases) {
  DoctorReport made;
  made.driver.emplace();
  made.driver->releases = releases;
  return made;
}

TEST(DoctorReport, Releases_that_are_wholly_there_or_wholly_missing_share_a_line) {
  const Outcome told =
      report(with_releases({{11000, 3, {}}, {11010, 4, {}}, {12000, 0, {"cuA"}}, {12010, 0, {"cuB"}}}));
  EXPECT_THAT(told.text, ContainsRegex("  11.0 to 11.1 +7 of 7"));
  EXPECT_THAT(told.text, ContainsRegex("  12.0 to 12.1 +0 of 2"));
  EXPECT_THAT(told.text, Not(HasSubstr("cuA")));
  EXPECT_EQ(told.json["driver"]["releases"].size(), 4u);
}

TEST(DoctorReport, A_release_that_is_there_in_part_has_a_line_with_what_is_missing) {
  const Outcome told = report(with_releases({{11000, 3, {"cuA"}}, {11010, 1, {"cuB"}}}));
  EXPECT_THAT(told.text, ContainsRegex("  11.0 +3 of 4 +missing: cuA\n"));
  EXPECT_THAT(told.text, ContainsRegex("  11.1 +1 of 2 +missing: cuB\n"));
}

TEST(DoctorReport, Many_names_are_cut_in_text_and_whole_in_json) {
  const Outcome told = report(with_releases({{11000, 1, numbered(20)}}));
  EXPECT_THAT(told.text, HasSubstr("and 8 more"));
  EXPECT_THAT(told.text, Not(HasSubstr("cuCall12")));
  EXPECT_EQ(told.json["driver"]["releases"][0]["missing"].size(), 20u);
}

TEST(DoctorReport, The_exit_code_follows_driver_and_problems) {
  DoctorReport made;
  EXPECT_EQ(report(made).exit, Exit::no_driver);
  made.driver.emplace();
  EXPECT_EQ(report(made).exit, Exit::good);
  made.problems.emplace_back();
  EXPECT_EQ(report(made).exit, Exit::finding);
}

TEST(DoctorReport, The_real_path_is_printed_beside_the_loaded_one) {
  DoctorReport made;
  made.driver.emplace();
  made.driver->path = "/usr/lib/libcuda.so.580.159";
  made.driver->loaded_as = "/usr/lib/libcuda.so.1";
  EXPECT_THAT(report(made).text,
              ContainsRegex("Driver +/usr/lib/libcuda.so.580.159\n  loaded as +/usr/lib/libcuda.so.1\n"));
  made.driver->loaded_as = made.driver->path;
  EXPECT_THAT(report(made).text, Not(HasSubstr("loaded as")));
}

TEST(DoctorReport, Values_whose_calls_failed_are_unknown_and_null) {
  DoctorReport made;
  made.devices.emplace_back();
  made.devices[0].failures = {"cuDeviceGet: CUDA_ERROR_INVALID_DEVICE (101)"};
  const Outcome told = report(made);
  EXPECT_THAT(told.text, ContainsRegex("Device 0 +unknown\n"));
  EXPECT_THAT(told.text, ContainsRegex("  failed +cuDeviceGet: CUDA_ERROR_INVALID_DEVICE"));
  EXPECT_TRUE(told.json["devices"][0]["memory"].is_null());
}

TEST(DoctorReport, A_call_that_failed_is_a_finding) {
  DoctorReport made;
  made.driver.emplace();
  made.devices.emplace_back();
  EXPECT_EQ(report(made).exit, Exit::good);
  made.devices[0].failures = {"cuDeviceGetName: CUDA_ERROR_UNKNOWN (999)"};
  EXPECT_EQ(report(made).exit, Exit::finding);
  EXPECT_THAT(report(made).text, Not(HasSubstr("No problems found")));
  EXPECT_FALSE(report(made).json["good"]);
}

}  // namespace
}  // namespace cushim::command
