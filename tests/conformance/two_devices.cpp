// SPDX-License-Identifier: Apache-2.0
// Two devices of one machine: their ordinals, names and contexts.
#include "two_devices.hpp"

#include <thread>

#include "pools.hpp"

namespace conformance {

void OnTwoDevices::SetUp() {
  ASSERT_NO_FATAL_FAILURE(OnDevice::SetUp());
  if (IsSkipped()) return;
  CUSHIM_NEEDS(gpus(2));
  there = primary_context(1);
  ASSERT_NE(there, nullptr) << "the primary context of device 1 could not be retained";
}

void OnTwoDevices::TearDown() {
  if (there != nullptr) {
    for (const auto &[from, to] : {std::pair(context, there), std::pair(there, context)}) {
      driver().cuCtxSetCurrent(from);
      driver().cuCtxDisablePeerAccess(to);  // fails if access is not enabled
    }
  }
  OnDevice::TearDown();
}

void OnTwoPeers::SetUp() {
  ASSERT_NO_FATAL_FAILURE(OnTwoDevices::SetUp());
  if (IsSkipped()) return;
  CUSHIM_NEEDS(peer);
}

void OnTwoPeers::reach_over() { NEED(driver().cuCtxEnablePeerAccess(there, 0)); }

namespace {

// ---- Devices ----

class TwoDevices : public OnTwoDevices {};

TEST_F(TwoDevices, Are_numbered_from_zero) {
  CUdevice found = 77;
  EXPECT_ANSWER(driver().cuDeviceGet(&found, 1), CUDA_SUCCESS);
  EXPECT_VALUE(found, 1);
}
TEST_F(TwoDevices, Have_no_neighbour_behind_the_last) {
  int count = 0;
  NEED(driver().cuDeviceGetCount(&count));
  CUdevice found = 0;
  EXPECT_ANSWER(driver().cuDeviceGet(&found, count), CUDA_ERROR_INVALID_DEVICE);
}
TEST_F(TwoDevices, Have_different_UUIDs) {
  CUuuid one{}, other{};
  EXPECT_ANSWER(driver().cuDeviceGetUuid_v2(&one, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuDeviceGetUuid_v2(&other, 1), CUDA_SUCCESS);
  EXPECT_VALUE(std::equal(std::begin(one.bytes), std::end(one.bytes), std::begin(other.bytes)), false);
}
TEST_F(TwoDevices, Are_each_found_by_their_PCI_address) {
  for (CUdevice number : {0, 1}) {
    char id[32] = "";
    CUdevice found = 77;
    EXPECT_ANSWER(driver().cuDeviceGetPCIBusId(id, sizeof id, number), CUDA_SUCCESS);
    EXPECT_ANSWER(driver().cuDeviceGetByPCIBusId(&found, id), CUDA_SUCCESS);
    EXPECT_VALUE(found, number);
  }
}
TEST_F(TwoDevices, Have_different_PCI_addresses) {
  char one[32] = "", other[32] = "";
  NEED(driver().cuDeviceGetPCIBusId(one, sizeof one, 0));
  NEED(driver().cuDeviceGetPCIBusId(other, sizeof other, 1));
  EXPECT_VALUE(std::string(one) == other, false);
}
TEST_F(TwoDevices, Have_memory_of_their_own) {
  std::size_t free_before = 0, free_after = 0;
  NEED(driver().cuMemGetInfo(&free_before, &size));
  memory_there(64 << 20);
  EXPECT_ANSWER(driver().cuMemGetInfo(&free_after, &size), CUDA_SUCCESS);
  EXPECT_VALUE(free_before == free_after, true);
}
TEST_F(TwoDevices, Have_default_pools_of_their_own) {
  CUSHIM_NEEDS(pools);
  CUmemoryPool one = nullptr, other = nullptr;
  EXPECT_ANSWER(driver().cuDeviceGetDefaultMemPool(&one, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuDeviceGetDefaultMemPool(&other, 1), CUDA_SUCCESS);
  EXPECT_VALUE(one == other, false);
}
TEST_F(TwoDevices, The_pool_of_the_other_does_not_become_current) {
  CUSHIM_NEEDS(pools);
  CUmemoryPool other = nullptr;
  NEED(driver().cuDeviceGetDefaultMemPool(&other, 1));
  EXPECT_ANSWER(driver().cuDeviceSetMemPool(0, other), CUDA_ERROR_INVALID_VALUE);
}

// ---- Contexts ----

class ContextsOfTwoDevices : public OnTwoDevices {
 public:
  CUdevice found = 77;
};

TEST_F(ContextsOfTwoDevices, Are_different) { EXPECT_VALUE(context == there, false); }
TEST_F(ContextsOfTwoDevices, Say_which_device_is_current) {
  NEED(driver().cuCtxGetDevice(&found));
  EXPECT_VALUE(found, 0);
  NEED(driver().cuCtxPushCurrent(there));
  EXPECT_ANSWER(driver().cuCtxGetDevice(&found), CUDA_SUCCESS);
  EXPECT_VALUE(found, 1);
  EXPECT_ANSWER(driver().cuCtxPopCurrent(&context_out), CUDA_SUCCESS);
  EXPECT_VALUE(context_out == there, true);
  NEED(driver().cuCtxGetDevice(&found));
  EXPECT_VALUE(found, 0);
}
TEST_F(ContextsOfTwoDevices, Lie_on_one_stack_in_turn) {
  const CUcontext pushed[] = {there, context, there, there, context};
  for (const CUcontext one : pushed) EXPECT_ANSWER(driver().cuCtxPushCurrent(one), CUDA_SUCCESS);
  for (std::size_t i = std::size(pushed); i-- > 0;) {
    EXPECT_ANSWER(driver().cuCtxPopCurrent(&context_out), CUDA_SUCCESS);
    EXPECT_VALUE(context_out == pushed[i], true);
  }
  NEED(driver().cuCtxGetCurrent(&context_out));
  EXPECT_VALUE(context_out == context, true);
}
TEST_F(ContextsOfTwoDevices, Take_each_others_place_on_the_stack) {
  NEED(driver().cuCtxPushCurrent(context));
  EXPECT_ANSWER(driver().cuCtxSetCurrent(there), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxPopCurrent(&context_out), CUDA_SUCCESS);
  EXPECT_VALUE(context_out == there, true);
  NEED(driver().cuCtxGetCurrent(&context_out));
  EXPECT_VALUE(context_out == context, true);
}
TEST_F(ContextsOfTwoDevices, Are_current_in_threads_of_their_own) {
  CUresult set = CUDA_ERROR_UNKNOWN, asked = CUDA_ERROR_UNKNOWN;
  std::thread([&] {
    set = driver().cuCtxSetCurrent(there);
    asked = driver().cuCtxGetDevice(&found);
  }).join();
  EXPECT_ANSWER(set, CUDA_SUCCESS);
  EXPECT_ANSWER(asked, CUDA_SUCCESS);
  EXPECT_VALUE(found, 1);
  NEED(driver().cuCtxGetDevice(&found));
  EXPECT_VALUE(found, 0);
}
TEST_F(ContextsOfTwoDevices, Do_not_wait_for_each_others_work) {
  const CUstream work = stream_there();
  const Hold held = held_there(work);
  EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_NOT_READY);
}
TEST_F(ContextsOfTwoDevices, Keep_limits_of_their_own) {
  std::size_t before = 0, after = 0;
  NEED(driver().cuCtxGetLimit(&before, CU_LIMIT_STACK_SIZE));
  on_other([&] {
    std::size_t own = 0;
    NEED(driver().cuCtxGetLimit(&own, CU_LIMIT_STACK_SIZE));
    EXPECT_ANSWER(driver().cuCtxSetLimit(CU_LIMIT_STACK_SIZE, own * 2), CUDA_SUCCESS);
    NEED(driver().cuCtxGetLimit(&size, CU_LIMIT_STACK_SIZE));
    EXPECT_VALUE(size == own * 2, true);
    NEED(driver().cuCtxSetLimit(CU_LIMIT_STACK_SIZE, own));
    return 0;
  });
  NEED(driver().cuCtxGetLimit(&after, CU_LIMIT_STACK_SIZE));
  EXPECT_VALUE(before == after, true);
}
TEST_F(ContextsOfTwoDevices, Of_the_other_are_destroyed_from_here) {
  CUcontext made = nullptr, popped = nullptr;
  NEED(driver().cuCtxCreate_v2(&made, 0, other_device));
  NEED(driver().cuCtxPopCurrent(&popped));
  EXPECT_ANSWER(driver().cuCtxDestroy(made), CUDA_SUCCESS);
  NEED(driver().cuCtxGetCurrent(&context_out));
  EXPECT_VALUE(context_out == context, true);
}
TEST_F(ContextsOfTwoDevices, Are_active_one_by_one) {
  CUSHIM_IN_A_FRESH_PROCESS();
  // The fixture has retained both.
  NEED(driver().cuDevicePrimaryCtxRelease(1));
  int active = 77;
  NEED(driver().cuDevicePrimaryCtxGetState(1, &flags, &active));
  EXPECT_VALUE(active, 0);
  NEED(driver().cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_VALUE(active, 1);
  NEED(driver().cuDevicePrimaryCtxRetain(&context_out, 1));
}
TEST_F(ContextsOfTwoDevices, Have_flags_of_their_own) {
  CUSHIM_IN_A_FRESH_PROCESS();
  EXPECT_ANSWER(driver().cuDevicePrimaryCtxSetFlags(1, CU_CTX_SCHED_YIELD), CUDA_SUCCESS);
  int active = 0;
  NEED(driver().cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_VALUE(flags, 0u);
  NEED(driver().cuDevicePrimaryCtxGetState(1, &flags, &active));
  EXPECT_VALUE(flags, unsigned{CU_CTX_SCHED_YIELD});
}
TEST_F(ContextsOfTwoDevices, Outlive_a_reset_of_the_other) {
  CUSHIM_IN_A_FRESH_PROCESS();
  const CUdeviceptr here = memory();
  NEED(driver().cuMemsetD8(here, 7, 16));
  EXPECT_ANSWER(driver().cuDevicePrimaryCtxReset(1), CUDA_SUCCESS);
  unsigned char byte = 0;
  EXPECT_ANSWER(driver().cuMemcpyDtoH(&byte, here, 1), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(byte), 7);
  there = nullptr;
}

// ---- Streams ----

class StreamsOfTwoDevices : public OnTwoDevices {};

STATEMENT(StreamsOfTwoDevices, Are_queried_from_here, driver().cuStreamQuery(stream_there()), CUDA_SUCCESS)
STATEMENT(StreamsOfTwoDevices, Are_synchronized_from_here, driver().cuStreamSynchronize(stream_there()),
          CUDA_SUCCESS)
TEST_F(StreamsOfTwoDevices, Are_destroyed_from_here) {
  CUstream made = nullptr;
  on_other([&] { NEED(driver().cuStreamCreate(&made, 0)); });
  EXPECT_ANSWER(driver().cuStreamDestroy(made), CUDA_SUCCESS);
}
TEST_F(StreamsOfTwoDevices, Name_their_context) {
  EXPECT_ANSWER(driver().cuStreamGetCtx(stream_there(), &context_out), CUDA_SUCCESS);
  EXPECT_VALUE(context_out == there, true);
}
TEST_F(StreamsOfTwoDevices, Tell_their_flags_from_here) {
  EXPECT_ANSWER(driver().cuStreamGetFlags(stream_there(CU_STREAM_NON_BLOCKING), &flags), CUDA_SUCCESS);
  EXPECT_VALUE(flags, unsigned{CU_STREAM_NON_BLOCKING});
}
TEST_F(StreamsOfTwoDevices, Run_without_each_other) {
  const CUstream work = stream_there(CU_STREAM_DEFAULT);
  const Hold held = held_there(work);
  NEED(driver().cuMemsetD8Async(memory(), 1, 64, nullptr));
  EXPECT_ANSWER(driver().cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_NOT_READY);
}
TEST_F(StreamsOfTwoDevices, Call_host_functions_for_here) {
  int calls = 0;
  const CUstream work = stream_there();
  EXPECT_ANSWER(driver().cuLaunchHostFunc(
                    work, [](void *data) { ++*static_cast<int *>(data); }, &calls),
                CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_VALUE(calls, 1);
}
STATEMENT(StreamsOfTwoDevices, Of_the_other_set_memory_there,
          driver().cuMemsetD8Async(memory_there(), 1, 64, stream_there()), CUDA_SUCCESS)
// The stream determines the device, not the current context.
STATEMENT(StreamsOfTwoDevices, Of_the_other_do_not_set_memory_here,
          driver().cuMemsetD8Async(memory(), 1, 64, stream_there()), CUDA_ERROR_INVALID_VALUE)
STATEMENT(StreamsOfTwoDevices, Of_here_do_not_set_memory_there,
          driver().cuMemsetD8Async(memory_there(), 1, 64, stream()), CUDA_ERROR_INVALID_VALUE)
STATEMENT(StreamsOfTwoDevices, Of_the_other_bring_bytes_here,
          driver().cuMemcpyHtoDAsync(memory(), pinned(), 8, stream_there()), CUDA_SUCCESS)
STATEMENT(StreamsOfTwoDevices, Of_here_bring_bytes_there,
          driver().cuMemcpyHtoDAsync(memory_there(), pinned(), 8, stream()), CUDA_SUCCESS)
STATEMENT(StreamsOfTwoDevices, Of_the_other_take_bytes_from_here,
          driver().cuMemcpyDtoHAsync(pinned(), memory(), 8, stream_there()), CUDA_SUCCESS)
STATEMENT(StreamsOfTwoDevices, Of_here_take_bytes_from_there,
          driver().cuMemcpyDtoHAsync(pinned(), memory_there(), 8, stream()), CUDA_SUCCESS)
STATEMENT(StreamsOfTwoDevices, Of_the_other_use_pinned_memory_of_here,
          driver().cuMemcpyHtoDAsync(memory_there(), pinned(), 8, stream_there()), CUDA_SUCCESS)
STATEMENT(StreamsOfTwoDevices, Of_the_other_take_managed_memory,
          driver().cuStreamAttachMemAsync(stream_there(), managed(), 0, CU_MEM_ATTACH_SINGLE), CUDA_SUCCESS)

class MemOpsOfTwoDevices : public OnTwoDevices {
 protected:
  void SetUp() override {
    CUSHIM_NEEDS(mem_ops);
    OnTwoDevices::SetUp();
  }

 public:
  CUresult write(CUstream in, CUdeviceptr at) { return driver().cuStreamWriteValue32_v2(in, at, 0, 0); }
  CUresult wait(CUstream in, CUdeviceptr at) {
    const unsigned zero = 0;
    NEED(driver().cuMemcpy(at, address_of(&zero), sizeof zero));
    NEED(driver().cuStreamSynchronize(nullptr));
    return driver().cuStreamWaitValue32_v2(in, at, 0, CU_STREAM_WAIT_VALUE_GEQ);
  }
};
const bool mem_ops_added = [] {
  const struct {
    bool in_there;
    const char *memory, *key;
    CUdeviceptr (OnTwoDevices::*make)(std::size_t bytes);
    bool works;
  } uses[] = {{true, "memory_there", "memory_there()", &OnTwoDevices::memory_there, true},
              {true, "memory_here", "memory()", &OnTwoDevices::memory, false},
              {false, "memory_there", "memory_there()", &OnTwoDevices::memory_there, false},
              {false, "pinned_memory_of_there", "pinned_there()", &OnTwoDevices::pinned_there, true}};
  for (const auto &use : uses)
    for (const bool writes : {true, false}) {
      const std::string stream = std::string("A_stream_") + (use.in_there ? "there" : "here");
      const std::string verb = writes      ? use.works ? "_writes_" : "_does_not_write_"
                               : use.works ? "_waits_for_"
                                           : "_does_not_wait_for_";
      ADD_TEST(MemOpsOfTwoDevices, stream + verb + use.memory, [=](MemOpsOfTwoDevices &t) {
        const CUstream in = use.in_there ? t.stream_there() : t.stream();
        const CUdeviceptr at = (t.*use.make)(4096);
        expect_answer(__FILE__, __LINE__,
                      std::string(writes ? "write(" : "wait(") +
                          (use.in_there ? "stream_there(), " : "stream(), ") + use.key + ")",
                      writes ? t.write(in, at) : t.wait(in, at),
                      use.works ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
      });
    }
  return true;
}();

// ---- Stream-ordered memory ----

class PoolsOfTwoDevices : public OnTwoDevices {
 protected:
  void SetUp() override {
    CUSHIM_NEEDS(pools);
    OnTwoDevices::SetUp();
    if (there != nullptr) NEED(driver().cuDeviceGetDefaultMemPool(&pool_there, 1));
  }

 public:
  CUmemoryPool pool_there = nullptr;
  int device_of(CUdeviceptr at) {
    int found = -77;
    NEED(driver().cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at));
    return found;
  }
  // Expects memory of device 1, and frees it in a stream.
  void expect_of_there_and_free(CUdeviceptr at, CUstream work) {
    EXPECT_VALUE(device_of(at), 1);
    EXPECT_ANSWER(driver().cuMemFreeAsync(at, work), CUDA_SUCCESS);
    EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  }
};
TEST_F(PoolsOfTwoDevices, Give_memory_of_the_streams_device) {
  const CUstream work = stream_there();
  CUdeviceptr at = 0;
  EXPECT_ANSWER(driver().cuMemAllocAsync(&at, 4096, work), CUDA_SUCCESS);
  expect_of_there_and_free(at, work);
}
TEST_F(PoolsOfTwoDevices, Give_memory_in_streams_of_the_other) {
  const CUstream work = stream();
  CUdeviceptr at = 0;
  EXPECT_ANSWER(driver().cuMemAllocFromPoolAsync(&at, 4096, pool_there, work), CUDA_SUCCESS);
  expect_of_there_and_free(at, work);
}
TEST_F(PoolsOfTwoDevices, Take_memory_back_in_a_stream_of_the_other) {
  const CUstream work = stream_there();
  CUdeviceptr at = 0;
  NEED(driver().cuMemAllocAsync(&at, 4096, work));
  NEED(driver().cuStreamSynchronize(work));
  EXPECT_ANSWER(driver().cuMemFreeAsync(at, stream()), CUDA_SUCCESS);
}
TEST_F(PoolsOfTwoDevices, Are_closed_to_the_other_at_first) {
  CUmemLocation here = location_of(CU_MEM_LOCATION_TYPE_DEVICE, 0);
  CUmemAccess_flags access = CU_MEM_ACCESS_FLAGS_PROT_READ;
  EXPECT_ANSWER(driver().cuMemPoolGetAccess(&access, pool_there, &here), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(access), 0);
  here.id = 1;
  EXPECT_ANSWER(driver().cuMemPoolGetAccess(&access, pool_there, &here), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(access), 3);
}

}  // namespace
}  // namespace conformance
