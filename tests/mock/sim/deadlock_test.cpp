// SPDX-License-Identifier: Apache-2.0
// Waits that cannot end, and waits that only the program can end.
#include <atomic>

#include "support/machine_fixture.hpp"
#include "support/schedules.hpp"

namespace cushim::sim {
namespace {

class DeadlockIn : public ::testing::TestWithParam<Schedule> {};
INSTANTIATE_TEST_SUITE_P(, DeadlockIn, ::testing::ValuesIn(kEachSchedule), ScheduleName());

TEST_P(DeadlockIn, Streams_that_wait_for_each_other_are_an_error_at_once) {
  if (kHasThreadOfTool) GTEST_SKIP() << "the sanitizer's thread might end the wait";
  std::string said;
  Running running({.schedule = GetParam(), .report = [&](const std::string &text) { said = text; }});
  const CUstream one = running.stream(), other = running.stream();
  const CUdeviceptr words = running.memory();
  need(driver().cuMemsetD32(words, 0, 2));
  need(driver().cuCtxSynchronize());
  running.machine.name(one, "ping");
  running.machine.name(other, "pong");
  need(driver().cuStreamWaitValue32(one, words, 7, CU_STREAM_WAIT_VALUE_EQ));
  need(driver().cuStreamWriteValue32(one, words + 4, 8, CU_STREAM_WRITE_VALUE_DEFAULT));
  need(driver().cuStreamWaitValue32(other, words + 4, 8, CU_STREAM_WAIT_VALUE_EQ));
  need(driver().cuStreamWriteValue32(other, words, 7, CU_STREAM_WRITE_VALUE_DEFAULT));
  EXPECT_EQ(driver().cuStreamSynchronize(one), CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_NE(said.find("cuStreamSynchronize: deadlock"), said.npos) << said;
  EXPECT_NE(said.find("(ping): cuStreamWaitValue32_v2 waits for the word of 32 bits at 0x"), said.npos)
      << said;
  EXPECT_NE(said.find("to be 7; it is 0"), said.npos) << said;
  EXPECT_NE(said.find("(pong)"), said.npos) << said;
  // Work in another stream ends the wait.
  need(driver().cuMemsetD32Async(words, 7, 1, running.stream()));
  EXPECT_EQ(driver().cuStreamSynchronize(one), CUDA_SUCCESS);
}

TEST_P(DeadlockIn, A_wait_for_the_host_continues_and_is_reported_after_the_patience) {
  std::string said;
  std::uint32_t *word = nullptr;
  int reports = 0;
  Running running({.schedule = GetParam(),
                   .patience = std::chrono::milliseconds(1),
                   .report = [&](const std::string &text) {
                     said = text;
                     ++reports;
                     std::atomic_ref(*word).store(1);
                   }});
  word = running.pinned();
  *word = 0;
  const CUstream stream = running.stream();
  need(
      driver().cuStreamWaitValue32(stream, reinterpret_cast<CUdeviceptr>(word), 1, CU_STREAM_WAIT_VALUE_GEQ));
  EXPECT_EQ(driver().cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(reports, 1);
  EXPECT_NE(said.find("cuStreamSynchronize still waits"), said.npos) << said;
  EXPECT_NE(said.find("to be at least 1; it is 0"), said.npos) << said;
}

TEST_P(DeadlockIn, A_host_function_that_takes_long_is_waited_for_and_reported) {
  std::string said;
  std::atomic<bool> may_end{false};
  const Running running({.schedule = GetParam(),
                         .patience = std::chrono::milliseconds(1),
                         .report = [&](const std::string &text) {
                           said = text;
                           may_end = true;
                           may_end.notify_all();
                         }});
  const CUstream stream = running.stream();
  need(driver().cuLaunchHostFunc(
      stream, [](void *data) { static_cast<std::atomic<bool> *>(data)->wait(false); }, &may_end));
  EXPECT_EQ(driver().cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_NE(said.find(": cuLaunchHostFunc"), said.npos) << said;
}

TEST_P(DeadlockIn, Is_an_error_at_once_after_a_kernel_that_ran_on_all_processors) {
  if (kHasThreadOfTool) GTEST_SKIP() << "the sanitizer's thread might end the wait";
  const Running running({.schedule = GetParam(), .report = [](const std::string &) {}});
  const CUdeviceptr word = running.memory();
  need(driver().cuMemsetD32(word, 0, 1));
  CUmodule module = nullptr;
  CUfunction increment = nullptr;
  need(driver().cuModuleLoadData(&module, R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry increment(.param .u64 word)
{
  .reg .u64 at;
  ld.param.u64 at, [word];
  red.global.add.u32 [at], 1;
  ret;
}
)"));
  need(driver().cuModuleGetFunction(&increment, module, "increment"));
  void *parameters[] = {const_cast<CUdeviceptr *>(&word)};
  need(driver().cuLaunchKernel(increment, 64, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr));
  need(driver().cuCtxSynchronize());
  const CUstream stream = running.stream();
  need(driver().cuStreamWaitValue32(stream, word, 1, CU_STREAM_WAIT_VALUE_EQ));
  EXPECT_EQ(driver().cuStreamSynchronize(stream), CUDA_ERROR_LAUNCH_TIMEOUT);
  need(driver().cuMemsetD32Async(word, 1, 1, running.stream()));
  EXPECT_EQ(driver().cuStreamSynchronize(stream), CUDA_SUCCESS);
}

}  // namespace
}  // namespace cushim::sim
