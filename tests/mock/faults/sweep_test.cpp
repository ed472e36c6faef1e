// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <cushim/sim/sweep.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "support/need.hpp"

namespace cushim {
namespace {

using ::testing::HasSubstr;

using test::need;

// Retains the primary context of the first device while the object exists.
struct Primary {
  Primary() {
    need(driver().cuInit(0));
    CUcontext context = nullptr;
    need(driver().cuDevicePrimaryCtxRetain(&context, 0));
    if (driver().cuCtxPushCurrent(context) == CUDA_SUCCESS) return;
    driver().cuDevicePrimaryCtxRelease(0);
    throw std::runtime_error("no context");
  }
  ~Primary() {
    driver().cuCtxPopCurrent(nullptr);
    driver().cuDevicePrimaryCtxRelease(0);
  }
  Primary(const Primary &) = delete;
  Primary &operator=(const Primary &) = delete;
};

TEST(Sweep, Fails_each_call_once_and_comes_to_an_end) {
  std::vector<std::string> thrown;
  const auto swept = sim::sweep([&] {
    try {
      const Primary primary;
      need(driver().cuCtxSynchronize());
      thrown.emplace_back();
    } catch (const std::exception &exception) {
      thrown.emplace_back(exception.what());
      throw;
    }
  });
  EXPECT_TRUE(swept.is_clean()) << swept.text();
  // Four calls of the body, then two calls of Primary's destructor, whose results are ignored.
  EXPECT_EQ(swept.rounds, 7U);
  EXPECT_THAT(thrown, ::testing::ElementsAre("a call returned 100", "a call returned 2", "no context",
                                             "a call returned 719", "", "", ""));
}

TEST(Sweep, Finds_what_an_error_path_forgets) {
  const auto swept = sim::sweep([] {
    const Primary primary;
    CUevent event = nullptr;
    need(driver().cuEventCreate(&event, CU_EVENT_DEFAULT));
    need(driver().cuEventRecord(event, nullptr));  // leaks the event if this fails
    need(driver().cuEventDestroy(event));
  });
  EXPECT_FALSE(swept.is_clean());
  EXPECT_TRUE(swept.is_finished);
  ASSERT_EQ(swept.failed_rounds.size(), 1U) << swept.text();
  const mock::SweepRound &round = swept.failed_rounds[0];
  EXPECT_EQ(round.number, 5U);
  EXPECT_EQ(round.call, "cuEventRecord");
  EXPECT_EQ(round.result, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(round.thrown, "a call returned 719");
  ASSERT_EQ(round.leaks.size(), 1U);
  EXPECT_FALSE(round.call_stack.frames().empty());
  EXPECT_THAT(swept.text(), HasSubstr("leaked in round 5; round 5: cuEventRecord returned "
                                      "CUDA_ERROR_LAUNCH_FAILED (injected), and the body threw: a call "
                                      "returned 719\n"));
  EXPECT_THAT(swept.text(), HasSubstr("cuEventCreate"));
}

TEST(Sweep, Reports_a_leak_once_for_all_rounds_that_have_it) {
  const auto swept = sim::sweep([] {
    const Primary primary;
    CUevent event = nullptr;
    need(driver().cuEventCreate(&event, CU_EVENT_DEFAULT));  // leaked if a later call fails
    for (int i = 0; i < 100; ++i) need(driver().cuCtxSynchronize());
    need(driver().cuEventDestroy(event));
  });
  EXPECT_EQ(swept.failed_rounds.size(), 100U);
  const std::string text = swept.text();
  EXPECT_THAT(text, HasSubstr(" (100 times)\n"));
  EXPECT_THAT(text, HasSubstr("leaked in rounds 5 to 104; round 5: cuCtxSynchronize returned "));
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 60) << text;
}

TEST(Sweep, Reports_leaks_of_two_call_stacks_separately) {
  const auto swept = sim::sweep([] {
    const Primary primary;
    CUevent one = nullptr, other = nullptr;
    need(driver().cuEventCreate(&one, CU_EVENT_DEFAULT));
    need(driver().cuEventCreate(&other, CU_EVENT_DEFAULT));
    need(driver().cuCtxSynchronize());
    need(driver().cuEventDestroy(one));
    need(driver().cuEventDestroy(other));
  });
  EXPECT_THAT(swept.text(), HasSubstr("leaked in rounds 5, 6; round 5: cuEventCreate returned "));
  EXPECT_THAT(swept.text(), HasSubstr("leaked in rounds 6, 7; round 6: cuCtxSynchronize returned "));
}

TEST(Sweep, Finds_a_context_that_stays_current) {
  const auto swept = sim::sweep([] {
    need(driver().cuInit(0));
    CUcontext context = nullptr;
    need(driver().cuDevicePrimaryCtxRetain(&context, 0));
    driver().cuCtxPushCurrent(context);
    if (driver().cuCtxSynchronize() == CUDA_SUCCESS) driver().cuCtxPopCurrent(nullptr);
    driver().cuDevicePrimaryCtxRelease(0);
  });
  ASSERT_FALSE(swept.failed_rounds.empty());
  EXPECT_TRUE(swept.failed_rounds.back().changes_context);
  EXPECT_EQ(swept.failed_rounds.back().call, "cuCtxSynchronize");
}

TEST(Sweep, Finds_a_body_that_fails_by_itself) {
  const auto swept = sim::sweep([] { throw std::runtime_error("by itself"); });
  EXPECT_FALSE(swept.is_clean());
  EXPECT_EQ(swept.rounds, 1U);
  EXPECT_EQ(swept.text(),
            "the body throws without an injected fault, in round 1; round 1: no call failed, and the body "
            "threw: by itself\n");
}

TEST(Sweep, Injects_the_given_error_and_spares_the_given_calls) {
  std::vector<CUresult> answers;
  const auto swept = sim::sweep(
      [&] {
        int count = 0;
        answers.push_back(driver().cuInit(0));
        answers.push_back(driver().cuDeviceGetCount(&count));
      },
      {},
      {.failure = [](Entry) { return CUDA_ERROR_NOT_PERMITTED; },
       .spares = [](Entry entry) { return entry == Entry::cuInit_v2000; }});
  EXPECT_TRUE(swept.is_clean());
  EXPECT_THAT(answers,
              ::testing::ElementsAre(CUDA_SUCCESS, CUDA_ERROR_NOT_PERMITTED, CUDA_SUCCESS, CUDA_SUCCESS));
}

TEST(Sweep, That_never_ends_is_not_clean) {
  const auto swept = sim::sweep(
      [] {
        int count = 0;
        for (int i = 0; i < 10; ++i) driver().cuDeviceGetCount(&count);
      },
      {}, {.max_rounds = 5});
  EXPECT_FALSE(swept.is_clean());
  EXPECT_FALSE(swept.is_finished);
  EXPECT_EQ(swept.text(), "after 5 rounds the sweep stopped at its limit; not every call has failed yet\n");
}

TEST(Sweep, Runs_on_one_driver_that_stays) {
  const auto machine = std::make_shared<sim::Machine>();
  const auto swept = mock::sweep([&] { return std::shared_ptr<Driver>(machine, &machine->driver()); },
                                 [] {
                                   const Primary primary;
                                   CUdeviceptr memory = 0;
                                   need(driver().cuMemAlloc(&memory, 1));
                                   need(driver().cuMemFree(memory));
                                 });
  EXPECT_TRUE(swept.is_clean()) << swept.text();
  EXPECT_EQ(swept.rounds, 8U);
}

TEST(SweepDeathTest, Prints_the_call_before_a_crash) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(sim::sweep([] {
                 int count = 0;
                 if (driver().cuDeviceGetCount(&count) == CUDA_ERROR_UNKNOWN) std::abort();
               }),
               "the sweep's body crashed in round 1, after cuDeviceGetCount returned CUDA_ERROR_UNKNOWN "
               ".injected.");
}

TEST(UsualFailures, Are_errors_that_the_calls_can_return) {
  EXPECT_EQ(mock::usual_failure(Entry::cuInit_v2000), CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(mock::usual_failure(Entry::cuMemAlloc_v3020), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(mock::usual_failure(Entry::cuMemcpyHtoD_v3020), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(mock::usual_failure(Entry::cuStreamSynchronize_v2000), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(mock::usual_failure(Entry::cuStreamDestroy_v4000), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(mock::usual_failure(Entry::cuDeviceGet_v2000), CUDA_ERROR_UNKNOWN);
}

}  // namespace
}  // namespace cushim
