// SPDX-License-Identifier: Apache-2.0
// Memory of pools: allocating, freeing, the counters of a pool, and destroyed pools.
#include "pools.hpp"

namespace conformance {
namespace {

class PoolMemory : public OnPools {};

// ---- Allocating ----

TEST_F(PoolMemory, Comes_and_goes_in_stream_order) {
  const CUmemoryPool pool = this->pool();
  const CUstream work = stream();
  CUdeviceptr at = 0;
  unsigned char back = 0;
  EXPECT_ANSWER(driver().cuMemAllocFromPoolAsync(&at, 4096, pool, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemsetD8Async(at, 3, 4096, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemcpyDtoHAsync(&back, at + 4095, 1, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemFreeAsync(at, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(back), 3);
}
STATEMENT(PoolMemory, Needs_a_place, driver().cuMemAllocFromPoolAsync(nullptr, 4096, pool(), stream()),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(PoolMemory, Needs_a_pool, driver().cuMemAllocFromPoolAsync(&pointer, 4096, nullptr, stream()),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(PoolMemory, Of_no_bytes_is_null, driver().cuMemAllocFromPoolAsync(&pointer, 0, pool(), stream()),
          CUDA_SUCCESS)
STATEMENT(PoolMemory, Of_no_bytes_needs_a_pool,
          driver().cuMemAllocFromPoolAsync(&pointer, 0, nullptr, stream()), CUDA_ERROR_INVALID_VALUE)
STATEMENT(PoolMemory, Of_no_bytes_needs_a_place,
          driver().cuMemAllocFromPoolAsync(nullptr, 0, pool(), stream()), CUDA_ERROR_INVALID_VALUE)
TEST_F(PoolMemory, Of_no_bytes_is_freed) {
  const CUstream work = stream();
  CUdeviceptr at = 77;
  EXPECT_ANSWER(driver().cuMemAllocFromPoolAsync(&at, 0, pool(), work), CUDA_SUCCESS);
  EXPECT_VALUE(at, CUdeviceptr{0});
  EXPECT_ANSWER(driver().cuMemFreeAsync(at, work), CUDA_SUCCESS);
}
TEST_F(PoolMemory, Of_16_tebibytes_is_not_there) {
  CUdeviceptr at = 77;
  const CUmemoryPool pool = this->pool();
  EXPECT_ANSWER(driver().cuMemAllocFromPoolAsync(&at, std::size_t{1} << 44, pool, stream()),
                CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_VALUE(at == 77, false);
  EXPECT_VALUE(at == 0, true);
  EXPECT_VALUE(used(pool), 0ull);
  EXPECT_VALUE(reserved(pool), 0ull);
}
STATEMENT(PoolMemory, Of_all_bytes_is_not_there,
          driver().cuMemAllocFromPoolAsync(&pointer, ~std::size_t{0}, pool(), stream()),
          CUDA_ERROR_OUT_OF_MEMORY)
TEST_F(PoolMemory, Without_a_context) {
  const CUmemoryPool pool = this->pool();
  const CUstream work = stream();
  CUdeviceptr at = 0;
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemAllocFromPoolAsync(&at, 64, pool, nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuMemAllocFromPoolAsync(&at, 64, nullptr, nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuMemAllocFromPoolAsync(nullptr, 64, pool, nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuMemAllocFromPoolAsync(&at, 0, pool, nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuMemAllocFromPoolAsync(&at, 64, pool, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemFreeAsync(at, work), CUDA_SUCCESS);
}
TEST_F(PoolMemory, Comes_in_the_default_streams) {
  const CUmemoryPool pool = this->pool();
  for (const CUstream work : {CUstream{}, legacy(), per_thread()}) {
    CUdeviceptr at = 0;
    EXPECT_ANSWER(driver().cuMemAllocFromPoolAsync(&at, 64, pool, work), CUDA_SUCCESS);
    EXPECT_ANSWER(driver().cuMemFreeAsync(at, work), CUDA_SUCCESS);
  }
}
TEST_F(PoolMemory, Comes_in_a_stream_of_another_context) {
  const CUmemoryPool pool = this->pool();
  const CUstream work = in_other_context([this] { return stream(); });
  CUdeviceptr at = 0;
  EXPECT_ANSWER(driver().cuMemAllocFromPoolAsync(&at, 64, pool, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemFreeAsync(at, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
}
TEST_F(PoolMemory, Is_aligned) {
  const CUmemoryPool pool = this->pool();
  const CUstream work = stream();
  for (std::size_t bytes : {1, 3, 100, 5000}) {
    const CUdeviceptr at = from(pool, bytes, work);
    EXPECT_VALUE(at % 256, CUdeviceptr{0});
    EXPECT_VALUE(at % 512, CUdeviceptr{0});
  }
}
TEST_F(PoolMemory, Names_its_pool) {
  const CUmemoryPool pool = this->pool();
  const CUdeviceptr at = synchronized_from(pool);
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&pool_out, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at),
                CUDA_SUCCESS);
  EXPECT_VALUE(pool_out == pool, true);
  pool_out = nullptr;
}
TEST_F(PoolMemory, Has_the_size_asked_for) {
  const CUdeviceptr at = synchronized_from(pool(), 100);
  CUdeviceptr base = 0;
  EXPECT_ANSWER(driver().cuMemGetAddressRange(&base, &size, at + 99), CUDA_SUCCESS);
  EXPECT_VALUE(base == at, true);
  EXPECT_VALUE(size, std::size_t{100});
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, at), CUDA_SUCCESS);
  EXPECT_VALUE(size, std::size_t{100});
}
TEST_F(PoolMemory, Of_an_exportable_pool_names_its_handle_types) {
  CUmemPoolProps properties = properties_of(CU_MEM_LOCATION_TYPE_DEVICE);
  unsigned long long types = 77;
  CUdeviceptr at = synchronized_from(pool(properties));
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&types, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, at),
                CUDA_SUCCESS);
  EXPECT_VALUE(types, 0ull);
  properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  at = synchronized_from(pool(properties));
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&types, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, at),
                CUDA_SUCCESS);
  EXPECT_VALUE(types, 1ull);
}
TEST_F(PoolMemory, Is_freed_by_the_plain_call_too) {
  const CUmemoryPool pool = this->pool();
  const CUdeviceptr at = synchronized_from(pool);
  EXPECT_ANSWER(driver().cuMemFree(at), CUDA_SUCCESS);
  EXPECT_VALUE(used(pool), 4096ull);  // the plain call does not count
  EXPECT_VALUE(reserved(pool), 0ull);
}
TEST_F(PoolMemory, Is_not_freed_at_an_interior_address) {
  const CUmemoryPool pool = this->pool();
  const CUdeviceptr at = synchronized_from(pool);
  EXPECT_ANSWER(driver().cuMemFreeAsync(at + 512, stream()), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(PoolMemory, Is_not_freed_twice) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  const CUdeviceptr at = synchronized_from(pool());
  const CUstream work = stream();
  NEED(driver().cuMemFreeAsync(at, work));
  EXPECT_ANSWER(driver().cuMemFreeAsync(at, work), CUDA_ERROR_INVALID_VALUE);
}

// ---- Bytes in use ----

TEST_F(PoolMemory, Counts_as_used_by_its_size) {
  const CUmemoryPool pool = this->pool();
  const CUstream work = stream();
  for (const std::size_t bytes : {1ul, 100ul, 512ul, 513ul, 4096ul, 1ul << 20, (1ul << 20) + 1}) {
    const CUdeviceptr at = from(pool, bytes, work);
    EXPECT_VALUE(used(pool), bytes);
    NEED(driver().cuMemFreeAsync(at, work));
    EXPECT_VALUE(used(pool), 0ull);
  }
  EXPECT_VALUE(used_high(pool), (1ull << 20) + 1);
}
TEST_F(PoolMemory, Freed_in_a_held_stream_is_not_used_any_more) {
  const CUmemoryPool pool = this->pool();
  const CUstream work = stream();
  const CUdeviceptr at = from(pool, 4096, work);
  Hold held = hold(work);
  EXPECT_VALUE(used(pool), 4096ull);
  EXPECT_ANSWER(driver().cuMemFreeAsync(at, work), CUDA_SUCCESS);
  EXPECT_VALUE(used(pool), 0ull);
  EXPECT_VALUE(used_high(pool), 4096ull);
  EXPECT_VALUE(reserved(pool), 32 * kMiB);
  held.release();
  NEED(driver().cuStreamSynchronize(work));
  EXPECT_VALUE(reserved(pool), 0ull);
}
TEST_F(PoolMemory, Leaves_its_high_water_mark) {
  const CUmemoryPool pool = this->pool();
  const CUstream work = stream();
  const CUdeviceptr one = from(pool, 4096, work), other = from(pool, 8192, work);
  NEED(driver().cuMemFreeAsync(one, work));
  EXPECT_VALUE(used(pool), 8192ull);
  EXPECT_VALUE(used_high(pool), 12288ull);
  set_value(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0);
  EXPECT_VALUE(used_high(pool), 8192ull);
  NEED(driver().cuMemFreeAsync(other, work));
  EXPECT_VALUE(used_high(pool), 8192ull);
  set_value(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0);
  EXPECT_VALUE(used_high(pool), 0ull);
}

// ---- Bytes reserved ----

TEST_F(PoolMemory, Is_reserved_in_blocks) {
  const CUmemoryPool pool = this->pool();
  const CUstream work = stream();
  from(pool, 1, work);
  EXPECT_VALUE(reserved(pool), 32 * kMiB);
  from(pool, 2 * kMiB, work);
  EXPECT_VALUE(reserved(pool), 32 * kMiB);
  from(pool, 31 * kMiB, work);
  EXPECT_VALUE(reserved(pool), 64 * kMiB);
  EXPECT_VALUE(reserved_high(pool), 64 * kMiB);
}
TEST_F(PoolMemory, Of_more_than_a_block_is_reserved) {
  const CUmemoryPool pool = this->pool();
  from(pool, 33 * kMiB, stream());
  EXPECT_VALUE(reserved(pool), 64 * kMiB);
}
TEST_F(PoolMemory, Of_a_whole_block_is_reserved) {
  const CUmemoryPool pool = this->pool();
  from(pool, 32 * kMiB, stream());
  EXPECT_VALUE(reserved(pool), 32 * kMiB);
}

// A program's calls after it has freed a pool's memory in a stream, and the bytes that stay reserved.
struct Afterwards {
  const char *name;
  unsigned long long threshold;
  std::size_t reserved;
  void (*act)(PoolMemory &test, CUmemoryPool pool, CUstream work);
};
void synchronize(PoolMemory &, CUmemoryPool, CUstream work) { NEED(driver().cuStreamSynchronize(work)); }
void synchronize_context(PoolMemory &, CUmemoryPool, CUstream) { NEED(driver().cuCtxSynchronize()); }
void synchronize_event(PoolMemory &test, CUmemoryPool, CUstream work) {
  const CUevent event = test.event();
  NEED(driver().cuEventRecord(event, work));
  NEED(driver().cuEventSynchronize(event));
}
void query(PoolMemory &, CUmemoryPool, CUstream work) {
  while (driver().cuStreamQuery(work) == CUDA_ERROR_NOT_READY) {
  }
}
void synchronize_another(PoolMemory &test, CUmemoryPool, CUstream) {
  NEED(driver().cuStreamSynchronize(test.stream()));
}
void trim(PoolMemory &test, CUmemoryPool pool, CUstream work) {
  synchronize(test, pool, work);
  NEED(driver().cuMemPoolTrimTo(pool, 0));
}
void trim_to_a_byte(PoolMemory &test, CUmemoryPool pool, CUstream work) {
  synchronize(test, pool, work);
  NEED(driver().cuMemPoolTrimTo(pool, 1));
}
void trim_to_more(PoolMemory &test, CUmemoryPool pool, CUstream work) {
  synchronize(test, pool, work);
  NEED(driver().cuMemPoolTrimTo(pool, 48 * kMiB));
}
void lower_the_threshold(PoolMemory &test, CUmemoryPool pool, CUstream work) {
  synchronize(test, pool, work);
  test.set_value(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 0);
}
void lower_the_threshold_and_synchronize(PoolMemory &test, CUmemoryPool pool, CUstream work) {
  lower_the_threshold(test, pool, work);
  synchronize(test, pool, work);
}
const Afterwards afterwards[] = {
    {"the_stream_is_synchronized", 0, 0, synchronize},
    {"the_context_is_synchronized", 0, 0, synchronize_context},
    {"an_event_is_synchronized", 0, 0, synchronize_event},
    {"the_stream_is_queried", 0, 64 * kMiB, query},
    {"another_stream_is_synchronized", 0, 64 * kMiB, synchronize_another},
    {"the_threshold_is_1_byte", 1, 0, synchronize},
    {"the_threshold_is_a_block", 32 * kMiB, 32 * kMiB, synchronize},
    {"the_threshold_is_more_than_a_block", 33 * kMiB, 32 * kMiB, synchronize},
    {"the_threshold_is_all_bytes", ~0ull, 64 * kMiB, synchronize},
    {"the_threshold_is_lowered", ~0ull, 64 * kMiB, lower_the_threshold},
    {"the_threshold_is_lowered_and_the_stream_is_synchronized", ~0ull, 0,
     lower_the_threshold_and_synchronize},
    {"it_is_trimmed", ~0ull, 0, trim},
    {"it_is_trimmed_to_a_byte", ~0ull, 32 * kMiB, trim_to_a_byte},
    {"it_is_trimmed_to_more_than_a_block", ~0ull, 64 * kMiB, trim_to_more},
};
const bool released = [] {
  for (const Afterwards &each : afterwards)
    ADD_TEST(PoolMemory, std::string("Stays_reserved_when_") + each.name, [=](PoolMemory &test) {
      const CUmemoryPool pool = test.pool();
      const CUstream work = test.stream();
      test.set_value(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, each.threshold);
      // Two blocks, since each allocation is larger than half of one.
      const CUdeviceptr one = test.from(pool, 20 * kMiB, work), other = test.from(pool, 20 * kMiB, work);
      NEED(driver().cuStreamSynchronize(work));
      NEED(driver().cuMemFreeAsync(one, work));
      NEED(driver().cuMemFreeAsync(other, work));
      each.act(test, pool, work);
      EXPECT_VALUE(test.reserved(pool), each.reserved);
      EXPECT_VALUE(test.reserved_high(pool), 64 * kMiB);
      test.set_value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0);
      EXPECT_VALUE(test.reserved_high(pool), each.reserved);
    });
  return true;
}();
TEST_F(PoolMemory, In_use_stays_reserved) {
  const CUmemoryPool pool = this->pool();
  synchronized_from(pool);
  EXPECT_ANSWER(driver().cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
  EXPECT_VALUE(reserved(pool), 32 * kMiB);
  EXPECT_VALUE(used(pool), 4096ull);
}
TEST_F(PoolMemory, In_use_keeps_its_block_alone) {
  const CUmemoryPool pool = this->pool();
  const CUstream work = stream();
  from(pool, 20 * kMiB, work);
  const CUdeviceptr other = from(pool, 20 * kMiB, work);
  EXPECT_VALUE(reserved(pool), 64 * kMiB);
  NEED(driver().cuMemFreeAsync(other, work));
  NEED(driver().cuStreamSynchronize(work));
  EXPECT_VALUE(reserved(pool), 32 * kMiB);
}
STATEMENT(PoolMemory, Of_null_is_not_trimmed, driver().cuMemPoolTrimTo(nullptr, 1), CUDA_ERROR_INVALID_VALUE)

}  // namespace
}  // namespace conformance
