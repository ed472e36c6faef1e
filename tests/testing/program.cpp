// SPDX-License-Identifier: Apache-2.0
// A user's tests, run by testing_test.cpp; what they show is whether cushim::testing does as it says.
#include <signal.h>
#include <unistd.h>
#include <cushim/testing.hpp>

#include <cstdlib>

namespace {

using namespace cushim::testing;
using cushim::driver;

class OnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    CUSHIM_NEEDS(gpus(1));
    ASSERT_EQ(driver().cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(driver().cuCtxSetCurrent(context), CUDA_SUCCESS);
    ASSERT_EQ(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
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

TEST(Needs, A_million_gpus) {
  CUSHIM_NEEDS(gpus(1000000));
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
  CUSHIM_NEEDS(gpus(1000000));
}
TEST(Fresh, A_crash_may_be_an_answer) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would end the process another way
  raise(SIGSEGV);
}

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

class Seeds : public ::testing::TestWithParam<std::uint64_t> {};
TEST_P(Seeds, Are_given) { answer("seed", GetParam()); }
INSTANTIATE_TEST_SUITE_P(Three, Seeds, ::testing::ValuesIn(seeds(3)));

}  // namespace
