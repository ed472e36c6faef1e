// SPDX-License-Identifier: Apache-2.0
// The effect of the rules on the simulated driver.
#include <thread>

#include "support/machine_fixture.hpp"

namespace cushim::sim {
namespace {

using mock::InjectedFault;

CUresult allocate(std::size_t bytes = 4096) {
  CUdeviceptr memory = 0;
  return driver().cuMemAlloc(&memory, bytes);
}

// Makes `count` allocations. Returns their results.
std::vector<CUresult> allocations(int count) {
  std::vector<CUresult> results;
  for (int i = 0; i < count; ++i) results.push_back(allocate());
  return results;
}

std::vector<InjectedFault> injected(const Running &running) { return running.machine.usage().faults; }

TEST(CallFaults, Strike_the_call_of_that_number_and_no_other) {
  const Running running({.faults = "cuMemAlloc:3=OUT_OF_MEMORY"});
  EXPECT_EQ(allocations(4),
            (std::vector{CUDA_SUCCESS, CUDA_SUCCESS, CUDA_ERROR_OUT_OF_MEMORY, CUDA_SUCCESS}));
  const auto faults = injected(running);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].rule, "cuMemAlloc:3=OUT_OF_MEMORY");
  EXPECT_EQ(faults[0].call, "cuMemAlloc_v2");
  EXPECT_EQ(faults[0].returned_by, "cuMemAlloc_v2");
  EXPECT_EQ(faults[0].number, 3U);
  EXPECT_EQ(faults[0].result, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(faults[0].to_text(),
            "cuMemAlloc_v2, call 3: CUDA_ERROR_OUT_OF_MEMORY (cuMemAlloc:3=OUT_OF_MEMORY)");
}

TEST(CallFaults, Strike_ranges_of_calls_and_the_first_rule_decides) {
  const Running running({.faults = "cuMemAlloc:2-3=OUT_OF_MEMORY; cuMem*:3+=UNKNOWN"});
  EXPECT_EQ(allocations(5), (std::vector{CUDA_SUCCESS, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY,
                                         CUDA_ERROR_UNKNOWN, CUDA_ERROR_UNKNOWN}));
}

TEST(CallFaults, Reach_pointers_that_are_looked_up) {
  const Running running({.faults = "cuMemAlloc:1=OUT_OF_MEMORY"});
  void *function = nullptr;
  CUdriverProcAddressQueryResult found{};
  need(driver().cuGetProcAddress("cuMemAlloc", &function, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &found));
  CUdeviceptr memory = 0;
  EXPECT_EQ(reinterpret_cast<CUresult (*)(CUdeviceptr *, std::size_t)>(function)(&memory, 1),
            CUDA_ERROR_OUT_OF_MEMORY);
}

// Returns the indices of the failing calls among 1000 queries.
std::vector<int> struck(const std::string &rule) {
  const Running running({.faults = rule});
  const CUevent event = running.event();
  std::vector<int> struck;
  for (int i = 0; i < 1000; ++i)
    if (driver().cuEventQuery(event) == CUDA_ERROR_UNKNOWN) struck.push_back(i);
  return struck;
}

TEST(CallFaults, By_probability_strike_the_same_calls_for_the_same_seed) {
  const std::vector<int> calls = struck("cuEventQuery:p0.1@seed7=UNKNOWN");
  EXPECT_GT(calls.size(), 60U);
  EXPECT_LT(calls.size(), 140U);
  EXPECT_EQ(struck("cuEventQuery:p0.1@seed7=UNKNOWN"), calls);
  EXPECT_NE(struck("cuEventQuery:p0.1@seed8=UNKNOWN"), calls);
  EXPECT_EQ(struck("cuEventQuery:p1=UNKNOWN").size(), 1000U);
}

TEST(CallFaults, With_a_sticky_result_are_returned_by_all_later_calls_in_the_context) {
  const Running running({.faults = "cuEventQuery:1=LAUNCH_FAILED"});
  const CUevent event = running.event();
  const CUstream stream = running.stream();
  CUcontext own = nullptr;
  CUdevice device = 0;
  EXPECT_EQ(driver().cuEventQuery(event), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(driver().cuEventQuery(event), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(driver().cuStreamSynchronize(stream), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(driver().cuStreamDestroy(stream), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(allocate(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(driver().cuCtxGetDevice(&device), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuDeviceGet(&device, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuDevicePrimaryCtxRetain(&own, 0), CUDA_SUCCESS);  // as an H200 does
  EXPECT_EQ(injected(running).size(), 1U);
  EXPECT_EQ(driver().cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuDevicePrimaryCtxRetain(&own, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuCtxSetCurrent(own), CUDA_SUCCESS);
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
}

TEST(CallFaults, Leave_other_contexts_as_they_are) {
  const Running running({.devices = "h200x2", .faults = "cuEventQuery:1=ILLEGAL_ADDRESS"});
  EXPECT_EQ(driver().cuEventQuery(running.event()), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUcontext other = nullptr;
  need(driver().cuDevicePrimaryCtxRetain(&other, 1));
  need(driver().cuCtxSetCurrent(other));
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
}

TEST(CallFaults, With_the_option_once_do_not_affect_later_calls) {
  const Running running({.faults = "cuEventQuery:1=LAUNCH_FAILED,once"});
  const CUevent event = running.event();
  EXPECT_EQ(driver().cuEventQuery(event), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(driver().cuEventQuery(event), CUDA_SUCCESS);
}

TEST(LateFaults, Are_returned_by_the_next_call_that_synchronizes) {
  const Running running({.faults = "cuMemsetD32Async:2=ILLEGAL_ADDRESS,late"});
  const CUstream stream = running.stream();
  const CUevent event = running.event();
  const CUdeviceptr memory = running.memory();
  EXPECT_EQ(driver().cuMemsetD32Async(memory, 1, 1, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemsetD32Async(memory, 1, 1, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuEventRecord(event, stream), CUDA_SUCCESS);
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
  ASSERT_EQ(injected(running).size(), 1U);
  EXPECT_EQ(injected(running)[0].returned_by, "");
  EXPECT_EQ(driver().cuEventSynchronize(event), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(allocate(), CUDA_ERROR_ILLEGAL_ADDRESS);
  const auto faults = injected(running);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].call, "cuMemsetD32Async");
  EXPECT_EQ(faults[0].number, 2U);
  EXPECT_EQ(faults[0].returned_by, "cuEventSynchronize");
}

TEST(LateFaults, Do_not_strike_a_call_that_fails_by_itself) {
  const Running running({.faults = "cuMemsetD32Async:1=UNKNOWN,late"});
  EXPECT_EQ(driver().cuMemsetD32Async(0, 1, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_TRUE(injected(running).empty());
}

TEST(LateFaults, Are_of_their_context) {
  const Running running({.devices = "h200x2", .faults = "cuMemsetD32Async:1=UNKNOWN,late"});
  need(driver().cuMemsetD32Async(running.memory(), 1, 1, nullptr));
  CUcontext first = nullptr, other = nullptr;
  need(driver().cuCtxGetCurrent(&first));
  need(driver().cuDevicePrimaryCtxRetain(&other, 1));
  need(driver().cuCtxSetCurrent(other));
  EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_SUCCESS);
  need(driver().cuCtxSetCurrent(first));
  EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST(MemoryLimits, Count_every_kind_of_device_memory) {
  constexpr std::size_t mega = 1 << 20;
  const Running running({.devices = "h200x2", .faults = "device0:memory:2MiB"});
  CUdeviceptr memory = 0;
  need(driver().cuMemAlloc(&memory, mega));
  EXPECT_EQ(allocate(mega), CUDA_SUCCESS);
  EXPECT_EQ(allocate(1), CUDA_ERROR_OUT_OF_MEMORY);
  CUdeviceptr ordered = 0;
  EXPECT_EQ(driver().cuMemAllocAsync(&ordered, 1, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
  CUarray array = nullptr;
  const CUDA_ARRAY_DESCRIPTOR shape{
      .Width = 64, .Height = 64, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
  EXPECT_EQ(driver().cuArrayCreate(&array, &shape), CUDA_ERROR_OUT_OF_MEMORY);
  void *pinned = nullptr;
  EXPECT_EQ(driver().cuMemAllocHost(&pinned, mega), CUDA_SUCCESS);
  need(driver().cuMemFree(memory));
  EXPECT_EQ(allocate(mega), CUDA_SUCCESS);
  CUcontext other = nullptr;
  need(driver().cuDevicePrimaryCtxRetain(&other, 1));
  need(driver().cuCtxSetCurrent(other));
  EXPECT_EQ(allocate(4 * mega), CUDA_SUCCESS);
  const auto faults = injected(running);
  ASSERT_EQ(faults.size(), 3U);
  EXPECT_EQ(faults[0].call, "cuMemAlloc_v2");
  EXPECT_EQ(faults[1].call, "cuMemAllocAsync");
  EXPECT_EQ(faults[2].number, 3U);
}

TEST(LostDevicesByRule, Are_lost_at_a_call_and_stay_lost) {
  const Running running({.faults = "device0:lost@call5=LAUNCH_FAILED"});  // calls 1 to 3 are Running's
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
  EXPECT_EQ(allocate(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(driver().cuDevicePrimaryCtxReset(0), CUDA_ERROR_LAUNCH_FAILED);
  CUcontext context = nullptr;
  EXPECT_EQ(driver().cuDevicePrimaryCtxRetain(&context, 0), CUDA_ERROR_LAUNCH_FAILED);
  int count = 0;
  EXPECT_EQ(driver().cuDeviceGetCount(&count), CUDA_SUCCESS);
  const auto faults = injected(running);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].call, "cuMemAlloc_v2");
  EXPECT_EQ(faults[0].number, 5U);
}

TEST(LostDevicesByRule, Are_lost_at_a_virtual_time_also_while_the_program_waits_for_them) {
  for (const Schedule schedule : {Schedule::eager, Schedule::deferred, Schedule::background}) {
    const Running running({.schedule = schedule, .faults = "device0:lost@40us"});
    constexpr std::size_t bytes = 4 << 20;  // takes longer than 40 us
    const CUdeviceptr memory = running.memory(bytes);
    const auto *const pinned = running.pinned<char>(bytes);
    const CUstream stream = running.stream();
    EXPECT_EQ(driver().cuMemcpyHtoDAsync(memory, pinned, bytes, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver().cuStreamSynchronize(stream), CUDA_ERROR_UNKNOWN);
    EXPECT_EQ(driver().cuMemsetD8Async(memory, 1, 1, stream), CUDA_ERROR_UNKNOWN);
    EXPECT_GE(running.machine.now(), std::chrono::microseconds(40));
    ASSERT_EQ(injected(running).size(), 1U);
    EXPECT_EQ(injected(running)[0].call, "cuStreamSynchronize");
  }
}

TEST(FaultsOfAMachine, That_are_wrong_are_refused) {
  EXPECT_THROW(Machine({.faults = "cuMemAloc:1=UNKNOWN"}), std::invalid_argument);
  try {
    const Machine machine({.faults = "cuInit:1=UNKNOWN\ndevice1:lost@1ms"});
    ADD_FAILURE() << "there is no such device";
  } catch (const std::invalid_argument &error) {
    EXPECT_STREQ(error.what(), "faults:2:1: there is no device 1; the last device of the machine is 0");
  }
}

TEST(FaultsOfAMachine, Strike_once_whichever_thread_calls) {
  // The rules name two functions: if two rules named one, the threads' order would decide which calls fail by
  // both.
  const Options options{.faults = "cuDeviceGetCount:50=UNKNOWN; cuDriverGetVersion:p0.1@seed3=NOT_READY"};
  std::atomic<int> unknown{0}, not_ready{0};
  const auto call = [&](int times) {
    for (int time = 0; time < times; ++time) {
      int value = 0;
      unknown += driver().cuDeviceGetCount(&value) == CUDA_ERROR_UNKNOWN;
      not_ready += driver().cuDriverGetVersion(&value) == CUDA_ERROR_NOT_READY;
    }
  };
  {
    const Running running(options);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(call, 100);
  }
  EXPECT_EQ(unknown, 1);
  const int in_threads = not_ready.exchange(0);
  EXPECT_GT(in_threads, 0);
  const Running again(options);
  call(400);
  EXPECT_EQ(in_threads, not_ready);
}

}  // namespace
}  // namespace cushim::sim
