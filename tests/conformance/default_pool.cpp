// SPDX-License-Identifier: Apache-2.0
// The default pool, and stream-ordered allocation.
#include <cushim/memory.hpp>

#include "conformance.hpp"

namespace conformance {
namespace {

class DefaultPool : public OnDevice {
 protected:
  void SetUp() override {
    CUSHIM_NEEDS(pools);
    OnDevice::SetUp();
    NEED(driver().cuDeviceGetDefaultMemPool(&pool, 0));
  }

 public:
  CUmemoryPool pool = nullptr, pool_out = nullptr;
};

STATEMENT(DefaultPool, Is_there, driver().cuDeviceGetDefaultMemPool(&pool_out, 0), CUDA_SUCCESS)
STATEMENT(DefaultPool, Needs_a_place, driver().cuDeviceGetDefaultMemPool(nullptr, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(DefaultPool, Needs_a_device, driver().cuDeviceGetDefaultMemPool(&pool_out, 99),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(DefaultPool, Needs_a_device_from_0, driver().cuDeviceGetDefaultMemPool(&pool_out, -1),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(DefaultPool, The_current_pool_is_there, driver().cuDeviceGetMemPool(&pool_out, 0), CUDA_SUCCESS)
STATEMENT(DefaultPool, The_current_pool_needs_a_place, driver().cuDeviceGetMemPool(nullptr, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(DefaultPool, The_current_pool_needs_a_device, driver().cuDeviceGetMemPool(&pool_out, 99),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(DefaultPool, Is_made_current, driver().cuDeviceSetMemPool(0, pool), CUDA_SUCCESS)
STATEMENT(DefaultPool, A_null_pool_is_not_made_current, driver().cuDeviceSetMemPool(0, nullptr),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(DefaultPool, Is_not_made_current_on_no_device, driver().cuDeviceSetMemPool(99, pool),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(DefaultPool, Is_not_destroyed, driver().cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE)
STATEMENT(DefaultPool, Is_trimmed, driver().cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS)
STATEMENT(DefaultPool, Is_trimmed_to_more_than_it_has, driver().cuMemPoolTrimTo(pool, std::size_t{1} << 40),
          CUDA_SUCCESS)
STATEMENT(DefaultPool, A_null_pool_is_not_trimmed, driver().cuMemPoolTrimTo(nullptr, 0),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(DefaultPool, Is_current_at_first) {
  NEED(driver().cuDeviceGetMemPool(&pool_out, 0));
  EXPECT_VALUE(pool_out == pool, true);
}
TEST_F(DefaultPool, Is_asked_without_a_context) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuDeviceGetDefaultMemPool(&pool_out, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuDeviceGetMemPool(&pool_out, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
}

const bool attributes = [] {
  static constexpr int get[] = {1, 0, 0, 0, 0, 0, 0, 0, 0, 1}, set[] = {1, 0, 0, 0, 0, 1, 0, 1, 0, 1};
  for (int attribute = 0; attribute < 10; ++attribute) {
    const auto index = static_cast<std::size_t>(attribute);
    const CUresult got = static_cast<CUresult>(index < std::size(get) ? get[index] : 0);
    const CUresult has_set = static_cast<CUresult>(index < std::size(set) ? set[index] : 0);
    const auto which = static_cast<CUmemPool_attribute>(attribute);
    const std::string name = std::to_string(attribute);
    ADD_TEST(DefaultPool, "Is_asked_for_the_attribute_" + name, [=](DefaultPool &test) {
      unsigned long long value = 0;
      expect_answer(__FILE__, __LINE__, "cuMemPoolGetAttribute(pool, attribute, &value)",
                    driver().cuMemPoolGetAttribute(test.pool, which, &value), got);
    });
    ADD_TEST(DefaultPool, "Has_the_attribute_" + name + "_set_to_what_it_is", [=](DefaultPool &test) {
      unsigned long long value = 0;
      driver().cuMemPoolGetAttribute(test.pool, which, &value);
      if (attribute >= 5) value = 0;  // high-water marks can only be reset to 0
      expect_answer(__FILE__, __LINE__, "cuMemPoolSetAttribute(pool, attribute, &value)",
                    driver().cuMemPoolSetAttribute(test.pool, which, &value), has_set);
    });
    ADD_TEST(DefaultPool, "Needs_a_pool_for_the_attribute_" + name, [=](DefaultPool &) {
      unsigned long long value = 0;
      EXPECT_ANSWER(driver().cuMemPoolGetAttribute(nullptr, which, &value), CUDA_ERROR_INVALID_VALUE);
    });
  }
  return true;
}();

STATEMENT(DefaultPool, Memory_needs_a_place, driver().cuMemAllocAsync(nullptr, 4096, stream()),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(DefaultPool, Memory_comes_and_goes_in_stream_order) {
  const CUstream work = stream();
  CUdeviceptr at = 0;
  EXPECT_ANSWER(driver().cuMemAllocAsync(&at, 4096, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemsetD8Async(at, 3, 4096, work), CUDA_SUCCESS);
  unsigned char back = 0;
  EXPECT_ANSWER(driver().cuMemcpyDtoHAsync(&back, at + 4095, 1, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemFreeAsync(at, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(back), 3);
}
TEST_F(DefaultPool, Memory_of_no_bytes) {
  CUdeviceptr at = 0;
  EXPECT_ANSWER(driver().cuMemAllocAsync(&at, 0, stream()), CUDA_SUCCESS);
}
TEST_F(DefaultPool, Memory_without_a_context) {
  CUdeviceptr at = 0;
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemAllocAsync(&at, 64, nullptr), CUDA_ERROR_INVALID_CONTEXT);
}
TEST_F(DefaultPool, Memory_of_too_many_bytes_is_not_there) {
  CUdeviceptr at = 0;
  EXPECT_ANSWER(driver().cuMemAllocAsync(&at, std::size_t{1} << 44, stream()), CUDA_ERROR_OUT_OF_MEMORY);
}
TEST_F(DefaultPool, Memory_is_freed_by_the_plain_call_too) {
  CUdeviceptr at = 0;
  const CUstream work = stream();
  NEED(driver().cuMemAllocAsync(&at, 4096, work));
  NEED(driver().cuStreamSynchronize(work));
  EXPECT_ANSWER(driver().cuMemFree(at), CUDA_SUCCESS);
}
TEST_F(DefaultPool, Plain_memory_is_freed_in_stream_order) {
  CUdeviceptr at = 0;
  NEED(driver().cuMemAlloc(&at, 4096));
  EXPECT_ANSWER(driver().cuMemFreeAsync(at, stream()), CUDA_SUCCESS);
}
TEST_F(DefaultPool, Memory_is_freed_in_another_stream) {
  CUdeviceptr at = 0;
  const CUstream work = stream();
  NEED(driver().cuMemAllocAsync(&at, 4096, work));
  NEED(driver().cuStreamSynchronize(work));
  EXPECT_ANSWER(driver().cuMemFreeAsync(at, stream()), CUDA_SUCCESS);
}
TEST_F(DefaultPool, Memory_names_its_pool) {
  CUdeviceptr at = 0;
  const CUstream work = stream();
  NEED(driver().cuMemAllocAsync(&at, 4096, work));
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&pool_out, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at),
                CUDA_SUCCESS);
  EXPECT_VALUE(pool_out == pool, true);
  NEED(driver().cuMemFreeAsync(at, work));
}
STATEMENT(DefaultPool, Null_is_freed_in_stream_order, driver().cuMemFreeAsync(0, stream()), CUDA_SUCCESS)
STATEMENT(DefaultPool, The_stack_is_not_freed_in_stream_order,
          driver().cuMemFreeAsync(address_of(&size), stream()), CUDA_ERROR_INVALID_VALUE)
TEST_F(DefaultPool, By_wrappers_memory_comes_and_goes) {
  auto work = cushim::Stream::create();
  auto buffer = cushim::StreamBuffer<int>::create(work, 100);
  buffer.close();
  work.synchronize();
  EXPECT_VALUE(buffer.is_empty(), true);
}

}  // namespace
}  // namespace conformance
