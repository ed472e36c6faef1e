// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: what only the simulated driver does. tests/conformance has the rest.
#include <cushim/sim/profile.hpp>

#include <algorithm>
#include <string>

#include "support/machine_fixture.hpp"
#include "support/structures.hpp"

namespace cushim::sim {
namespace {

constexpr std::size_t kGranule = 2 << 20;

CUmemGenericAllocationHandle physical(std::size_t size = kGranule) {
  const CUmemAllocationProp of = test::device_memory();
  CUmemGenericAllocationHandle made = 0;
  need(driver().cuMemCreate(&made, size, &of, 0));
  return made;
}

CUdeviceptr range(std::size_t size = kGranule) {
  CUdeviceptr made = 0;
  need(driver().cuMemAddressReserve(&made, size, 0, 0, 0));
  return made;
}

// Maps physical memory and gives its location an access. Returns the address.
CUdeviceptr map_for(const CUmemLocation &location, CUmemAccess_flags flags, CUdeviceptr at,
                    CUmemGenericAllocationHandle memory, std::size_t size) {
  need(driver().cuMemMap(at, size, 0, memory, 0));
  CUmemAccessDesc access = {};
  access.location = location;
  access.flags = flags;
  need(driver().cuMemSetAccess(at, size, &access, 1));
  return at;
}

CUdeviceptr map(CUdeviceptr at, CUmemGenericAllocationHandle memory, std::size_t size = kGranule) {
  return map_for(test::device_memory().location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, at, memory, size);
}

TEST(VirtualMemory, Is_poisoned_like_other_memory) {
  const Running running;
  const std::uint32_t fresh = word_at(running.memory());
  const CUdeviceptr at = map(range(2 * kGranule), physical(2 * kGranule), 2 * kGranule);
  EXPECT_EQ(word_at(at), fresh);
  need(driver().cuMemsetD32(at + kGranule, 7, 1));
  EXPECT_EQ(word_at(at + kGranule), 7u);
  EXPECT_EQ(word_at(at + kGranule + 4), fresh);
}

TEST(VirtualMemory, Of_a_new_handle_is_poisoned_at_an_address_that_was_written) {
  const Running running;
  const CUdeviceptr at = range();
  const CUmemGenericAllocationHandle first = physical();
  const std::uint32_t fresh = word_at(map(at, first));
  need(driver().cuMemsetD32(at, 7, 16));
  need(driver().cuMemUnmap(at, kGranule));
  need(driver().cuMemRelease(first));
  map(at, physical());
  EXPECT_EQ(word_at(at), fresh);
}

TEST(VirtualMemory, Is_mapped_into_a_range_that_is_reserved_where_a_lookup_found_none) {
  const Running running;
  const CUmemGenericAllocationHandle memory = physical();
  const CUdeviceptr other = map(range(), physical()), at = range();
  need(driver().cuMemAddressFree(at, kGranule));
  EXPECT_EQ(driver().cuMemMap(at, kGranule, 0, memory, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(word_at(other), word_at(other + 4));
  CUdeviceptr again = 0;
  need(driver().cuMemAddressReserve(&again, kGranule, 0, at, 0));
  ASSERT_EQ(again, at);
  need(driver().cuMemsetD32(map(at, memory), 7, 1));
  EXPECT_EQ(word_at(at), 7u);
}

TEST(VirtualMemoryDeathTest, Cannot_be_touched_by_the_host) {
  const Running running;
  const CUdeviceptr at = map(range(), physical());
  EXPECT_DEATH(*reinterpret_cast<volatile int *>(at) = 1, "");
}

#if CUDA_VERSION >= 12020

// Returns an address at which the host has this access to physical memory of the host.
CUdeviceptr host_mapping(CUmemAccess_flags flags) {
  CUmemAllocationProp of = test::device_memory();
  of.location.type = CU_MEM_LOCATION_TYPE_HOST;
  CUmemGenericAllocationHandle memory = 0;
  need(driver().cuMemCreate(&memory, kGranule, &of, 0));
  return map_for(of.location, flags, range(), memory, kGranule);
}

TEST(VirtualMemory, Of_the_host_is_not_poisoned) {
  const Running running;
  const CUdeviceptr at = host_mapping(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  *reinterpret_cast<std::uint32_t *>(at) = 7;
  EXPECT_EQ(word_at(at), 7u);
  EXPECT_EQ(word_at(at + 4), 0u);
}

TEST(VirtualMemory, Of_the_host_is_set_before_the_call_returns) {
  const Running running({.schedule = Schedule::deferred});
  const CUdeviceptr at = host_mapping(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  const CUmemAccessDesc access = test::full_access();
  need(driver().cuMemSetAccess(at, kGranule, &access, 1));
  need(driver().cuMemsetD32(at, 7, 1));
  EXPECT_EQ(*reinterpret_cast<std::uint32_t *>(at), 7u);
}

TEST(VirtualMemoryDeathTest, Of_the_host_cannot_be_touched_after_it_was_unmapped) {
  const Running running;
  const CUdeviceptr at = host_mapping(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  need(driver().cuMemUnmap(at, kGranule));
  EXPECT_DEATH(*reinterpret_cast<volatile int *>(at) = 1, "");
}

TEST(VirtualMemoryDeathTest, Of_the_host_cannot_be_written_with_access_to_read) {
  const Running running;
  const CUdeviceptr at = host_mapping(CU_MEM_ACCESS_FLAGS_PROT_READ);
  EXPECT_EQ(*reinterpret_cast<volatile int *>(at), 0);
  EXPECT_DEATH(*reinterpret_cast<volatile int *>(at) = 1, "");
}

#endif

TEST(VirtualMemory, Shares_the_device_s_memory_with_allocations) {
  const Running running({.devices = "small"});
  const std::size_t all = free_memory();
  const CUmemAllocationProp of = test::device_memory();
  CUmemGenericAllocationHandle memory = 0, more = 0;
  CUdeviceptr allocation = 0;
  EXPECT_EQ(driver().cuMemCreate(&memory, all + kGranule, &of, 0), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_EQ(driver().cuMemCreate(&memory, all - kGranule, &of, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemAlloc(&allocation, 2 * kGranule), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_EQ(driver().cuMemAlloc(&allocation, kGranule), CUDA_SUCCESS);
  EXPECT_EQ(free_memory(), 0u);
  EXPECT_EQ(driver().cuMemCreate(&more, kGranule, &of, 0), CUDA_ERROR_OUT_OF_MEMORY);
  need(driver().cuMemFree(allocation));
  EXPECT_EQ(driver().cuMemCreate(&more, kGranule, &of, 0), CUDA_SUCCESS);
}

TEST(VirtualMemory, Is_limited_by_a_fault_rule) {
  const Running running({.devices = "small", .faults = "memory:8MiB"});
  physical(2 * kGranule);
  const CUmemAllocationProp of = test::device_memory();
  CUmemGenericAllocationHandle more = 0;
  EXPECT_EQ(driver().cuMemCreate(&more, 3 * kGranule, &of, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver().cuMemCreate(&more, 2 * kGranule, &of, 0), CUDA_SUCCESS);
}

TEST(VirtualMemory, Is_unmapped_after_the_work_that_uses_it) {
  const Running running({.schedule = Schedule::deferred});
  const CUdeviceptr at = range(2 * kGranule), elsewhere = range(2 * kGranule);
  const CUmemGenericAllocationHandle first = physical(), second = physical();
  map(at, first);
  map(at + kGranule, second);
  // The memset crosses from the first mapping to the second; the second is unmapped before it has run.
  need(driver().cuMemsetD8Async(at + kGranule - 64, 7, 128, running.stream()));
  need(driver().cuMemUnmap(at + kGranule, kGranule));
  EXPECT_EQ(word_at(map(elsewhere, second)), 0x07070707u);
}

#if CUDA_VERSION >= 13000

TEST(VirtualMemory, Is_unmapped_after_the_copies_of_a_batch_that_cross_into_it) {
  const Running running({.schedule = Schedule::deferred});
  const CUdeviceptr at = range(2 * kGranule), elsewhere = range();
  const CUmemGenericAllocationHandle first = physical(), second = physical();
  map(at, first);
  map(at + kGranule, second);
  CUdeviceptr target = at + kGranule - 64, source = running.memory(128);
  need(driver().cuMemsetD8(source, 7, 128));
  need(driver().cuCtxSynchronize());
  std::size_t size = 128, from = 0;
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  need(driver().cuMemcpyBatchAsync_v2(&target, &source, &size, 1, &attributes, &from, 1, running.stream()));
  need(driver().cuMemUnmap(at + kGranule, kGranule));
  EXPECT_EQ(word_at(map(elsewhere, second)), 0x07070707u);
}

#endif

TEST(VirtualMemory, Is_listed_as_alive) {
  const Running running;
  const CUdeviceptr at = map(range(), physical());
  const auto alive = [&](const std::string &what) {
    const Usage usage = running.machine.usage();
    const auto found = std::ranges::find(usage.alive, what, &Usage::Alive::what);
    return found != usage.alive.end() ? found->bytes : 0;
  };
  EXPECT_EQ(alive("physical memory"), kGranule);
  EXPECT_EQ(alive("mapped memory"), kGranule);
  need(driver().cuMemUnmap(at, kGranule));
  EXPECT_EQ(alive("mapped memory"), 0u);
  EXPECT_EQ(alive("physical memory"), kGranule);
}

TEST(VirtualMemory, Outlives_the_machine_s_handles) {
  const Running running;
  const CUmemGenericAllocationHandle memory = physical();
  map(range(), memory);
  need(driver().cuMemRelease(memory));
  EXPECT_EQ(running.machine.usage().alive.size(), 1u);  // the mapping; the machine ends with it
}

TEST(VirtualMemory, Shows_one_memory_at_many_addresses) {
  const Running running;
  constexpr std::size_t kCount = 1000;
  const CUmemGenericAllocationHandle memory = physical(kGranule);
  const CUdeviceptr at = range(kCount * kGranule);
  for (std::size_t i = 0; i < kCount; ++i) need(driver().cuMemMap(at + i * kGranule, kGranule, 0, memory, 0));
  const CUmemAccessDesc access = test::full_access();
  need(driver().cuMemSetAccess(at, kCount * kGranule, &access, 1));
  need(driver().cuMemsetD32(at + 7 * kGranule, 77, 1));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kCount; ++i) wrong += word_at(at + i * kGranule) != 77 ? 1 : 0;
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(driver().cuMemUnmap(at, kCount * kGranule), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemAddressFree(at, kCount * kGranule), CUDA_SUCCESS);
}

TEST(VirtualMemory, Is_reserved_again_where_it_was_freed) {
  const Running running;
  const CUdeviceptr at = range(8 * kGranule);
  need(driver().cuMemAddressFree(at, 8 * kGranule));
  for (std::size_t i : {3, 0, 7, 1}) {
    CUdeviceptr again = 0;
    need(driver().cuMemAddressReserve(&again, kGranule, 0, at + i * kGranule, 0));
    EXPECT_EQ(again, at + i * kGranule);
  }
  for (std::size_t i : {0, 1, 3, 7})
    EXPECT_EQ(driver().cuMemAddressFree(at + i * kGranule, kGranule), CUDA_SUCCESS);
  CUdeviceptr whole = 0;
  need(driver().cuMemAddressReserve(&whole, 8 * kGranule, 0, at, 0));
  EXPECT_EQ(whole, at);
}

TEST(VirtualMemory, That_was_freed_is_not_host_memory) {
  const Running running;
  const CUdeviceptr at = range();
  need(driver().cuMemAddressFree(at, kGranule));
  std::uint32_t word = 0;
  EXPECT_EQ(driver().cuMemcpy(reinterpret_cast<CUdeviceptr>(&word), at, sizeof word),
            CUDA_ERROR_INVALID_VALUE);
}

TEST(VirtualMemory, Has_no_handle_for_a_range_as_the_attribute_of_each_built_in_device_says) {
  for (const Profile &profile : profiles()) {
    const Running running({.devices = profile.id});
    int is_supported = 77, file = 0;
    CUdeviceptr memory = 0;
    need(driver().cuDeviceGetAttribute(&is_supported, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 0));
    EXPECT_EQ(is_supported, 0) << profile.id;
    need(driver().cuMemAlloc(&memory, 4096));
    EXPECT_EQ(
        driver().cuMemGetHandleForAddressRange(&file, memory, 4096, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
        CUDA_ERROR_NOT_SUPPORTED)
        << profile.id;
  }
}

// Measured on an H200, driver 580.159, which returns a dma-buf instead of NOT_SUPPORTED for flags of 0.
TEST(VirtualMemory, Has_no_handle_for_a_range_of_host_memory_or_beyond_its_block) {
  const Running running;
  const auto handle_of = [](CUdeviceptr address, std::size_t size, unsigned long long flags = 0) {
    int file = 0;
    const CUresult code = driver().cuMemGetHandleForAddressRange(&file, address, size,
                                                                 CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, flags);
    EXPECT_EQ(file, flags == 2 ? 0 : -1);
    return code;
  };
  CUdeviceptr small = 0;
  void *pinned = nullptr;
  need(driver().cuMemAlloc(&small, 4096));
  need(driver().cuMemHostAlloc(&pinned, kGranule, 0));
  EXPECT_EQ(handle_of(small, 65536), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(handle_of(small, 2 * kGranule), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(handle_of(small, 4096, 1), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(handle_of(small, 4096, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(handle_of(small, 4096, 3 | 4), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(handle_of(reinterpret_cast<CUdeviceptr>(pinned), kGranule), CUDA_ERROR_INVALID_VALUE);
  const CUdeviceptr at = range(4 * kGranule);
  EXPECT_EQ(handle_of(at, kGranule), CUDA_ERROR_INVALID_VALUE);
  need(driver().cuMemMap(at, kGranule, 0, physical(), 0));
  need(driver().cuMemMap(at + kGranule, kGranule, 0, physical(), 0));
  EXPECT_EQ(handle_of(at + kGranule / 2, kGranule), CUDA_ERROR_NOT_SUPPORTED) << "without access";
  EXPECT_EQ(handle_of(at, 3 * kGranule), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(handle_of(at, 3 * kGranule, 1), CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace
}  // namespace cushim::sim
