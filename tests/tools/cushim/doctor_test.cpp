// SPDX-License-Identifier: Apache-2.0
// Runs `cushim doctor` on a fake driver that can be made to misbehave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "support/run_command.hpp"

namespace cushim::command {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Joins wrapped lines: the line breaks depend on the length of a path.
std::string unwrapped(const std::string &text) { return std::regex_replace(text, std::regex("\n +"), " "); }

const std::string on_fake = "CUSHIM_LIBRARY=" FAKE_GPU;

TEST(Doctor, A_good_driver_is_reported_with_its_device) {
  const Finished doctor = run({"doctor"}, {on_fake});
  EXPECT_EQ(doctor.exit, 0);
  EXPECT_EQ(doctor.error, "");
  EXPECT_THAT(unwrapped(doctor.out), HasSubstr(FAKE_GPU " (CUSHIM_LIBRARY): accepted"));
  EXPECT_THAT(doctor.out, HasSubstr(on_fake));
  EXPECT_THAT(doctor.out, HasSubstr("12.4 (12040)"));
  EXPECT_THAT(doctor.out, HasSubstr("all in the driver's own library"));
  EXPECT_THAT(doctor.out, HasSubstr("Device 0      Fake GPU\n"));
  EXPECT_THAT(doctor.out, HasSubstr("8.0 GiB (8589934592 bytes)"));
  EXPECT_THAT(doctor.out, HasSubstr("9.1\n"));
  EXPECT_THAT(doctor.out, HasSubstr("GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf\n"));
  EXPECT_THAT(doctor.out, HasSubstr("0000:1B:00.0\n"));
  EXPECT_THAT(doctor.out, HasSubstr("No problems found.\n"));
  EXPECT_THAT(doctor.out, Not(HasSubstr("SIMULATED")));
}

TEST(Doctor, Json_has_all_of_it) {
  const json found = run({"doctor", "--json"}, {on_fake}).json();
  EXPECT_EQ(found["good"], true);
  EXPECT_EQ(found["problems"], json::array());
  EXPECT_EQ(found["tried"][0]["outcome"], "ok");
  EXPECT_EQ(found["environment"]["CUSHIM_LIBRARY"], FAKE_GPU);
  EXPECT_EQ(found["driver"]["path"], FAKE_GPU);
  EXPECT_EQ(found["driver"]["simulated"], false);
  EXPECT_EQ(found["driver"]["version"], 12040);
  EXPECT_EQ(found["driver"]["newest_toolkit"], "12.4");
  EXPECT_EQ(found["driver"]["lookup"], "cuGetProcAddress_v2");
  EXPECT_EQ(found["driver"]["interposed"], false);
  EXPECT_EQ(found["failures"], json::array());
  EXPECT_EQ(found["devices"], json::parse(R"([{"number": 0, "name": "Fake GPU", "memory": 8589934592,
      "compute_capability": "9.1", "uuid": "GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf",
      "pci": "0000:1B:00.0", "failures": []}])"));
}

TEST(Doctor, Releases_add_up_to_all_entry_points) {
  const json driver = run({"doctor", "--json"}, {on_fake}).json()["driver"];
  int resolved = 0;
  int total = 0;
  for (const json &release : driver["releases"]) {
    resolved += release["resolved"].get<int>();
    total += release["total"].get<int>();
    EXPECT_EQ(release["resolved"].get<std::size_t>() + release["missing"].size(),
              release["total"].get<std::size_t>());
  }
  EXPECT_EQ(resolved, driver["entry_points"]["resolved"]);
  EXPECT_EQ(total, driver["entry_points"]["known"]);
  EXPECT_GT(resolved, 0);
}

TEST(Doctor, The_library_option_goes_before_the_environment) {
  const json found = run({"doctor", "--json", "--library", FAKE_GPU}, {"CUSHIM_LIBRARY=none"}).json();
  EXPECT_EQ(found["tried"][0]["source"], "given");
  EXPECT_EQ(found["driver"]["path"], FAKE_GPU);
}

