// SPDX-License-Identifier: Apache-2.0
// The process has no threads or no memory left: calls return an error, and the driver stays usable.
#include "support/machine_fixture.hpp"
#include "support/resource_limits.hpp"

namespace cushim::sim {
namespace {

using test::forbid_threads;
using test::has_passed_without_threads;

// Makes the calls that start the first thread of each kind.
[[noreturn]] void use_the_driver_without_threads() {
  const Running running;
  const CUstream stream = running.stream();
  const CUevent event = running.event(CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
  const CUdeviceptr memory = running.memory();
  forbid_threads();
  CUipcEventHandle event_handle;
  CUipcMemHandle memory_handle;
  EXPECT_THAT_EXITS(driver().cuLaunchHostFunc(
                        stream, [](void *) {}, nullptr) == CUDA_ERROR_OPERATING_SYSTEM);
  EXPECT_THAT_EXITS(driver().cuIpcGetEventHandle(&event_handle, event) == CUDA_ERROR_OPERATING_SYSTEM);
  EXPECT_THAT_EXITS(driver().cuIpcGetMemHandle(&memory_handle, memory) == CUDA_ERROR_OPERATING_SYSTEM);
  // The failed calls added nothing to the stream and left nothing in the background.
  EXPECT_THAT_EXITS(driver().cuStreamQuery(stream) == CUDA_SUCCESS);
  EXPECT_THAT_EXITS(driver().cuMemsetD32Async(memory, 7, 1, stream) == CUDA_SUCCESS);
  EXPECT_THAT_EXITS(driver().cuEventRecord(event, stream) == CUDA_SUCCESS);
  EXPECT_THAT_EXITS(driver().cuEventQuery(event) == CUDA_SUCCESS);
  EXPECT_THAT_EXITS(word_at(memory) == 7);
  EXPECT_THAT_EXITS(driver().cuEventDestroy(event) == CUDA_SUCCESS);
  EXPECT_THAT_EXITS(driver().cuMemFree(memory) == CUDA_SUCCESS);
  _exit(0);
}

TEST(ResourcesDeathTest, A_call_that_needs_a_thread_where_none_is_left_returns_an_error) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(use_the_driver_without_threads(), has_passed_without_threads, "");
}

// The background schedule is that of libcuda.so.1. It starts its thread in cuInit().
[[noreturn]] void initialize_without_threads() {
  const Machine machine({.schedule = Schedule::background});
  const ScopedDriver scope(machine.driver());
  forbid_threads();
  for (int i = 0; i < 2; ++i) EXPECT_THAT_EXITS(driver().cuInit(0) == CUDA_ERROR_OPERATING_SYSTEM);
  int devices = 0;
  EXPECT_THAT_EXITS(driver().cuDeviceGetCount(&devices) == CUDA_ERROR_NOT_INITIALIZED);
  _exit(0);
}

TEST(ResourcesDeathTest, An_initialization_without_threads_returns_an_error_each_time) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(initialize_without_threads(), has_passed_without_threads, "");
}

// Calls until a call fails, and returns its result.
template <class Call>
CUresult until_it_fails(const Call &call) {
  CUresult code = CUDA_SUCCESS;
  for (int i = 0; i < 10'000'000 && code == CUDA_SUCCESS; ++i) code = call();
  return code;
}

[[noreturn]] void use_the_driver_without_memory() {
  const Running running;
  const CUstream stream = running.stream();
  const CUdeviceptr memory = running.memory();
  CUevent last = nullptr;
  need(driver().cuEventCreate(&last, 0));
  test::limit_address_space(4 << 20);
  const auto create = [&] {
    CUevent made = nullptr;
    const CUresult code = driver().cuEventCreate(&made, 0);
    if (code == CUDA_SUCCESS) last = made;
    return code;
  };
  EXPECT_THAT_EXITS(until_it_fails(create) == CUDA_ERROR_OUT_OF_MEMORY);
  CUstream another = nullptr;
  EXPECT_THAT_EXITS(until_it_fails([&] { return driver().cuStreamCreate(&another, 0); }) ==
                    CUDA_ERROR_OUT_OF_MEMORY);
  CUcontext context = nullptr;
  EXPECT_THAT_EXITS(until_it_fails([&] { return driver().cuCtxCreate_v2(&context, 0, 0); }) ==
                    CUDA_ERROR_OUT_OF_MEMORY);
  // Existing objects stay usable.
  EXPECT_THAT_EXITS(driver().cuEventQuery(last) == CUDA_SUCCESS);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_THAT_EXITS(driver().cuEventDestroy(last) == CUDA_SUCCESS);
    EXPECT_THAT_EXITS(create() == CUDA_SUCCESS);
  }
  EXPECT_THAT_EXITS(driver().cuMemFree(memory) == CUDA_SUCCESS);
  EXPECT_THAT_EXITS(driver().cuStreamDestroy(stream) == CUDA_SUCCESS);
  _exit(0);
}

TEST(ResourcesDeathTest, A_call_that_needs_memory_where_none_is_left_returns_an_error) {
  if (kIsSanitized) GTEST_SKIP() << "sanitizers need address space without a limit";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(use_the_driver_without_memory(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace cushim::sim
