// SPDX-License-Identifier: Apache-2.0
#include <csetjmp>
#include <csignal>

#include "fixture.hpp"

namespace cushim::sim {
namespace {

TEST(DeviceMemory, That_nobody_wrote_is_not_zero) {
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

TEST(DeviceMemory, Is_out_at_the_devices_last_byte) {
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

}  // namespace
}  // namespace cushim::sim