TEST(Doctor, Without_a_driver_the_diagnosis_comes_first_and_the_exit_code_is_3) {
  const Finished doctor = run({"doctor"}, {"CUSHIM_LIBRARY=none"});
  EXPECT_EQ(doctor.exit, 3);
  EXPECT_THAT(doctor.out, StartsWith("cushim[driver-disabled]\n  what "));
  EXPECT_THAT(doctor.out, HasSubstr("\n  to do "));
  EXPECT_THAT(doctor.out, HasSubstr("none (CUSHIM_LIBRARY): driver-disabled"));
  const json found = run({"doctor", "--json"}, {"CUSHIM_LIBRARY=none"}).json();
  EXPECT_EQ(found["good"], false);
  EXPECT_EQ(found["problems"][0]["id"], "driver-disabled");
  EXPECT_TRUE(found["driver"].is_null());
  EXPECT_EQ(found["devices"], json::array());
}

TEST(Doctor, A_library_that_is_not_a_driver_is_reported_as_such) {
  const Finished doctor = run({"doctor", "--library", FAKE_GPU_INTERPOSER});
  EXPECT_EQ(doctor.exit, 3);
  EXPECT_THAT(doctor.out, StartsWith("cushim[not-a-driver]\n"));
  EXPECT_EQ(run({"doctor", "--library", "/no/such/libcuda.so.1"}).exit, 3);
}

TEST(Doctor, A_driver_older_than_required_is_a_finding_and_still_examined) {
  const Finished doctor = run({"doctor", "--at-least", "12.5"}, {on_fake});
  EXPECT_EQ(doctor.exit, 1);
  EXPECT_THAT(doctor.out, StartsWith("cushim[driver-too-old]\n"));
  EXPECT_THAT(doctor.out, HasSubstr("Fake GPU"));
  EXPECT_EQ(run({"doctor", "--at-least", "12.4"}, {on_fake}).exit, 0);
}

TEST(Doctor, A_driver_that_does_not_initialize_is_a_finding_and_still_examined) {
  const Finished doctor = run({"doctor"}, {on_fake, "FAKE_GPU_INIT=802"});
  EXPECT_EQ(doctor.exit, 1);
  EXPECT_THAT(doctor.out, StartsWith("cushim[fabric-manager]\n"));
  EXPECT_THAT(doctor.out, HasSubstr("12.4 (12040)"));
  EXPECT_THAT(doctor.out, Not(HasSubstr("Device 0")));
}

TEST(Doctor, Every_problem_is_reported) {
  const json problems =
      run({"doctor", "--json", "--at-least", "13.0"}, {on_fake, "FAKE_GPU_INIT=803"}).json()["problems"];
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0]["id"], "driver-too-old");
  EXPECT_EQ(problems[1]["id"], "kernel-mismatch");
  EXPECT_EQ(problems[1]["code"], 803);
}

TEST(Doctor, A_name_sets_no_title_and_forges_no_line) {
  const std::string name = "\x1b]0;owned\a\nNo problems found.";
  const Finished missing = run({"doctor", "--library", "/nowhere/" + name});
  const Finished opened = run({"doctor"}, {on_fake, "CUDA_VISIBLE_DEVICES=" + name});
  for (const Finished &doctor : {missing, opened}) {
    EXPECT_EQ(doctor.out.find('\x1b'), std::string::npos);
    EXPECT_THAT(doctor.out, HasSubstr("\\x1b]0;owned\\x07\\nNo problems found."));
  }
  EXPECT_EQ(missing.out.find("\nNo problems found."), std::string::npos);
}

TEST(Doctor, No_device_is_a_finding) {
  const Finished doctor = run({"doctor"}, {on_fake, "FAKE_GPU_DEVICES=0", "CUDA_VISIBLE_DEVICES="});
  EXPECT_EQ(doctor.exit, 1);
  EXPECT_THAT(doctor.out, StartsWith("cushim[device-hidden]\n"));
  EXPECT_THAT(doctor.out, HasSubstr("CUDA_VISIBLE_DEVICES=\n"));
}

