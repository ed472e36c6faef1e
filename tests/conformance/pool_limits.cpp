// SPDX-License-Identifier: Apache-2.0
// The largest size of a pool, destroyed pools, and the current pool of a device.
#include "pools.hpp"

namespace conformance {
namespace {

// ---- maxSize ----

class PoolLimits : public OnPools {};

// The largest size of a pool, the bytes of one allocation from it, and its answer.
struct Fit {
  const char *name;
  std::size_t limit, bytes;
  int code;
};
const Fit fits[] = {
    {"A_byte_from_a_pool_of_1_byte", 1, 1, 0},
    {"More_than_a_block_from_a_pool_of_1_byte", 1, 33 * kMiB, 2},
    {"Two_mebibytes_from_a_pool_of_1_byte", 1, 2 * kMiB, 0},
    {"A_byte_more_than_two_mebibytes_from_a_pool_of_1_byte", 1, 2 * kMiB + 1, 0},
    {"A_block_from_a_pool_of_a_block", 32 * kMiB, 32 * kMiB, 0},
    {"A_byte_more_than_a_block_from_a_pool_of_a_block", 32 * kMiB, 32 * kMiB + 1, 2},
    {"Two_mebibytes_more_than_a_block_from_a_pool_of_a_block", 32 * kMiB, 34 * kMiB, 2},
    {"A_block_from_a_pool_of_a_byte_less", 32 * kMiB - 1, 32 * kMiB, 0},
    {"Two_mebibytes_from_a_pool_of_two_mebibytes", 2 * kMiB, 2 * kMiB, 0},
    {"Four_mebibytes_from_a_pool_of_two_mebibytes", 2 * kMiB, 4 * kMiB, 0},
    {"Four_mebibytes_from_a_pool_of_three_mebibytes", 3 * kMiB, 4 * kMiB, 0},
    {"Two_blocks_from_a_pool_of_two_blocks", 64 * kMiB, 64 * kMiB, 0},
    {"Nothing_from_a_pool_of_1_byte", 1, 0, 0},
};
const bool fit = [] {
  for (const Fit &each : fits)
    ADD_TEST(PoolLimits, each.name, [=](PoolLimits &test) {
      const CUmemoryPool pool = test.pool_of_at_most(each.limit);
      CUdeviceptr at = 0;
      expect_answer(__FILE__, __LINE__, "cuMemAllocFromPoolAsync(&at, bytes, pool, work)",
                    driver().cuMemAllocFromPoolAsync(&at, each.bytes, pool, test.stream()),
                    static_cast<CUresult>(each.code));
      const auto reserved = test.reserved(pool);
      RECORD_VALUE(reserved);
    });
  return true;
}();
TEST_F(PoolLimits, A_full_pool_gives_no_more_until_memory_is_freed) {
  const CUmemoryPool pool = pool_of_at_most(32 * kMiB);
  const CUstream work = stream();
  CUdeviceptr at = from(pool, 32 * kMiB, work), more = 0;
  EXPECT_ANSWER(driver().cuMemAllocFromPoolAsync(&more, 2 * kMiB, pool, work), CUDA_ERROR_OUT_OF_MEMORY);
  NEED(driver().cuMemFreeAsync(at, work));
  EXPECT_ANSWER(driver().cuMemAllocFromPoolAsync(&more, 2 * kMiB, pool, work), CUDA_SUCCESS);
  EXPECT_VALUE(used(pool), 2 * kMiB);
}
TEST_F(PoolLimits, A_full_pool_gives_memory_that_another_stream_has_freed) {
  const CUmemoryPool pool = pool_of_at_most(32 * kMiB);
  const CUstream work = stream();
  const CUdeviceptr at = from(pool, 32 * kMiB, work);
  CUdeviceptr more = 0;
  NEED(driver().cuMemFreeAsync(at, work));
  NEED(driver().cuStreamSynchronize(work));
  EXPECT_ANSWER(driver().cuMemAllocFromPoolAsync(&more, 32 * kMiB, pool, stream()), CUDA_SUCCESS);
}
TEST_F(PoolLimits, A_block_of_two_is_given_twice) {
  const CUmemoryPool pool = pool_of_at_most(64 * kMiB);
  const CUstream work = stream();
  CUdeviceptr at = 0;
  EXPECT_ANSWER(driver().cuMemAllocFromPoolAsync(&at, 32 * kMiB, pool, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemAllocFromPoolAsync(&at, 32 * kMiB, pool, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemAllocFromPoolAsync(&at, 1, pool, work), CUDA_ERROR_OUT_OF_MEMORY);
}

// ---- Destroying ----

class DestroyedPools : public OnPools {};

STATEMENT(DestroyedPools, Are_destroyed, driver().cuMemPoolDestroy(own_pool()), CUDA_SUCCESS)
STATEMENT(DestroyedPools, Null_is_not_destroyed, driver().cuMemPoolDestroy(nullptr), CUDA_ERROR_INVALID_VALUE)
TEST_F(DestroyedPools, Are_destroyed_without_a_context) {
  const CUmemoryPool pool = own_pool();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemPoolDestroy(pool), CUDA_SUCCESS);
}
TEST_F(DestroyedPools, Are_not_destroyed_twice) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuMemPoolDestroy(destroyed_pool()), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(DestroyedPools, Give_no_memory) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuMemAllocFromPoolAsync(&pointer, 64, destroyed_pool(), stream()),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(DestroyedPools, Have_no_attributes) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  unsigned long long value = 0;
  EXPECT_ANSWER(driver().cuMemPoolGetAttribute(destroyed_pool(), CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(DestroyedPools, Are_given_no_attributes) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  unsigned long long value = 0;
  EXPECT_ANSWER(driver().cuMemPoolSetAttribute(destroyed_pool(), CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(DestroyedPools, Are_not_trimmed) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuMemPoolTrimTo(destroyed_pool(), 0), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(DestroyedPools, Are_not_made_current) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuDeviceSetMemPool(0, destroyed_pool()), CUDA_SUCCESS);
}
TEST_F(DestroyedPools, Have_no_access) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  auto location = location_of(CU_MEM_LOCATION_TYPE_DEVICE);
  auto access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  EXPECT_ANSWER(driver().cuMemPoolGetAccess(&access, destroyed_pool(), &location), CUDA_SUCCESS);
}
TEST_F(DestroyedPools, Are_not_a_stream) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuMemPoolTrimTo(reinterpret_cast<CUmemoryPool>(stream()), 0),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(DestroyedPools, Leave_their_memory_until_it_is_freed) {
  const CUmemoryPool pool = own_pool();
  const CUstream work = stream();
  const CUdeviceptr at = from(pool, 4096, work);
  unsigned char back = 0;
  EXPECT_ANSWER(driver().cuMemPoolDestroy(pool), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemsetD8Async(at, 5, 4096, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemcpyDtoHAsync(&back, at + 4095, 1, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(back), 5);
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, at), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemFreeAsync(at, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
}
TEST_F(DestroyedPools, With_memory_in_use_have_no_attributes) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  const CUmemoryPool pool = own_pool();
  const CUdeviceptr at = synchronized_from(pool);
  unsigned long long value = 0;
  NEED(driver().cuMemPoolDestroy(pool));
  EXPECT_ANSWER(driver().cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&pool_out, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at),
                CUDA_SUCCESS);
  EXPECT_VALUE(pool_out == pool, true);
  EXPECT_VALUE(pool_out == nullptr, false);
  pool_out = nullptr;
}
TEST_F(DestroyedPools, Leave_memory_whose_free_is_pending) {
  CUSHIM_IN_A_FRESH_PROCESS();
  const CUmemoryPool pool = own_pool();
  const CUstream work = stream();
  const CUdeviceptr at = from(pool, 4096, work);
  Hold held = hold(work);
  NEED(driver().cuMemsetD8Async(at, 5, 4096, work));
  NEED(driver().cuMemFreeAsync(at, work));
  EXPECT_ANSWER(driver().cuMemPoolDestroy(pool), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_NOT_READY);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
}

// ---- The current pool of a device ----

class CurrentPools : public OnPools {
 protected:
  void TearDown() override {
    if (!IsSkipped()) driver().cuDeviceSetMemPool(0, default_pool());
    OnPools::TearDown();
  }
};

TEST_F(CurrentPools, Are_set) {
  const CUmemoryPool pool = this->pool();
  EXPECT_ANSWER(driver().cuDeviceSetMemPool(0, pool), CUDA_SUCCESS);
  CUmemoryPool current = nullptr;
  EXPECT_ANSWER(driver().cuDeviceGetMemPool(&current, 0), CUDA_SUCCESS);
  EXPECT_VALUE(current == pool, true);
  EXPECT_VALUE(default_pool() == pool, false);
}
TEST_F(CurrentPools, Give_stream_ordered_memory) {
  const CUmemoryPool pool = this->pool();
  const CUstream work = stream();
  CUdeviceptr at = 0;
  NEED(driver().cuDeviceSetMemPool(0, pool));
  EXPECT_ANSWER(driver().cuMemAllocAsync(&at, 4096, work), CUDA_SUCCESS);
  EXPECT_VALUE(used(pool), 4096ull);
  EXPECT_ANSWER(driver().cuMemFreeAsync(at, work), CUDA_SUCCESS);
  EXPECT_VALUE(used(pool), 0ull);
}
TEST_F(CurrentPools, Destroyed_are_the_default_pool_again) {
  const CUmemoryPool pool = own_pool();
  CUmemoryPool current = nullptr;
  NEED(driver().cuDeviceSetMemPool(0, pool));
  EXPECT_ANSWER(driver().cuMemPoolDestroy(pool), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuDeviceGetMemPool(&current, 0), CUDA_SUCCESS);
  EXPECT_VALUE(current == default_pool(), true);
}
STATEMENT(CurrentPools, Are_not_of_the_host,
          driver().cuDeviceSetMemPool(0, pool(properties_of(kLocationHost))), CUDA_ERROR_INVALID_VALUE)
STATEMENT(CurrentPools, Are_not_of_a_numa_node,
          driver().cuDeviceSetMemPool(0, pool(properties_of(kLocationHostNuma))), CUDA_ERROR_INVALID_VALUE)
STATEMENT(CurrentPools, Of_no_device_are_not_set, driver().cuDeviceSetMemPool(-1, pool()),
          CUDA_ERROR_INVALID_VALUE)
// The documentation names no such pools.
TEST_F(CurrentPools, Are_of_managed_memory) {
  auto properties = properties_of(CU_MEM_LOCATION_TYPE_DEVICE);
  properties.allocType = kManaged;
  CUmemoryPool usual = nullptr, current = nullptr;
  NEED(driver().cuMemGetDefaultMemPool(&usual, &properties.location, kManaged));
  const CUmemoryPool managed = pool(properties);
  EXPECT_ANSWER(driver().cuDeviceSetMemPool(0, managed), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuDeviceGetMemPool(&current, 0), CUDA_SUCCESS);
  EXPECT_VALUE(current == default_pool(), true);
  EXPECT_ANSWER(driver().cuMemGetMemPool(&current, &properties.location, kManaged), CUDA_SUCCESS);
  EXPECT_VALUE(current == managed, true);
  NEED(driver().cuMemSetMemPool(&properties.location, kManaged, usual));
}

}  // namespace
}  // namespace conformance
