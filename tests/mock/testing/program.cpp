// SPDX-License-Identifier: Apache-2.0
// A user's tests, run by testing_test.cpp, which checks the behaviour of cushim::testing.
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cushim/testing.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "support/need.hpp"

namespace {

using namespace cushim::testing;
using cushim::driver;
using cushim::test::need;

class OnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    CUSHIM_NEEDS(gpus(1));
    need(driver().cuDevicePrimaryCtxRetain(&context, 0));
    need(driver().cuCtxSetCurrent(context));
    need(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  }
  CUcontext context = nullptr;
  CUstream stream = nullptr;
};

TEST_F(OnDevice, Held_work_is_unfinished_until_released) {
  Hold held = hold(stream);
  EXPECT_EQ(driver().cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  held.release();
  EXPECT_EQ(driver().cuStreamSynchronize(stream), CUDA_SUCCESS);
}

using Deadlock = OnDevice;
TEST_F(Deadlock, Is_an_error) {
  CUdeviceptr word = 0;
  ASSERT_EQ(driver().cuMemAlloc(&word, 4), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuMemsetD32(word, 0, 1), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuCtxSynchronize(), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuStreamWaitValue32(stream, word, 7, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamSynchronize(stream), CUDA_ERROR_LAUNCH_TIMEOUT);
}

TEST(Needs, A_thousand_gpus) {
  CUSHIM_NEEDS(gpus(1000));
  FAIL() << "such a machine was found";
}
TEST(Needs, One_gpu) { CUSHIM_NEEDS(gpus(1)); }

TEST(Devices, That_are_allotted_are_visible) {
  const char *visible = std::getenv("CUDA_VISIBLE_DEVICES");
  answer("visible", visible == nullptr ? "all" : visible);
}

TEST(Failing, Fails) { FAIL() << "as it should"; }

TEST(Answers, Are_kept) {
  answer("version", answer("first", CUDA_SUCCESS) == CUDA_SUCCESS);
  const char *given = std::getenv("PROGRAM_ANSWER");
  answer("given", given == nullptr ? "none" : given);
}
TEST(Endless, Never_returns) {
  answer("one", 1);
  while (true) pause();
}

TEST(Answers, From_a_fresh_process_are_kept) {
  CUSHIM_IN_A_FRESH_PROCESS();
  answer("again", 7);
}

TEST(Fresh, Failures_are_the_tests_own) {
  CUSHIM_IN_A_FRESH_PROCESS();
  FAIL() << "seen from outside";
}
TEST(Fresh, A_skip_is_a_skip) {
  CUSHIM_IN_A_FRESH_PROCESS();
  CUSHIM_NEEDS(gpus(1000));
}
TEST(Fresh, A_crash_may_be_an_answer) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would end the process another way
  raise(SIGSEGV);
}

class FreshWithVariable : public ::testing::Test {
 protected:
  void SetUp() override { setenv("PROGRAM_VARIABLE", "set", 1); }
  void TearDown() override { unsetenv("PROGRAM_VARIABLE"); }
};
TEST_F(FreshWithVariable, Has_the_environment_of_its_test) {
  CUSHIM_IN_A_FRESH_PROCESS();
  EXPECT_STREQ(std::getenv("PROGRAM_VARIABLE"), "set");
}
TEST(FreshWithoutVariable, Has_the_environment_of_its_test) {
  CUSHIM_IN_A_FRESH_PROCESS();
  EXPECT_EQ(std::getenv("PROGRAM_VARIABLE"), nullptr);
}
class FreshTwice : public ::testing::TestWithParam<int> {};
TEST_P(FreshTwice, Has_the_initial_values_of_variables) {
  CUSHIM_IN_A_FRESH_PROCESS();
  static int runs = 0;
  EXPECT_EQ(++runs, 1);
}
INSTANTIATE_TEST_SUITE_P(Of, FreshTwice, ::testing::Range(0, 2));

CUSHIM_CHILD(twice) { parent.send(2 * parent.receive<int>()); }
TEST(Children, Talk) {
  Child child("twice");
  child.send(21);
  EXPECT_EQ(child.receive<int>(), 42);
  EXPECT_EQ(child.wait(), 0);
}

CUSHIM_CHILD(waiting) {
  parent.send(getpid());
  parent.receive<int>();
}
TEST(Children, A_killed_one_is_noticed) {
  Child child("waiting");
  EXPECT_GT(child.receive<pid_t>(), 0);
  child.kill();
  EXPECT_THROW(child.receive<int>(), std::runtime_error);
}
TEST(Children, A_killed_one_is_not_waited_for_again_while_another_lives) {
  Child child("waiting"), other("waiting");
  child.kill();
  EXPECT_EQ(child.wait(), -SIGKILL);
}
TEST(Children, Another_size_is_noticed) {
  Child child("waiting");
  EXPECT_THROW(child.receive<char>(), std::runtime_error);
}
TEST(Children, An_unknown_one_ends_at_once) {
  Child child("nobody");
  EXPECT_EQ(child.wait(), 2);
}

CUSHIM_CHILD(sleeping) {
  parent.send(0);
  for (;;) pause();
}
TEST(Children, Are_left_by_a_parent_that_dies) {
  Child child("sleeping");
  child.receive<int>();
  kill(getpid(), SIGKILL);
}

// Started by ctest_resources.cmake, four at once. Each instance waits until all have recorded the device that
// they see.
class Meeting : public ::testing::TestWithParam<int> {
 protected:
  static constexpr int people = 4;
  // The semaphore of one instance, on which each of the others waits once.
  static sem_t *semaphore(int person) {
    return sem_open(name(person).c_str(), O_CREAT, S_IRUSR | S_IWUSR, 0);
  }
  static std::string name(int person) {
    return "/" + std::filesystem::path(folder()).filename().string() + std::to_string(person);
  }
  static std::string folder() {
    const char *given = std::getenv("PROGRAM_MEETING");
    return given == nullptr ? "" : given;
  }
  static std::string file(int person) { return folder() + "/" + std::to_string(person); }
};
TEST_P(Meeting, Everybody_has_another_device) {
  if (folder().empty()) GTEST_SKIP() << "no meeting";
  CUSHIM_NEEDS(gpus(1));
  int count = 0;
  ASSERT_EQ(driver().cuDeviceGetCount(&count), CUDA_SUCCESS);
  ASSERT_EQ(count, 1);
  CUuuid uuid = {};
  ASSERT_EQ(driver().cuDeviceGetUuid(&uuid, 0), CUDA_SUCCESS);
  std::ofstream(file(GetParam())) << std::string(uuid.bytes, sizeof uuid.bytes);

  sem_t *semaphores[people];
  for (int person = 0; person < people; ++person) {
    semaphores[person] = semaphore(person);
    ASSERT_NE(semaphores[person], SEM_FAILED);
  }
  for (int other = 1; other < people; ++other) sem_post(semaphores[GetParam()]);
  for (int person = 0; person < people; ++person)
    if (person != GetParam()) sem_wait(semaphores[person]);
  sem_unlink(name(GetParam()).c_str());  // all instances have opened it

  std::set<std::string> devices;
  for (int person = 0; person < people; ++person) {
    std::ostringstream text;
    text << std::ifstream(file(person)).rdbuf();
    devices.insert(text.str());
  }
  EXPECT_EQ(devices.size(), people);
}
INSTANTIATE_TEST_SUITE_P(Of, Meeting, ::testing::Range(0, 4));

TEST(Two, Devices_are_two) {
  CUSHIM_NEEDS(gpus(2), peer);
  int count = 0;
  ASSERT_EQ(driver().cuDeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_EQ(count, 2);
}
TEST(Two, DISABLED_Is_not_run) { FAIL(); }

CUSHIM_CHILD(counting) { parent.send(driver().cuInit(0)); }
TEST(Calls, Are_of_the_answer_behind_them) {
  int count = 0;
  driver().cuInit(0);
  answer("version", driver().cuDriverGetVersion(&count));
  driver().cuDeviceGetCount(&count);
}
TEST(Calls, Of_a_fresh_process_count) {
  CUSHIM_IN_A_FRESH_PROCESS();
  answer("initialized", driver().cuInit(0));
}
TEST(Calls, Of_a_child_count) {
  Child child("counting");
  EXPECT_EQ(child.receive<CUresult>(), CUDA_SUCCESS);
  EXPECT_EQ(child.wait(), 0);
}

class Seeds : public ::testing::TestWithParam<std::uint64_t> {};
TEST_P(Seeds, Are_given) { answer("seed", GetParam()); }
INSTANTIATE_TEST_SUITE_P(Three, Seeds, ::testing::ValuesIn(seeds(3)));

}  // namespace