TEST(Doctor, Entry_points_of_another_library_are_listed_by_name) {
  const Finished doctor = run({"doctor"}, {on_fake, "FAKE_GPU_INTERPOSED=1"});
  EXPECT_EQ(doctor.exit, 0);
  EXPECT_THAT(doctor.out, ContainsRegex("  interposed +2 entry points are in"));
  EXPECT_THAT(doctor.out, Not(HasSubstr("all in the driver's own library")));
  const json driver = run({"doctor", "--json"}, {on_fake, "FAKE_GPU_INTERPOSED=1"}).json()["driver"];
  EXPECT_EQ(driver["interposed"], true);
  const auto other = std::find_if(driver["objects"].begin(), driver["objects"].end(),
                                  [](const json &object) { return !object["is_driver"].get<bool>(); });
  ASSERT_NE(other, driver["objects"].end());
  EXPECT_EQ((*other)["path"], FAKE_GPU_INTERPOSER);
  EXPECT_EQ((*other)["symbols"], json({"cuEventQuery", "cuEventRecord"}));
}

TEST(Doctor, SIMULATED_is_the_first_word_for_a_simulated_driver) {
  const Finished doctor = run({"doctor"}, {"CUSHIM_LIBRARY=" FAKE_GPU_SIMULATED});
  EXPECT_EQ(doctor.exit, 0);
  EXPECT_THAT(doctor.out, StartsWith("SIMULATED: "));
  EXPECT_EQ(run({"doctor", "--json", "--library", FAKE_GPU_SIMULATED}).json()["driver"]["simulated"], true);
}

TEST(Doctor, A_device_whose_calls_all_fail_is_listed_with_its_failures) {
  const json device = run({"doctor", "--json"}, {on_fake, "FAKE_GPU_BROKEN=999"}).json()["devices"][0];
  for (const char *key : {"name", "memory", "compute_capability", "uuid", "pci"})
    EXPECT_TRUE(device[key].is_null()) << key;
  EXPECT_EQ(device["failures"][0], "cuDeviceGetName: CUDA_ERROR_UNKNOWN (999)");
  EXPECT_EQ(device["failures"].size(), 5u);
}

TEST(Doctor, Texts_without_an_end_and_not_in_utf8_do_no_harm) {
  const Finished doctor = run({"doctor", "--json"}, {on_fake, "FAKE_GPU_RUDE=1"});
  EXPECT_EQ(doctor.exit, 0);
  EXPECT_TRUE(doctor.json()["devices"][0]["name"].is_string());
  EXPECT_EQ(run({"doctor"}, {on_fake, "FAKE_GPU_RUDE=1"}).exit, 0);
}

TEST(Doctor, An_implausible_device_count_is_reported_and_no_device_is_queried) {
  const json found = run({"doctor", "--json"}, {on_fake, "FAKE_GPU_DEVICES=2000000000"}).json();
  EXPECT_EQ(found["devices"].size(), 1024u);
  EXPECT_THAT(found["failures"][0].get<std::string>(), HasSubstr("returned 2000000000 devices"));
  const json negative = run({"doctor", "--json"}, {on_fake, "FAKE_GPU_DEVICES=-1"}).json();
  EXPECT_EQ(negative["devices"], json::array());
  EXPECT_THAT(negative["failures"][0].get<std::string>(), HasSubstr("returned -1 devices"));
}

TEST(Doctor, A_driver_before_11_4_is_asked_for_the_first_form_of_the_uuid) {
  const json found = run({"doctor", "--json"}, {on_fake, "FAKE_GPU_VERSION=11020"}).json();
  EXPECT_EQ(found["devices"][0]["uuid"], "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f");
}

}  // namespace
}  // namespace cushim::command
