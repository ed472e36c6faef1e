// SPDX-License-Identifier: Apache-2.0
// Tests memory resources on the simulated driver, and their concepts where the toolkit has CCCL.
#include <gmock/gmock.h>

#include <memory_resource>
#include <string>
#include <vector>

#include "simulated_device.hpp"

#if __has_include(<cuda/memory_resource>)
#define LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE
#include <cuda/memory_resource>

namespace cushim::test {
namespace {

#if CCCL_VERSION >= 3001000
template <class T>
constexpr bool is_synchronous = cuda::mr::synchronous_resource<T>;
template <class T>
constexpr bool is_ordered = cuda::mr::resource<T>;
#else
template <class T>
constexpr bool is_synchronous = cuda::mr::resource<T>;
template <class T>
constexpr bool is_ordered = cuda::mr::async_resource<T>;
#endif
template <class T>
constexpr bool is_on_device = cuda::has_property<T, cuda::mr::device_accessible>;
template <class T>
constexpr bool is_on_host = cuda::has_property<T, cuda::mr::host_accessible>;

static_assert(is_synchronous<DeviceMemoryResource> && is_on_device<DeviceMemoryResource> &&
              !is_on_host<DeviceMemoryResource> && !is_ordered<DeviceMemoryResource>);
static_assert(is_synchronous<PinnedMemoryResource> && is_on_device<PinnedMemoryResource> &&
              is_on_host<PinnedMemoryResource>);
static_assert(is_synchronous<ManagedMemoryResource> && is_on_device<ManagedMemoryResource> &&
              is_on_host<ManagedMemoryResource>);
static_assert(is_synchronous<PoolMemoryResource> && is_ordered<PoolMemoryResource> &&
              is_on_device<PoolMemoryResource> && !is_on_host<PoolMemoryResource>);

}  // namespace
}  // namespace cushim::test
#endif

namespace cushim::test {
namespace {

class MemoryResources : public SimulatedDevice {
 public:
  std::size_t free_memory() { return ContextRef::current().memory().free; }
};

TEST_F(MemoryResources, Of_pinned_and_managed_memory_serve_containers_of_the_standard_library) {
  PinnedMemoryResource pinned;
  ManagedMemoryResource managed;
  std::pmr::vector<int> numbers(1000, 7, &pinned);
  EXPECT_EQ(describe_pointer(reinterpret_cast<CUdeviceptr>(numbers.data())).memory_type, CU_MEMORYTYPE_HOST);
  const std::pmr::vector<int> copies(numbers, &managed);
  EXPECT_TRUE(describe_pointer(reinterpret_cast<CUdeviceptr>(copies.data())).is_managed);
  EXPECT_EQ(copies[999], 7);
  std::pmr::unsynchronized_pool_resource small(&pinned);
  const std::pmr::string text("a text that is too long for the small string optimization", &small);
  EXPECT_EQ(text.size(), 57u);
}

TEST_F(MemoryResources, Are_equal_if_one_can_free_what_the_other_allocates) {
  const PinnedMemoryResource pinned, again, in_context{primary};
  const ManagedMemoryResource managed;
  EXPECT_TRUE(pinned == again);
  EXPECT_TRUE(pinned.is_equal(again));
  EXPECT_FALSE(pinned.is_equal(in_context));
  EXPECT_FALSE(pinned.is_equal(managed));
  EXPECT_TRUE(DeviceMemoryResource() == DeviceMemoryResource());
}

TEST_F(MemoryResources, Of_device_memory_give_and_take_it_back) {
  const std::size_t before = free_memory();
  DeviceMemoryResource resource;
  void *const memory = resource.allocate_sync(10 << 20);
  EXPECT_LT(free_memory(), before);
  fill(DeviceSpan<int>(DevicePtr<int>(reinterpret_cast<CUdeviceptr>(memory)), 100), 1);
  resource.deallocate_sync(memory, 10 << 20);
  EXPECT_EQ(free_memory(), before);
}

TEST_F(MemoryResources, In_a_context_need_no_current_one) {
  DeviceMemoryResource resource(primary);
  ContextRef::pop();
  void *const memory = resource.allocate_sync(100);
  EXPECT_NE(memory, nullptr);
  resource.deallocate_sync(memory, 100);
  EXPECT_THROW(DeviceMemoryResource().allocate_sync(100), Error);
  primary.push();
}

TEST_F(MemoryResources, Of_a_pool_allocate_in_the_order_of_any_stream) {
  const MemoryPool pool = MemoryPool::create(device);
  const Stream stream = Stream::create();
  PoolMemoryResource resource(pool);
  const auto used = [&] { return pool.attribute(pool_attribute::used_current); };
  void *const first = resource.allocate(stream, 1000);
  void *const second = resource.allocate(stream.handle(), 1000, 64);
  void *const third = resource.allocate_sync(1000);
  EXPECT_GE(used(), 3000u);
  resource.deallocate(stream, first, 1000);
  resource.deallocate(stream.handle(), second, 1000, 64);
  resource.deallocate_sync(third, 1000);
  stream.synchronize();
  EXPECT_EQ(used(), 0u);
}

TEST_F(MemoryResources, Refuse_alignments_that_the_driver_does_not_guarantee) {
  PinnedMemoryResource pinned;
  EXPECT_THROW(static_cast<void>(pinned.allocate(100, 512)), Error);
  EXPECT_THROW(DeviceMemoryResource().allocate_sync(100, 3), Error);
  void *const memory = pinned.allocate(0, 256);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 256, 0u);
  pinned.deallocate(memory, 0, 256);
}

TEST_F(MemoryResources, Report_what_they_cannot_free) {
  static int reports = 0;
  set_unreported_handler([](const std::exception &) noexcept { ++reports; });
  DeviceMemoryResource().deallocate_sync(reinterpret_cast<void *>(0x1000), 100);
  set_unreported_handler(nullptr);
  EXPECT_EQ(reports, 1);
}

}  // namespace
}  // namespace cushim::test
