// SPDX-License-Identifier: Apache-2.0
// Tests memory pools: the exact driver calls of each operation, and their arguments and results.
#include <gmock/gmock.h>

#include <cstring>

#include "recording_driver.hpp"

namespace cushim::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Device device() { return Device::from_handle(3); }
StreamRef stream() { return StreamRef(stream_handle(0x50)); }
CUmemoryPool pool_handle(std::uintptr_t number) { return reinterpret_cast<CUmemoryPool>(number); }

TEST(MemoryPool, Creating_is_one_call_and_destroying_is_one) {
  Recording recording;
  { const MemoryPool pool = MemoryPool::create(device()); }
  EXPECT_THAT(recording.calls(), ElementsAre("cuMemPoolCreate(&, &)", "cuMemPoolDestroy(0x1000)"));
}

TEST(MemoryPool, Its_options_are_the_properties_of_creation) {
  Recording recording;
  CUmemPoolProps given{};
  recording.on<Entry::cuMemPoolCreate_v11020>([&](CUmemoryPool *pool, const CUmemPoolProps *properties) {
    given = *properties;
    *pool = pool_handle(0x70);
    return CUDA_SUCCESS;
  });
  const auto max_size = [&] {
    std::size_t size = 0;
    const auto *after = reinterpret_cast<const char *>(&given.win32SecurityAttributes + 1);
    std::memcpy(&size, after, sizeof size);
    return size;
  };
  static_cast<void>(MemoryPool::create(device()).release());
  EXPECT_EQ(given.allocType, CU_MEM_ALLOCATION_TYPE_PINNED);
  EXPECT_EQ(given.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(given.location.id, 3);
  EXPECT_EQ(given.handleTypes, CU_MEM_HANDLE_TYPE_NONE);
  EXPECT_EQ(max_size(), 0u);
  static_cast<void>(
      MemoryPool::create_on_host({.max_size = 4096, .handle_type = PoolHandleType::file_descriptor})
          .release());
  EXPECT_EQ(static_cast<int>(given.location.type), 2);
  EXPECT_EQ(given.handleTypes, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  EXPECT_EQ(max_size(), 4096u);
  static_cast<void>(MemoryPool::create_on_host_node(1).release());
  EXPECT_EQ(static_cast<int>(given.location.type), 3);
  EXPECT_EQ(given.location.id, 1);
}

TEST(MemoryPool, Closed_or_released_it_is_empty) {
  Recording recording;
  MemoryPool pool = MemoryPool::create(device());
  pool.close();
  EXPECT_TRUE(pool.is_empty());
  pool = MemoryPool::adopt(pool_handle(0x70));
  EXPECT_EQ(pool.release(), pool_handle(0x70));
  EXPECT_TRUE(pool.is_empty());
  EXPECT_THAT(recording.calls(), ElementsAre("cuMemPoolCreate(&, &)", "cuMemPoolDestroy(0x1000)"));
}

TEST(MemoryPool, Converts_to_a_reference) {
  Recording recording;
  MemoryPool pool = MemoryPool::create(device());
  const MemoryPoolRef &reference = pool;
  EXPECT_EQ(reference, pool);
  EXPECT_EQ(to_text(reference), "memory pool 0x1000");
  EXPECT_EQ(to_text(MemoryPoolRef()), "an empty memory pool");
}

TEST(MemoryPool, Attributes_are_read_in_their_type) {
  Recording recording;
  recording.on<Entry::cuMemPoolGetAttribute_v11020>(
      [](CUmemoryPool, CUmemPool_attribute attribute, void *value) {
        if (attribute <= 3) return *static_cast<int *>(value) = 1, CUDA_SUCCESS;
        return *static_cast<cuuint64_t *>(value) = std::uint64_t{1} << 40, CUDA_SUCCESS;
      });
  const MemoryPoolRef pool(pool_handle(0x70));
  const bool follows = pool.attribute(pool_attribute::reuse_follow_event_dependencies);
  const std::uint64_t used = pool.attribute(pool_attribute::used_current);
  EXPECT_TRUE(follows);
  EXPECT_EQ(used, std::uint64_t{1} << 40);
  const Calls calls = recording.calls();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_THAT(calls[0], HasSubstr("cuMemPoolGetAttribute(0x70, 1, "));
  EXPECT_THAT(calls[1], HasSubstr("cuMemPoolGetAttribute(0x70, 7, "));
}

TEST(MemoryPool, Attributes_are_set_and_high_water_marks_reset) {
  Recording recording;
  std::vector<std::pair<int, unsigned long long>> set;
  recording.on<Entry::cuMemPoolSetAttribute_v11020>(
      [&](CUmemoryPool, CUmemPool_attribute attribute, void *value) {
        unsigned long long given = 0;
        std::memcpy(&given, value, attribute <= 3 ? sizeof(int) : sizeof given);
        set.emplace_back(attribute, given);
        return CUDA_SUCCESS;
      });
  const MemoryPoolRef pool(pool_handle(0x70));
  pool.set(pool_attribute::reuse_allow_opportunistic, true);
  pool.set(pool_attribute::release_threshold, 5);
  pool.reset(pool_attribute::reserved_high);
  using Pair = std::pair<int, unsigned long long>;
  EXPECT_THAT(set, ElementsAre(Pair(2, 1), Pair(4, 5), Pair(6, 0)));
}

TEST(MemoryPool, Trimming_and_access_are_one_call_each) {
  Recording recording;
  recording.on<Entry::cuMemPoolGetAccess_v11020>(
      [](CUmemAccess_flags *flags, CUmemoryPool, CUmemLocation *location) {
        *flags = location->id == 3 ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
        return CUDA_SUCCESS;
      });
  const MemoryPoolRef pool(pool_handle(0x70));
  pool.trim_to(100);
  EXPECT_EQ(pool.access(device()), MemoryAccess::read_write);
  pool.set_access(device(), MemoryAccess::none);
  EXPECT_THAT(recording.calls(), ElementsAre("cuMemPoolTrimTo(0x70, 100)", "cuMemPoolGetAccess(&, 0x70, &)",
                                             "cuMemPoolSetAccess(0x70, &, 1)"));
}

TEST(MemoryPool, Of_a_device_are_found_and_set) {
  Recording recording;
  const MemoryPoolRef usual = MemoryPoolRef::default_of(device());
  EXPECT_EQ(MemoryPoolRef::current_of(device()), usual);
  set_current_pool(device(), MemoryPoolRef(pool_handle(0x70)));
  EXPECT_THAT(recording.calls(), ElementsAre("cuDeviceGetDefaultMemPool(&, 3)", "cuDeviceGetMemPool(&, 3)",
                                             "cuDeviceSetMemPool(3, 0x70)"));
}

TEST(MemoryPool, Gives_stream_ordered_memory) {
  Recording recording;
  const MemoryPool pool = MemoryPool::create(device());
  { const auto buffer = StreamBuffer<int>::create(pool, stream(), 25); }
  EXPECT_TRUE(StreamBuffer<int>::create(pool, stream(), 0).is_empty());
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuMemPoolCreate(&, &)", "cuMemAllocFromPoolAsync(&, 100, 0x1000, 0x50)",
                          "cuMemFreeAsync(0x2000, 0x50)"));
}

TEST(MemoryPool, Errors_name_the_pool) {
  Recording recording;
  recording.answer(Entry::cuMemAllocFromPoolAsync, CUDA_ERROR_OUT_OF_MEMORY);
  const MemoryPoolRef pool(pool_handle(0x70));
  const Error error = error_of([&] { StreamBuffer<int>::create(pool, stream(), 25); });
  EXPECT_EQ(error.result(), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_THAT(error.what(), HasSubstr("memory pool 0x70"));
  EXPECT_EQ(error_of([&] { StreamBuffer<int>::create(MemoryPoolRef(), stream(), 25); }).result(),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(error_of([&] { MemoryPoolRef().trim_to(0); }).result(), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_THAT(recording.calls(), ElementsAre("cuMemAllocFromPoolAsync(&, 100, 0x70, 0x50)"));
}

}  // namespace
}  // namespace cushim::test
