// SPDX-License-Identifier: Apache-2.0
#include "support/machine_fixture.hpp"
#include "support/structures.hpp"

namespace cushim::sim {
namespace {

CUarray array(std::size_t width, std::size_t height = 0) {
  const CUDA_ARRAY3D_DESCRIPTOR shape = test::array_shape(width, height);
  CUarray made = nullptr;
  need(driver().cuArray3DCreate(&made, &shape));
  return made;
}

TEST(Arrays, Take_their_devices_memory_and_give_it_back) {
  const Running running;
  const std::size_t before = free_memory();
  const CUarray made = array(4096, 4096);
  EXPECT_EQ(before - free_memory(), std::size_t{16} << 20);
  need(driver().cuArrayDestroy(made));
  EXPECT_EQ(free_memory(), before);
}

TEST(Arrays, Are_destroyed_with_their_context) {
  const Running running;
  const std::size_t before = free_memory();
  CUcontext other = nullptr;
  need(driver().cuCtxCreate_v2(&other, 0, 0));
  const CUarray made = array(4096, 4096);
  need(driver().cuCtxDestroy(other));
  EXPECT_EQ(free_memory(), before);
  EXPECT_EQ(driver().cuArrayDestroy(made), CUDA_ERROR_INVALID_HANDLE);
}

TEST(Arrays, Have_memory_that_no_call_takes_by_its_address) {
  const Running running;
  const CUdeviceptr address = running.memory(64 << 10);
  need(driver().cuMemFree(address));
  const CUarray made = array(4096);  // is at the address of the freed memory
  unsigned char byte = 7;
  EXPECT_EQ(driver().cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemFreeAsync(address, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemcpyDtoH(&byte, address, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemsetD8(address, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemcpyHtoA(made, 0, &byte, 1), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuArrayDestroy(made), CUDA_SUCCESS);
  EXPECT_EQ(running.memory(64 << 10), address) << "it was there";
}

TEST(MipmappedArrays, Have_memory_that_no_call_frees_by_its_address) {
  const Running running;
  const CUdeviceptr address = running.memory(64 << 10);
  need(driver().cuMemFree(address));
  const CUDA_ARRAY3D_DESCRIPTOR shape = test::array_shape(64, 64);
  CUmipmappedArray made = nullptr;
  need(driver().cuMipmappedArrayCreate(&made, &shape, 2));
  EXPECT_EQ(driver().cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemFreeAsync(address, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMipmappedArrayDestroy(made), CUDA_SUCCESS);
  EXPECT_EQ(running.memory(64 << 10), address) << "it was there";
}

TEST(Arrays, Are_not_zero_before_they_are_written) {
  const Running running;
  unsigned char byte = 0;
  need(driver().cuMemcpyAtoH(&byte, array(16), 0, 1));
  EXPECT_NE(byte, 0);
}

TEST(Arrays, That_were_destroyed_are_detected) {
  const Running running;
  const CUarray made = array(16);
  need(driver().cuArrayDestroy(made));
  ::testing::internal::CaptureStderr();
  CUDA_ARRAY3D_DESCRIPTOR shape = {};
  EXPECT_EQ(driver().cuArray3DGetDescriptor(&shape, made), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("was destroyed"), std::string::npos);
}

TEST(Arrays, Are_destroyed_after_the_copies_that_use_them) {
  const Running running({.schedule = Schedule::deferred});
  const CUstream stream = running.stream();
  const CUarray made = array(16);
  auto *const to = running.pinned<unsigned char>(16);
  to[0] = 0;
  need(driver().cuMemcpyAtoHAsync(to, made, 0, 16, stream));
  EXPECT_EQ(to[0], 0);
  need(driver().cuArrayDestroy(made));
  EXPECT_NE(to[0], 0);
}

TEST(Arrays, That_are_not_destroyed_are_reported) {
  const Running running;
  array(4096, 4096);
  const auto alive = running.machine.usage().alive;
  ASSERT_EQ(alive.size(), 1u);
  EXPECT_EQ(alive[0].what, "memory of arrays");
  EXPECT_EQ(alive[0].bytes, std::size_t{16} << 20);
}

TEST(BoxCopies, Run_when_their_stream_comes_to_them) {
  const Running running({.schedule = Schedule::deferred});
  const CUstream writer = running.stream(), reader = running.stream();
  const CUdeviceptr memory = running.memory();
  const CUarray made = array(64, 4);
  need(driver().cuMemsetD8(memory, 1, 256));
  need(driver().cuCtxSynchronize());
  need(driver().cuMemsetD8Async(memory, 2, 256, writer));
  const CUDA_MEMCPY2D copy = test::copy_of_plane(made, memory, 64, 4);
  need(driver().cuMemcpy2DAsync(&copy, reader));
  need(driver().cuStreamSynchronize(reader));
  unsigned char byte = 0;
  need(driver().cuMemcpyAtoH(&byte, made, 0, 1));
  EXPECT_EQ(byte, 1) << "the writer has not been waited for";
}

TEST(BoxCopies, Take_the_time_of_a_1D_copy_of_as_many_bytes) {
  const Running running;
  const CUstream stream = running.stream();
  const CUdeviceptr memory = running.memory(1 << 20), other = running.memory(1 << 20);
  const auto time = [&](auto copy) {
    const CUevent start = running.event(), end = running.event();
    need(driver().cuEventRecord(start, stream));
    copy();
    need(driver().cuEventRecord(end, stream));
    need(driver().cuStreamSynchronize(stream));
    float milliseconds = 0;
    need(driver().cuEventElapsedTime(&milliseconds, start, end));
    return milliseconds;
  };
  const CUDA_MEMCPY2D copy = test::copy_of_plane(array(1024, 1024), memory, 1024, 1024);
  const float box = time([&] { need(driver().cuMemcpy2DAsync(&copy, stream)); });
  const float line = time([&] { need(driver().cuMemcpyDtoDAsync(other, memory, 1 << 20, stream)); });
  EXPECT_GT(box, 0);
  EXPECT_EQ(box, line);
}

TEST(BoxCopies, That_exceed_their_memory_are_refused) {
  const Running running;
  const CUarray made = array(64, 16);
  const CUDA_MEMCPY2D fits = test::copy_of_plane(made, running.memory(1024), 64, 16),
                      leaves = test::copy_of_plane(made, running.memory(1023), 64, 16);
  EXPECT_EQ(driver().cuMemcpy2D(&fits), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemcpy2D(&leaves), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace cushim::sim
