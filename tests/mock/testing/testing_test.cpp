// SPDX-License-Identifier: Apache-2.0
// Runs programs of cushim::testing as CTest or a user does.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "support/sanitizers.hpp"

namespace {

struct Finished {
  int exit = -1;  // exit status of the shell: 128 + signal number if a signal ended the program
  std::string output;
  bool says(const std::string &text) const { return output.find(text) != output.npos; }
};
std::ostream &operator<<(std::ostream &stream, const Finished &run) {
  return stream << "exit " << run.exit << "\n" << run.output;
}

// Returns only after every process that holds the program's output has ended.
Finished run(const std::string &arguments, const std::string &environment = "") {
  const std::string line =
      "unset ${!CUSHIM_@}; " + environment + " " CUSHIM_PROGRAM " " + arguments + " 2>&1";
  std::FILE *pipe = popen(("exec bash -c '" + line + "'").c_str(), "r");
  Finished result;
  char part[4096];
  while (const std::size_t got = std::fread(part, 1, sizeof part, pipe)) result.output.append(part, got);
  const int status = pclose(pipe);
  result.exit = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}
Finished run_on_sim(const std::string &filter, const std::string &arguments = "",
                    const std::string &environment = "") {
  return run("--driver=sim --gtest_filter=" + filter + " " + arguments, environment);
}

// A folder for one test, removed at its end.
class Files : public ::testing::Test {
 protected:
  Files() {
    char name[] = "/tmp/cushim_testing_XXXXXX";
    folder = mkdtemp(name);
  }
  ~Files() override { std::filesystem::remove_all(folder); }
  std::string read(const std::string &path) const {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::string folder;
};

// Expects that a run ended with this code and said these texts.
void expect(const Finished &finished, int exit, std::initializer_list<const char *> texts = {}) {
  EXPECT_EQ(finished.exit, exit) << finished;
  for (const char *const text : texts) EXPECT_TRUE(finished.says(text)) << text << finished;
}

TEST(TestingHelp, Names_every_option) {
  const Finished help = run("--help");
  EXPECT_EQ(help.exit, 0) << help;
  for (const char *option : {"--driver", "--write-answers", "--compare-answers", "--write-calls", "--summary",
                             "CUSHIM_TEST_HAS", "CUSHIM_TEST_LABEL", "--gtest_filter"})
    EXPECT_TRUE(help.says(option)) << option << help;
}
TEST(TestingHelp, An_unknown_argument_is_wrong_use) { EXPECT_EQ(run("--drivr=sim").exit, 2); }

TEST(TestingDriver, Is_the_simulated_one_by_option_or_environment) {
  EXPECT_EQ(run_on_sim("Needs.One_gpu").exit, 0);
  EXPECT_EQ(run("--gtest_filter=Needs.One_gpu", "CUSHIM_TEST_DRIVER=sim").exit, 0);
}
TEST(TestingDriver, Is_a_library_by_path) {
  const Finished there = run("--driver=" CUSHIM_FAKE " --gtest_filter=Answers.*");
  EXPECT_EQ(there.exit, 0) << there;
  expect(run("--driver=/none/libcuda.so.1 --gtest_filter=Answers.*"), 1, {"/none/libcuda.so.1"});
}

TEST(TestingDriver, May_be_none_but_the_tests_own) {
  expect(run("--driver=none --gtest_filter=Answers.Are_kept:Needs.One_gpu"), 0,
         {"executed 1 (1 passed, 0 failed), skipped 1; needs gpus:1 (1)"});
}
TEST(TestingDriver, Without_one_the_run_is_skipped_unless_one_is_wanted) {
  const std::string filter = "--gtest_filter=Answers.Are_kept";
  const Finished skipped = run(filter, "CUSHIM_LIBRARY=none");
  EXPECT_EQ(skipped.exit, 77) << skipped;
  EXPECT_TRUE(skipped.says("cushim-skip: driver-disabled")) << skipped;
  EXPECT_EQ(run(filter, "CUSHIM_LIBRARY=none CUSHIM_TEST_HAS=gpus:1").exit, 1);
  EXPECT_EQ(run(filter, "CUSHIM_LIBRARY=none CUSHIM_TEST_LABEL=gpu").exit, 1);
}

TEST(TestingList, Tells_what_bodies_and_fixtures_need) {
  const Finished list = run("--list-tests --driver=/none");
  EXPECT_EQ(list.exit, 0) << list;
  for (const char *line : {"Needs.One_gpu gpus:1\n", "Two.Devices_are_two gpus:2,peer\n", "Failing.Fails\n",
                           "OnDevice.Held_work_is_unfinished_until_released gpus:1\n",
                           "Of/Meeting.Everybody_has_another_device/3 gpus:1\n"})
    EXPECT_TRUE(list.says(line)) << line << list;
}

TEST(TestingLabelGpu, A_simulated_driver_fails) {
  const Finished simulated = run_on_sim("Needs.One_gpu", "", "CUSHIM_TEST_LABEL=gpu");
  EXPECT_EQ(simulated.exit, 1) << simulated;
  EXPECT_TRUE(simulated.says("with the label gpu")) << simulated;
  EXPECT_EQ(run("--driver=" CUSHIM_FAKE, "CUSHIM_TEST_LABEL=gpu").exit, 1);
}
#if defined(CUSHIM_SIMULATED)
TEST(TestingDriver, That_is_to_be_real_is_not_the_simulated_library) {
  const std::string filter = "--gtest_filter=Answers.Are_kept";
  EXPECT_EQ(run("--driver=" CUSHIM_SIMULATED "/libcuda.so.1 " + filter).exit, 0);
  for (const char *environment : {"CUSHIM_TEST_DRIVER=real", "CUSHIM_TEST_LABEL=gpu"}) {
    const Finished real = run(filter, std::string(environment) + " LD_LIBRARY_PATH=" CUSHIM_SIMULATED);
    EXPECT_EQ(real.exit, 1) << real;
    EXPECT_TRUE(real.says("the driver is SIMULATED: ")) << real;
  }
}
#endif

TEST(TestingNeeds, That_are_not_met_skip_and_a_run_without_executed_tests_fails) {
  const Finished alone = run_on_sim("Needs.A_thousand_gpus");
  EXPECT_EQ(alone.exit, 1) << alone;
  EXPECT_TRUE(alone.says("cushim-skip: needs gpus:1000")) << alone;
  EXPECT_TRUE(alone.says("no test was executed")) << alone;
  expect(run_on_sim("Needs.*"), 0, {"executed 1 (1 passed, 0 failed), skipped 1; needs gpus:1000 (1)"});
}
TEST(TestingNeeds, That_are_declared_must_be_met) {
  expect(run_on_sim("Needs.*", "", "CUSHIM_TEST_HAS=gpus:1000"), 1,
         {"CUSHIM_TEST_HAS declares features that were not found: gpus:1000"});
}
TEST(TestingNeeds, Found_but_not_declared_are_reported) {
  expect(run_on_sim("Needs.*", "", "CUSHIM_TEST_HAS=mem_ops"), 0,
         {"found but not declared in CUSHIM_TEST_HAS: "});
}

TEST(TestingHold, Keeps_work_unfinished) { EXPECT_EQ(run_on_sim("OnDevice.*").exit, 0); }

// The program's own watchdog does not count as a thread that might end a wait. The patience exceeds the limit
// of the program.
TEST(TestingDeadlock, Is_an_error_before_the_limit) {
  if (cushim::test::kHasThreadSanitizer) GTEST_SKIP() << "the sanitizer's thread might end the wait";
  for (const char *const schedule : {"eager", "deferred", "seeded", "background"}) {
    const Finished deadlock = run_on_sim("Deadlock.*", "--limit=20",
                                         std::string("CUSHIM_PATIENCE=100000 CUSHIM_SCHEDULE=") + schedule);
    EXPECT_EQ(deadlock.exit, 0) << schedule << deadlock;
    EXPECT_TRUE(deadlock.says("cuStreamSynchronize: deadlock")) << schedule << deadlock;
  }
}

TEST(TestingFresh, Failures_skips_and_crashes_are_passed_on) {
  const Finished failure = run_on_sim("Fresh.Failures*");
  EXPECT_EQ(failure.exit, 1) << failure;
  EXPECT_TRUE(failure.says("seen from outside")) << failure;
  const Finished skip = run_on_sim("Fresh.A_skip*:Needs.One_gpu");
  EXPECT_TRUE(skip.says("skipped 1; needs gpus:1000 (1)")) << skip;
  EXPECT_EQ(run_on_sim("Fresh.A_crash*").exit, 0);
}

TEST(TestingFresh, Processes_are_of_their_own_tests_alone) {
  expect(run_on_sim("FreshWith*:*FreshTwice.*"), 0, {"executed 4 (4 passed, 0 failed)"});
}

TEST(TestingChildren, Talk_and_their_ends_are_noticed) { expect(run_on_sim("Children.*-*dies"), 0); }
// run() would not return while the child holds the output open.
TEST(TestingChildren, End_with_their_parent) { EXPECT_EQ(run_on_sim("Children.*dies").exit, 128 + SIGKILL); }

TEST_F(Files, A_summary_lists_executed_tests_and_the_reasons_of_skips) {
  const Finished all = run_on_sim(
      "Needs.*:Failing.*", "--summary=" + folder + "/s.json --gtest_output=xml:" + folder + "/junit.xml");
  EXPECT_EQ(all.exit, 1) << all;
  const auto summary = nlohmann::json::parse(read(folder + "/s.json"));
  EXPECT_EQ(summary["executed"], 2);
  EXPECT_EQ(summary["failed"], 1);
  EXPECT_EQ(summary["skipped"]["needs gpus:1000"], 1);
  EXPECT_FALSE(summary["gpus"].empty());
  EXPECT_NE(summary["driver"], "");
  const std::string junit = read(folder + "/junit.xml");
  for (const char *part :
       {"testcase name=\"One_gpu\"", "skipped message=", "cushim-skip: needs gpus:1000", "failure message="})
    EXPECT_NE(junit.find(part), std::string::npos) << part << junit;
}

TEST_F(Files, Answers_of_a_run_that_exceeds_its_limit_are_kept) {
  const Finished endless =
      run_on_sim("Answers.Are_kept:Endless.*", "--limit=1 --write-answers=" + folder + "/");
  EXPECT_EQ(endless.exit, 128 + SIGABRT) << endless;
  const std::string answers = read(folder + "/incomplete.txt");
  EXPECT_NE(answers.find("Endless.Never_returns: one = 1\n"), std::string::npos) << answers;
  EXPECT_NE(answers.find("Answers.Are_kept: "), std::string::npos) << answers;
}

TEST_F(Files, Devices_that_CTest_allots_are_the_visible_ones) {
  const std::string file = folder + "/a.txt";
  const Finished two = run_on_sim("Devices.*", "--write-answers=" + file,
                                  "CTEST_RESOURCE_GROUP_COUNT=2 CTEST_RESOURCE_GROUP_0_GPUS=id:3,slots:1 "
                                  "CTEST_RESOURCE_GROUP_1_GPUS=id:1,slots:1");
  EXPECT_NE(read(file).find("visible = 3,1\n"), std::string::npos) << two << read(file);
}

TEST_F(Files, Devices_that_CTest_allots_count_from_the_visible_ones) {
  const std::string file = folder + "/a.txt";
  const std::string allotted = " CTEST_RESOURCE_GROUP_COUNT=1 CTEST_RESOURCE_GROUP_0_GPUS=";
  const Finished second = run_on_sim("Devices.*", "--write-answers=" + file,
                                     "CUDA_VISIBLE_DEVICES=GPU-abc,6" + allotted + "id:1,slots:1");
  EXPECT_NE(read(file).find("visible = 6\n"), std::string::npos) << second << read(file);
  const std::pair<const char *, const char *> mistakes[] = {{"id:2,slots:1", "has no such entry"},
                                                            {"id:gpu_a,slots:1", "an id must be a number"}};
  for (const auto &[device, message] : mistakes) {
    const Finished mistake = run_on_sim("Devices.*", "", "CUDA_VISIBLE_DEVICES=0,6" + allotted + device);
    EXPECT_EQ(mistake.exit, 1) << mistake;
    EXPECT_TRUE(mistake.says(message)) << mistake;
  }
}

TEST_F(Files, Seeds_are_one_to_n_or_the_one_asked_for) {
  const std::string file = folder + "/a.txt";
  EXPECT_EQ(run_on_sim("*Seeds*", "--write-answers=" + file).exit, 0);
  EXPECT_NE(read(file).find("Three/Seeds.Are_given/2: seed = 3\n"), std::string::npos) << read(file);
  EXPECT_EQ(run_on_sim("*Seeds*", "--write-answers=" + file, "CUSHIM_TEST_SEED=99").exit, 0);
  EXPECT_NE(read(file).find("Three/Seeds.Are_given/0: seed = 99\n"), std::string::npos) << read(file);
}

TEST_F(Files, Answers_are_written_the_same_twice_and_compared_line_by_line) {
  const std::string one = folder + "/one.txt", other = folder + "/other.txt";
  ASSERT_EQ(run_on_sim("Answers.*", "--write-answers=" + one).exit, 0);
  ASSERT_EQ(run_on_sim("Answers.*", "--write-answers=" + other).exit, 0);
  EXPECT_EQ(read(one), read(other));
  EXPECT_NE(read(one).find("Answers.Are_kept: first = CUDA_SUCCESS (0)\n"), std::string::npos) << read(one);
  EXPECT_NE(read(one).find("Answers.From_a_fresh_process_are_kept: again = 7\n"), std::string::npos);

  EXPECT_EQ(run_on_sim("Answers.*", "--compare-answers=" + one).exit, 0);
  const Finished differs = run_on_sim("Answers.*", "--compare-answers=" + one, "PROGRAM_ANSWER=other");
  EXPECT_EQ(differs.exit, 1) << differs;
  EXPECT_TRUE(differs.says("Answers.Are_kept: given = none; here other")) << differs;
  expect(run_on_sim("Answers.Are_kept", "--compare-answers=" + one), 1,
         {"missing:\n  Answers.From_a_fresh_process_are_kept: again = 7"});
}

TEST_F(Files, Answers_in_a_folder_are_named_by_driver_gpu_and_count) {
  ASSERT_EQ(run_on_sim("Answers.*", "--write-answers=" + folder + "/new/").exit, 0);
  const auto written = std::filesystem::directory_iterator(folder + "/new")->path().filename().string();
  EXPECT_TRUE(written.ends_with(".txt") && written.find("_x") != written.npos) << written;
  EXPECT_EQ(written.find(' '), written.npos) << written;
}

TEST_F(Files, Calls_are_written_by_the_answers_that_they_lead_to) {
  const std::string file = folder + "/calls.txt";
  ASSERT_EQ(run_on_sim("Calls.*", "--write-calls=" + file).exit, 0);
  const std::string text = read(file);
  for (const char *const line :
       {"# serves cuInit\n", "Calls.Are_of_the_answer_behind_them: version = cuDriverGetVersion cuInit\n",
        "Calls.Are_of_the_answer_behind_them: end = cuDeviceGetCount\n",
        "Calls.Of_a_fresh_process_count: initialized = cuInit\n", "Calls.Of_a_child_count: end = cuInit\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  EXPECT_EQ(text.find("# serves cuDeviceGetNvSciSyncAttributes\n"), std::string::npos)
      << "it is not implemented";
}

TEST(TestingCalls, Of_another_driver_than_the_simulated_are_not_counted) {
  const Finished refused =
      run("--driver=" CUSHIM_FAKE " --gtest_filter=Needs.One_gpu --write-calls=/dev/null");
  EXPECT_EQ(refused.exit, 2) << refused;
  EXPECT_TRUE(refused.says("--write-calls needs --driver=sim")) << refused;
}

TEST_F(Files, Addresses_and_identities_are_not_answers) {
  for (const char *identity :
       {"0x7f1200000000", "139637976727552", "GPU-01234567-89ab-cdef-0123-456789abcdef", "0000:3b:00.0"}) {
    const Finished refused = run_on_sim("Answers.*", "--write-answers=" + folder + "/a.txt",
                                        std::string("PROGRAM_ANSWER=") + identity);
    EXPECT_EQ(refused.exit, 1) << identity << refused;
    EXPECT_TRUE(refused.says("not an answer, but an address")) << refused;
    EXPECT_FALSE(std::filesystem::exists(folder + "/a.txt")) << identity;
  }
}

}  // namespace
