// SPDX-License-Identifier: Apache-2.0
// Single allocations of the simulated driver fail: a call returns CUDA_ERROR_OUT_OF_MEMORY and leaves no
// operation half submitted, and an operation that fails while it runs fails its context.
#include <new>
#include <string>
#include <vector>

#include "support/machine_fixture.hpp"
#include "support/replaced_new.hpp"
#include "support/schedules.hpp"

namespace {

// The number of allocations of this thread that succeed before one fails; -1: none fails.
thread_local long allocations_left = -1;

}  // namespace

void before_allocation() {
  if (allocations_left == 0) {
    allocations_left = -1;
    throw std::bad_alloc();
  }
  if (allocations_left > 0) --allocations_left;
}

namespace cushim::sim {
namespace {

// Makes a call whose n-th allocation, counted from 0, fails.
template <class Call>
CUresult with_failed_allocation(long n, const Call &call) {
  allocations_left = n;
  const CUresult code = call();
  allocations_left = -1;
  return code;
}

class AllocationFailureIn : public ::testing::TestWithParam<Schedule> {};
INSTANTIATE_TEST_SUITE_P(, AllocationFailureIn, ::testing::ValuesIn(kSchedulesWithoutSteps), ScheduleName());

TEST_P(AllocationFailureIn, A_call_submits_its_operation_or_returns_out_of_memory) {
  using Submit = CUresult (*)(CUdeviceptr memory, CUevent event, CUstream stream);
  const Submit calls[] = {
      [](CUdeviceptr memory, CUevent, CUstream stream) {
        return driver().cuMemsetD32Async(memory, 7, 1, stream);
      },
      [](CUdeviceptr memory, CUevent, CUstream stream) {
        return driver().cuMemcpyDtoDAsync(memory, memory + 64, 4, stream);
      },
      [](CUdeviceptr, CUevent event, CUstream stream) { return driver().cuEventRecord(event, stream); },
      [](CUdeviceptr memory, CUevent, CUstream stream) {
        return driver().cuStreamWriteValue32(stream, memory, 7, CU_STREAM_WRITE_VALUE_DEFAULT);
      },
      [](CUdeviceptr memory, CUevent, CUstream stream) {
        return driver().cuStreamWaitValue32(stream, memory + 64, 0, CU_STREAM_WAIT_VALUE_GEQ);
      },
      [](CUdeviceptr, CUevent, CUstream stream) {
        return driver().cuLaunchHostFunc(
            stream, [](void *) {}, nullptr);
      }};
  for (const Submit call : calls) {
    CUresult code = CUDA_ERROR_OUT_OF_MEMORY;
    for (long n = 0; code != CUDA_SUCCESS; ++n) {
      ASSERT_LT(n, 100);
      Running running({.schedule = GetParam()});
      const CUstream stream = running.stream();
      const CUdeviceptr memory = running.memory();
      const CUevent event = running.event();
      need(driver().cuMemsetD32(memory, 0, 1024));
      // Enough pending work that containers must grow.
      std::vector<Gate> gates;
      for (int i = 0; i < 64; ++i) {
        const CUstream other = running.stream();
        gates.push_back(running.machine.gate(other));
        need(call(memory, event, other));
      }
      code = with_failed_allocation(n, [&] { return call(memory, event, stream); });
      EXPECT_TRUE(code == CUDA_SUCCESS || code == CUDA_ERROR_OUT_OF_MEMORY) << code;
      gates.clear();
      EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_SUCCESS);
      EXPECT_EQ(driver().cuMemFree(memory), CUDA_SUCCESS);
    }
  }
}

TEST(AllocationFailure, An_operation_that_lacks_memory_fails_its_context) {
  bool is_lost = false;
  for (long n = 0; n < 10; ++n) {
    std::string report;
    const Running running(
        {.schedule = Schedule::deferred, .report = [&report](const std::string &text) { report += text; }});
    const CUstream stream = running.stream();
    const CUdeviceptr first = running.memory(), second = running.memory(), third = running.memory();
    need(driver().cuStreamSynchronize(stream));
    need(driver().cuMemFreeAsync(second, stream));
    with_failed_allocation(n, [&] { return driver().cuStreamSynchronize(stream); });
    const CUresult code = driver().cuMemFree(first);
    if (code == CUDA_SUCCESS) continue;
    EXPECT_EQ(code, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(driver().cuMemFree(third), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_NE(report.find("cuMemFreeAsync failed"), std::string::npos) << report;
    is_lost = true;
  }
  EXPECT_TRUE(is_lost);
}

}  // namespace
}  // namespace cushim::sim
