// SPDX-License-Identifier: Apache-2.0
// How much free memory allocations take: blocks of 2 MiB, and chunks of 32 MiB of pools. Each statement runs
// in a process of its own, in which no other allocation shares the blocks.
#include "pools.hpp"

namespace conformance {
namespace {

class MemoryBlocks : public OnPools {
 protected:
  void TearDown() override {
    for (CUarray made : arrays_) driver().cuArrayDestroy(made);
    OnPools::TearDown();
  }

 public:
  // Returns by how many MiB a call reduces the free memory.
  template <class Make>
  long long taken_by(const Make &make) {
    const long long before = free_memory();
    make();
    return (before - free_memory()) / static_cast<long long>(kMiB);
  }
  void make_array(std::size_t width, std::size_t height) {
    CUDA_ARRAY_DESCRIPTOR shape{};
    shape.Width = width;
    shape.Height = height;
    shape.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    shape.NumChannels = 4;
    NEED(driver().cuArrayCreate(&arrays_.emplace_back(), &shape));
  }
  void free(CUdeviceptr at, CUstream work) {
    NEED(driver().cuMemFreeAsync(at, work));
    NEED(driver().cuStreamSynchronize(work));
  }
  // Expects that freed memory of a pool, which has the lower addresses, is reused before later memory.
  // `take_last` allocates after the free.
  template <class Take>
  void expect_lowest_address_first(CUmemoryPool from_pool, const Take &take_last) {
    const CUstream work = stream();
    const CUdeviceptr large = from(from_pool, 40 * kMiB, work);
    CUdeviceptr small = 0;
    EXPECT_VALUE(taken_by([&] { small = from(from_pool, 3 * kMiB, work); }), 0);
    EXPECT_VALUE(taken_by([&] { free(large, work); }), -32);
    const CUdeviceptr last = take_last(work);
    EXPECT_VALUE(last == large, true);
    EXPECT_VALUE(small - large, CUdeviceptr{40 * kMiB});
  }

 private:
  long long free_memory() {
    std::size_t free = 0, total = 0;
    NEED(driver().cuMemGetInfo(&free, &total));
    return static_cast<long long>(free);
  }
  std::vector<CUarray> arrays_;
};

TEST_F(MemoryBlocks, Are_shared_by_small_allocations_of_a_context) {
  CUSHIM_IN_A_FRESH_PROCESS();
  CUdeviceptr first = 0, second = 0, other = 0;
  EXPECT_VALUE(taken_by([&] { NEED(driver().cuMemAlloc(&first, 4096)); }), 2);
  EXPECT_VALUE(taken_by([&] { NEED(driver().cuMemAlloc(&second, kMiB)); }), 0);
  CUcontext context = nullptr;
  NEED(driver().cuCtxCreate_v2(&context, 0, device));
  EXPECT_VALUE(taken_by([&] { NEED(driver().cuMemAlloc(&other, 4096)); }), 2);
  NEED(driver().cuMemFree(other));
  NEED(driver().cuCtxDestroy(context));
  EXPECT_VALUE(taken_by([&] { NEED(driver().cuMemFree(first)); }), 0);
  EXPECT_VALUE(taken_by([&] { NEED(driver().cuMemFree(second)); }), -2);
}
TEST_F(MemoryBlocks, Are_not_shared_by_arrays_and_other_memory) {
  CUSHIM_IN_A_FRESH_PROCESS();
  CUdeviceptr at = 0;
  EXPECT_VALUE(taken_by([&] { NEED(driver().cuMemAlloc(&at, 4096)); }), 2);
  EXPECT_VALUE(taken_by([&] { make_array(64, 64); }), 2);
  EXPECT_VALUE(taken_by([&] { make_array(1024, 64); }), 0);
  EXPECT_VALUE(taken_by([&] { make_array(1024, 1024); }), 4);
  NEED(driver().cuMemFree(at));
}
TEST_F(MemoryBlocks, Of_pools_hold_allocations_that_cross_their_boundaries) {
  CUSHIM_IN_A_FRESH_PROCESS();
  const CUmemoryPool from_pool = pool();
  const CUstream work = stream();
  CUdeviceptr small = 0, large = 0;
  EXPECT_VALUE(taken_by([&] { small = from(from_pool, 3 * kMiB, work); }), 32);
  EXPECT_VALUE(taken_by([&] { large = from(from_pool, 40 * kMiB, work); }), 32);
  EXPECT_VALUE(reserved(from_pool) / kMiB, 64u);
  EXPECT_VALUE(large - small, CUdeviceptr{3 * kMiB});
  EXPECT_VALUE(taken_by([&] { free(large, work); }), -32);
  EXPECT_VALUE(reserved(from_pool) / kMiB, 32u);
}
TEST_F(MemoryBlocks, Of_pools_are_taken_for_the_lowest_free_addresses) {
  CUSHIM_IN_A_FRESH_PROCESS();
  const CUmemoryPool from_pool = pool();
  expect_lowest_address_first(from_pool, [&](CUstream work) {
    CUdeviceptr last = 0;
    EXPECT_VALUE(taken_by([&] { last = from(from_pool, 3 * kMiB, work); }), 32);
    return last;
  });
}
TEST_F(MemoryBlocks, Of_pools_that_can_be_exported_are_the_same) {
  CUSHIM_IN_A_FRESH_PROCESS();
  CUmemPoolProps properties = properties_of(CU_MEM_LOCATION_TYPE_DEVICE);
  properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const CUmemoryPool from_pool = pool(properties);
  expect_lowest_address_first(from_pool, [&](CUstream work) {
    CUdeviceptr last = 0;
    EXPECT_VALUE(taken_by([&] { last = from(from_pool, 40 * kMiB, work); }), 32);
    return last;
  });
}

}  // namespace
}  // namespace conformance
