// SPDX-License-Identifier: Apache-2.0
// Copies of two and three dimensions whose offsets exceed the pitch or the height. Measured on an H200,
// driver 580.
#include <array>

#include "support/machine_fixture.hpp"
#include "support/mapped_memory.hpp"
#include "support/structures.hpp"

namespace cushim::sim {
namespace {

constexpr std::size_t kSize = 2 << 20, kPitch = 16, kRows = 4;

CUdeviceptr in_pool() {
  CUdeviceptr made = 0;
  need(driver().cuMemAllocAsync(&made, kSize, nullptr));
  return made;
}

CUdeviceptr mapped() {
  const CUmemAllocationProp properties = test::device_memory();
  CUmemGenericAllocationHandle memory = 0;
  need(driver().cuMemCreate(&memory, kSize, &properties, 0));
  return test::map(memory, kSize);
}

// Returns a copy of rows without gaps on the host to the device.
CUDA_MEMCPY3D rows(const void *from, CUdeviceptr to) {
  CUDA_MEMCPY3D copy = test::copy_of_box(to, from, kPitch, kRows);
  copy.dstPitch = kPitch;
  copy.dstHeight = kRows;
  return copy;
}

TEST(Pitches, Do_not_limit_offsets_in_memory_of_pools_and_in_mapped_memory) {
  const Running running;
  std::array<unsigned char, kPitch *kRows> from = {}, back = {};
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i + 1);
  for (const CUdeviceptr to : {in_pool(), mapped()}) {
    CUDA_MEMCPY3D copy = rows(from.data(), to);
    copy.dstXInBytes = 8 * kPitch;
    copy.dstY = 2;
    ASSERT_EQ(driver().cuMemcpy3D(&copy), CUDA_SUCCESS);
    need(driver().cuMemcpyDtoH(back.data(), to + 10 * kPitch, back.size()));
    EXPECT_EQ(back, from);
  }
}

TEST(Pitches, Limit_offsets_in_other_memory) {
  const Running running;
  const std::array<unsigned char, kPitch *kRows> from = {};
  CUDA_MEMCPY3D copy = rows(from.data(), running.memory(kSize));
  copy.dstXInBytes = 1;
  EXPECT_EQ(driver().cuMemcpy3D(&copy), CUDA_ERROR_INVALID_VALUE);
  copy.dstXInBytes = 0;
  copy.dstY = 1;
  EXPECT_EQ(driver().cuMemcpy3D(&copy), CUDA_ERROR_INVALID_VALUE);
}

TEST(Pitches, Are_at_least_the_width_in_all_memory) {
  const Running running;
  const std::array<unsigned char, kPitch *kRows> from = {};
  for (const CUdeviceptr to : {in_pool(), mapped(), running.memory(kSize)}) {
    CUDA_MEMCPY3D copy = rows(from.data(), to);
    copy.dstPitch = kPitch - 1;
    EXPECT_EQ(driver().cuMemcpy3D(&copy), CUDA_ERROR_INVALID_VALUE);
    copy.dstPitch = kPitch;
    copy.dstHeight = kRows - 1;
    EXPECT_EQ(driver().cuMemcpy3D(&copy), CUDA_ERROR_INVALID_VALUE);
  }
}

}  // namespace
}  // namespace cushim::sim
