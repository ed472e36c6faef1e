// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <unistd.h>

#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "support/machine_fixture.hpp"

namespace cushim::sim {
namespace {

TEST(DeviceMemory, Is_not_zero_before_it_is_written) {
  const Running running;
  EXPECT_NE(word_at(running.memory()), 0u);
}

TEST(DeviceMemory, Is_poison_again_after_it_was_freed) {
  const Running running;
  const CUdeviceptr first = running.memory();
  const std::uint32_t fresh = word_at(first);
  need(driver().cuMemsetD32(first, 7, 1024));
  need(driver().cuMemFree(first));
  const CUdeviceptr second = running.memory();
  EXPECT_EQ(second, first);
  EXPECT_EQ(word_at(second), fresh);
}

TEST(DeviceMemoryDeathTest, Cannot_be_touched_by_the_host) {
  const Running running;
  const CUdeviceptr memory = running.memory();
  EXPECT_DEATH(*reinterpret_cast<volatile int *>(memory) = 1, "");
}

TEST(DeviceMemory, Is_exhausted_at_the_devices_last_byte) {
  const Running running;
  std::size_t free = 0, total = 0;
  need(driver().cuMemGetInfo(&free, &total));
  CUdeviceptr all = 0, more = 0;
  EXPECT_EQ(driver().cuMemAlloc(&all, free + 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver().cuMemAlloc(&all, free), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemAlloc(&more, 1), CUDA_ERROR_OUT_OF_MEMORY);
  need(driver().cuMemGetInfo(&free, &total));
  EXPECT_EQ(free, 0u);
  EXPECT_EQ(driver().cuMemFree(all), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemAlloc(&more, 1), CUDA_SUCCESS);
}

TEST(DeviceMemory, Can_be_allocated_in_one_piece_if_it_is_free) {
  const Running running({.devices = "small"});
  std::vector<CUdeviceptr> pieces;
  for (CUdeviceptr piece = 0; driver().cuMemAlloc(&piece, 64 << 20) == CUDA_SUCCESS;) pieces.push_back(piece);
  ASSERT_EQ(pieces.size(), 32u);
  // Frees every eighth allocation; the addresses between them stay in use.
  for (std::size_t i = 0; i < pieces.size(); i += 8) need(driver().cuMemFree(pieces[i]));
  std::size_t free = 0, total = 0;
  need(driver().cuMemGetInfo(&free, &total));
  EXPECT_EQ(free, std::size_t{4} * (64 << 20));
  CUdeviceptr all = 0, more = 0;
  EXPECT_EQ(driver().cuMemAlloc(&all, free + 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver().cuMemAlloc(&all, free), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemAlloc(&more, 1), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST(DeviceMemory, Is_counted_in_blocks_that_small_allocations_share) {
  const Running running({.devices = "small"});
  const auto free = [] {
    std::size_t left = 0, total = 0;
    need(driver().cuMemGetInfo(&left, &total));
    return left;
  };
  const std::size_t before = free();
  const CUdeviceptr one = running.memory(1), other = running.memory(1);
  EXPECT_EQ(before - free(), std::size_t{2} << 20);
  need(driver().cuMemFree(one));
  EXPECT_EQ(before - free(), std::size_t{2} << 20);
  need(driver().cuMemFree(other));
  EXPECT_EQ(free(), before);
}

TEST(DeviceMemory, Is_not_copied_or_set_across_the_end_of_an_allocation) {
  const Running running;
  const CUdeviceptr first = running.memory(512), second = running.memory(512);
  ASSERT_EQ(second, first + 512) << "they touch";
  std::vector<std::byte> host(1024);
  EXPECT_EQ(driver().cuMemcpyHtoD(first, host.data(), 513), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemcpyDtoH(host.data(), first + 511, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemcpyDtoD(second, first + 1, 512), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemsetD8(first, 0, 513), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemsetD32(first + 508, 0, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemsetD32(first + 2, 0, 1), CUDA_ERROR_INVALID_VALUE) << "misaligned";
  EXPECT_EQ(driver().cuMemcpyHtoD(first + 511, host.data(), 1), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemcpyHtoD(second + 511, host.data(), 1), CUDA_SUCCESS);
}

TEST(DeviceMemory, Of_eight_large_devices_costs_nothing_until_it_is_used) {
  const Running running({.devices = "h200x8"});
  int count = 0;
  need(driver().cuDeviceGetCount(&count));
  EXPECT_EQ(count, 8);
  CUdeviceptr memory = 0;
  EXPECT_EQ(driver().cuMemAlloc(&memory, std::size_t{100} << 30), CUDA_SUCCESS);
  need(driver().cuMemsetD8(memory + (std::size_t{99} << 30), 1, 1));
  unsigned char byte = 0;
  need(driver().cuMemcpyDtoH(&byte, memory + (std::size_t{99} << 30), 1));
  EXPECT_EQ(byte, 1);
}

TEST(RegisteredMemory, Does_not_go_beyond_the_last_address) {
  const Running running;
  alignas(4096) static char buffer[4096];
  const auto address = reinterpret_cast<std::uintptr_t>(buffer);
  for (const std::size_t size : {SIZE_MAX - 100, SIZE_MAX - address + 2, SIZE_MAX})
    EXPECT_EQ(driver().cuMemHostRegister(buffer, size, 0), CUDA_ERROR_INVALID_VALUE) << size;
  EXPECT_EQ(driver().cuMemHostRegister(buffer, sizeof buffer, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemHostUnregister(buffer), CUDA_SUCCESS);
}

// Measured on an H200, driver 580.
TEST(HostMemory, Is_checked_for_a_current_context_before_its_address) {
  const Running running;
  CUdeviceptr found = 1;
  EXPECT_EQ(driver().cuMemHostGetDevicePointer(&found, static_cast<char *>(nullptr), 0),
            CUDA_ERROR_INVALID_VALUE);
  need(driver().cuCtxSetCurrent(nullptr));
  EXPECT_EQ(driver().cuMemHostGetDevicePointer(&found, static_cast<char *>(nullptr), 0),
            CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(found, 0u);
}

unsigned long long used_of(CUmemoryPool pool) {
  unsigned long long used = 0;
  need(driver().cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
  return used;
}

// Behind a wait, so that no schedule can have run the free when the bytes are counted.
TEST(StreamOrderedMemory, Does_not_count_as_used_once_the_call_of_its_free_has_returned) {
  for (const Schedule schedule :
       {Schedule::eager, Schedule::deferred, Schedule::seeded, Schedule::stepped, Schedule::background}) {
    SCOPED_TRACE(static_cast<int>(schedule));
    const Running running({.schedule = schedule});
    const CUstream stream = running.stream();
    std::uint32_t *const word = running.pinned();
    const auto address = reinterpret_cast<CUdeviceptr>(word);
    need(driver().cuMemsetD32(address, 0, 1));
    CUmemoryPool pool = nullptr;
    need(driver().cuDeviceGetDefaultMemPool(&pool, 0));
    CUdeviceptr memory = 0;
    need(driver().cuMemAllocAsync(&memory, 4096, stream));
    EXPECT_EQ(used_of(pool), 4096u);
    need(driver().cuStreamWaitValue32(stream, address, 1, CU_STREAM_WAIT_VALUE_EQ));
    need(driver().cuMemFreeAsync(memory, stream));
    EXPECT_EQ(used_of(pool), 0u);
    EXPECT_EQ(driver().cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    __atomic_store_n(word, 1u, __ATOMIC_RELEASE);
    need(driver().cuStreamSynchronize(stream));
    EXPECT_EQ(used_of(pool), 0u);
  }
}

TEST(StreamOrderedMemory, Freed_in_a_destroyed_stream_is_released_by_a_wait_for_the_context) {
  const Running running;
  const CUstream stream = running.stream();
  CUmemoryPool pool = nullptr;
  need(driver().cuDeviceGetDefaultMemPool(&pool, 0));
  const auto reserved = [&] {
    unsigned long long bytes = 0;
    need(driver().cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes));
    return bytes;
  };
  CUdeviceptr memory = 0;
  need(driver().cuMemAllocAsync(&memory, 4096, stream));
  need(driver().cuMemFreeAsync(memory, stream));
  need(driver().cuStreamDestroy(stream));
  EXPECT_NE(reserved(), 0u);
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(reserved(), 0u);
}

TEST(StreamOrderedMemory, Of_no_bytes_is_the_null_pointer) {
  const Running running;
  CUmemoryPool pool = nullptr;
  need(driver().cuDeviceGetDefaultMemPool(&pool, 0));
  CUdeviceptr memory = 7;
  EXPECT_EQ(driver().cuMemAllocFromPoolAsync(&memory, 0, pool, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(memory, 0u);
  EXPECT_EQ(driver().cuMemFreeAsync(memory, nullptr), CUDA_SUCCESS);
}

TEST(MemoryOperations, Of_32_bits_may_exceed_the_allocation_within_its_granule) {
  const Running running;
  const CUstream stream = running.stream();
  const CUdeviceptr memory = running.memory(510);
  EXPECT_EQ(driver().cuStreamWriteValue32(stream, memory + 508, 7, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamWaitValue32(stream, memory + 508, 7, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamWriteValue32(stream, memory + 512, 7, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST(PointerAttributes, Are_returned_without_a_current_context) {
  const Running running;
  need(driver().cuCtxSetCurrent(nullptr));
  int pageable = 0;
  unsigned type = 77;
  int is_managed = 77, ordinal = 77;
  void *values[] = {&type, &is_managed, &ordinal};
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  const auto address = reinterpret_cast<CUdeviceptr>(&pageable);
  EXPECT_EQ(driver().cuPointerGetAttributes(3, attributes, values, address), CUDA_SUCCESS);
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(is_managed, 0);
  EXPECT_EQ(ordinal, -2);
}

// Returns the bytes of memory in use, without those of mapped files, such as code.
std::size_t resident_bytes() {
  std::size_t bytes = 0;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    for (const char *const kind : {"RssAnon:", "RssShmem:"})
      if (line.starts_with(kind)) bytes += std::stoul(line.substr(std::strlen(kind))) << 10;
  return bytes;
}

TEST(DeviceMemory, Of_eight_large_devices_takes_under_10_MB_before_it_is_used) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer's own memory cannot be told apart";
  const std::size_t before = resident_bytes();
  const Running running({.devices = "h200x8"});
  for (CUdevice device = 0; device < 8; ++device) {
    CUcontext context = nullptr;
    need(driver().cuDevicePrimaryCtxRetain(&context, device));
    need(driver().cuCtxSetCurrent(context));
    CUdeviceptr memory = 0;
    need(driver().cuMemAlloc(&memory, std::size_t{139} << 30));
  }
  EXPECT_LT(resident_bytes() - before, 10'000'000u);
}

TEST(DeviceMemory, That_is_set_to_zero_takes_under_10_MB) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer's own memory cannot be told apart";
  const Running running({.devices = "h200"});
  constexpr std::size_t kBytes = std::size_t{8} << 30;
  const CUdeviceptr memory = running.memory(kBytes);
  need(driver().cuCtxSynchronize());
  const std::size_t before = resident_bytes();
  EXPECT_EQ(driver().cuMemsetD8(memory, 0, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_LT(resident_bytes() - before, 10'000'000u);
}

TEST(DeviceMemory, That_is_set_to_zero_in_part_keeps_the_rest) {
  const Running running;
  constexpr std::size_t kBytes = 1 << 20, kFrom = 100, kTo = kBytes - 5000;
  const CUdeviceptr memory = running.memory(kBytes);
  need(driver().cuMemsetD8(memory, 7, kBytes));
  need(driver().cuMemsetD8(memory + kFrom, 0, kTo - kFrom));
  std::vector<unsigned char> bytes(kBytes);
  need(driver().cuMemcpyDtoH(bytes.data(), memory, kBytes));
  for (std::size_t i = 0; i < kBytes; ++i) ASSERT_EQ(bytes[i], i < kFrom || i >= kTo ? 7 : 0) << "byte " << i;
}

// Starts a program with this much address space. The exit status is 0 if it succeeds.
[[noreturn]] void use_a_device_within(std::size_t address_space) {
  const rlimit limit = {address_space, address_space};
  if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(2);
  const Running running;
  std::size_t free = 0, total = 0;
  need(driver().cuMemGetInfo(&free, &total));
  const CUdeviceptr memory = running.memory(64 << 20);
  need(driver().cuMemsetD32(memory, 7, 1024));
  CUdeviceptr more = 0;
  const bool is_out = driver().cuMemAlloc(&more, std::size_t{100} << 30) == CUDA_ERROR_OUT_OF_MEMORY;
  const std::vector<char> own(200 << 20);  // the program has address space left
  _exit(word_at(memory) == 7 && is_out && total == 150109880320u ? 0 : 1);
}

TEST(DeviceMemoryDeathTest, Is_reduced_with_one_message_if_address_space_is_limited) {
  if (kIsSanitized) GTEST_SKIP() << "sanitizers need address space without a limit";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      use_a_device_within(std::size_t{2} << 30), ::testing::ExitedWithCode(0),
      "^cushim.sim.: address space is limited .ulimit -v.: there is room for [0-9]+ of the 150109880320 "
      "bytes of device 0\n$");
}

}  // namespace
}  // namespace cushim::sim
