// SPDX-License-Identifier: Apache-2.0
// Driver calls in host functions, and calls that wait for host functions. tests/differential/arguments
// compares each entry point with an H200.
#include <atomic>
#include <functional>

#include "support/machine_fixture.hpp"
#include "support/schedules.hpp"

namespace cushim::sim {
namespace {

// Runs a function as host function of a stream, and waits for it.
void run_in_host_function(CUstream stream, std::function<void()> function) {
  const auto call = [](void *data) { (*static_cast<std::function<void()> *>(data))(); };
  need(driver().cuLaunchHostFunc(stream, call, &function));
  need(driver().cuStreamSynchronize(stream));
}

class HostFunctions : public ::testing::TestWithParam<Schedule> {};
INSTANTIATE_TEST_SUITE_P(, HostFunctions, ::testing::ValuesIn(kSchedulesWithoutSteps), ScheduleName());

TEST_P(HostFunctions, May_submit_work_to_other_streams_and_wait_for_it) {
  const Running running({.schedule = GetParam()});
  const CUstream stream = running.stream(), other = running.stream();
  const CUdeviceptr memory = running.memory();
  const CUevent event = running.event();
  run_in_host_function(stream, [&] {
    EXPECT_EQ(driver().cuMemsetD32Async(memory, 7, 16, other), CUDA_SUCCESS);
    EXPECT_EQ(driver().cuEventRecord(event, other), CUDA_SUCCESS);
    EXPECT_EQ(driver().cuStreamSynchronize(other), CUDA_SUCCESS);
    EXPECT_EQ(driver().cuEventQuery(event), CUDA_SUCCESS);
  });
  EXPECT_EQ(word_at(memory), 7U);
}

TEST_P(HostFunctions, May_not_allocate_copy_or_use_the_null_stream) {
  const Running running({.schedule = GetParam()});
  const CUstream stream = running.stream(), other = running.stream();
  const CUdeviceptr memory = running.memory();
  run_in_host_function(stream, [&] {
    CUdeviceptr made = 0;
    EXPECT_EQ(driver().cuMemAlloc(&made, 64), CUDA_ERROR_NOT_PERMITTED);
    EXPECT_EQ(driver().cuMemAllocAsync(&made, 64, other), CUDA_ERROR_NOT_PERMITTED);
    EXPECT_EQ(driver().cuMemcpyDtoDAsync(memory, memory + 64, 64, other), CUDA_ERROR_NOT_PERMITTED);
    EXPECT_EQ(driver().cuStreamQuery(nullptr), CUDA_ERROR_NOT_PERMITTED);
    EXPECT_EQ(driver().cuMemsetD32Async(memory, 7, 16, nullptr), CUDA_ERROR_NOT_PERMITTED);
  });
}

TEST_P(HostFunctions, End_before_a_module_is_loaded) {
  const Running running({.schedule = GetParam()});
  std::atomic<bool> has_run = false;
  need(driver().cuLaunchHostFunc(
      running.stream(), [](void *data) { *static_cast<std::atomic<bool> *>(data) = true; }, &has_run));
  CUmodule module = nullptr;
  need(driver().cuModuleLoadData(
      &module, ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry empty() { ret; }\n"));
  EXPECT_TRUE(has_run);
  need(driver().cuModuleUnload(module));
}

}  // namespace
}  // namespace cushim::sim
