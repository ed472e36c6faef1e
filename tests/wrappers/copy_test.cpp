// SPDX-License-Identifier: Apache-2.0
// Tests copies and sets: their exact driver calls for each kind of memory.
#include <gmock/gmock.h>

#include <vector>

#include "recording_driver.hpp"

namespace cushim::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Memory, Copies_are_one_call_in_every_direction) {
  Recording recording;
  std::vector<int> host(4);
  const DeviceSpan<int> a(DevicePtr<int>(0x1000), 4);
  const DeviceSpan<const int> b(DevicePtr<const int>(0x2000), 4);
  const StreamRef stream(kRaw);
  copy(a, host);
  copy_pageable(a, host, stream);
  copy(host, b);
  copy_pageable(host, b, stream);
  copy(a, b);
  copy(a, b, stream);
  const std::string at = hex(host.data());
  EXPECT_THAT(recording.calls(), ElementsAre("cuMemcpyHtoD_v2(0x1000, " + at + ", 16)",
                                             "cuMemcpyHtoDAsync_v2(0x1000, " + at + ", 16, 0x50)",
                                             "cuMemcpyDtoH_v2(" + at + ", 0x2000, 16)",
                                             "cuMemcpyDtoHAsync_v2(" + at + ", 0x2000, 16, 0x50)",
                                             "cuMemcpyDtoD_v2(0x1000, 0x2000, 16)",
                                             "cuMemcpyDtoDAsync_v2(0x1000, 0x2000, 16, 0x50)"));
}

TEST(Memory, Buffers_and_arrays_are_copied_like_spans) {
  Recording recording;
  const auto device = DeviceBuffer<int>::create(2);
  const auto pinned = PinnedBuffer<int>::create(2);
  const int constant[2] = {1, 2};
  recording.calls();
  copy(device, constant);
  copy(pinned, device);
  copy_pageable(device.first(1), std::span(constant).first(1), StreamRef(kRaw));
  EXPECT_THAT(recording.calls(), ElementsAre("cuMemcpyHtoD_v2(0x1000, " + hex(constant) + ", 8)",
                                             "cuMemcpyDtoH_v2(0x2000, 0x1000, 8)",
                                             "cuMemcpyHtoDAsync_v2(0x1000, " + hex(constant) + ", 4, 0x50)"));
}

TEST(Memory, In_a_stream_page_locked_and_managed_memory_is_copied) {
  Recording recording;
  int host[4];
  const auto device = DeviceBuffer<int>::create(4);
  const auto pinned = PinnedBuffer<int>::create(4);
  const auto registered = RegisteredBuffer<int>::create(host);
  const auto managed = ManagedBuffer<int>::create(4);
  const auto pitched = PitchedBuffer<int>::create(2, 2);
  const Stream stream = Stream::create();
  recording.calls();
  copy(device, pinned, stream);
  copy(registered, device, stream);
  copy(managed, pinned, stream);
  copy(device, managed, stream);
  copy(device.first(2), pinned.last(2), stream);
  copy(pitched, PinnedSpan2D<int>{pinned.data(), 2, 2}, stream);
  EXPECT_THAT(recording.calls(), ElementsAre("cuMemcpyHtoDAsync_v2(0x1000, 0x2000, 16, 0x5000)",
                                             "cuMemcpyDtoHAsync_v2(" + hex(host) + ", 0x1000, 16, 0x5000)",
                                             "cuMemcpyHtoDAsync_v2(0x3000, 0x2000, 16, 0x5000)",
                                             "cuMemcpyDtoDAsync_v2(0x1000, 0x3000, 16, 0x5000)",
                                             "cuMemcpyHtoDAsync_v2(0x1000, 0x2008, 8, 0x5000)",
                                             "cuMemcpy2DAsync_v2(&, 0x5000)"));
}

TEST(Memory, Spans_of_different_sizes_are_refused_without_a_driver_call) {
  Recording recording;
  std::vector<int> host(5);
  const DeviceSpan<int> device(DevicePtr<int>(0x1000), 4);
  const Error error = error_of([&] { copy(device, host); });
  EXPECT_EQ(error.result(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_STREQ(error.routine(), "cuMemcpyHtoD");
  EXPECT_THAT(error.what(), HasSubstr("elements to copy to 4, elements to copy from 5, sizes differ"));
  EXPECT_THAT(error_of([&] { copy_pageable(host, device, default_stream()); }).what(),
              HasSubstr("sizes differ"));
  EXPECT_THAT(error_of([&] { copy(device, device.first(3)); }).what(), HasSubstr("sizes differ"));
  const DeviceSpan2D<int> rows{DevicePtr<int>(0x1000), 4, 4, 16};
  EXPECT_THAT(error_of([&] {
                copy(rows, HostSpan2D<int>{host.data(), 4, 3});
              }).what(),
              HasSubstr("sizes differ"));
  EXPECT_THAT(recording.calls(), IsEmpty());
}

TEST(Memory, Rows_are_copied_with_their_pitches) {
  Recording recording;
  CUDA_MEMCPY2D seen{};
  recording.keeps_last_argument<Entry::cuMemcpy2D_v3020>(seen);
  const auto pitched = PitchedBuffer<int>::create(3, 5);
  std::vector<int> host(15);
  copy(pitched, HostSpan2D<int>{host.data(), 3, 5});
  EXPECT_EQ(seen.srcMemoryType, CU_MEMORYTYPE_HOST);
  EXPECT_EQ(seen.srcHost, host.data());
  EXPECT_EQ(seen.srcPitch, 12u);
  EXPECT_EQ(seen.dstMemoryType, CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(seen.dstDevice, 0x1000u);
  EXPECT_EQ(seen.dstPitch, 512u);
  EXPECT_EQ(seen.WidthInBytes, 12u);
  EXPECT_EQ(seen.Height, 5u);
  recording.calls();
  copy_pageable(HostSpan2D<int>{host.data(), 3, 5}, pitched, StreamRef(kRaw));
  EXPECT_THAT(recording.calls(), ElementsAre("cuMemcpy2DAsync_v2(&, 0x50)"));
}

TEST(Memory, Slices_are_copied_with_their_rows) {
  Recording recording;
  CUDA_MEMCPY3D seen{};
  recording.keeps_last_argument<Entry::cuMemcpy3D_v3020>(seen);
  const DeviceSpan3D<int> to{DevicePtr<int>(0x1000), 3, 4, 2, 512, 8};
  const DeviceSpan3D<const int> from{DevicePtr<const int>(0x9000), 3, 4, 2, 64};
  copy(to, from);
  EXPECT_EQ(seen.dstDevice, 0x1000u);
  EXPECT_EQ(seen.dstHeight, 8u);
  EXPECT_EQ(seen.srcHeight, 4u);
  EXPECT_EQ(seen.WidthInBytes, 12u);
  EXPECT_EQ(seen.Height, 4u);
  EXPECT_EQ(seen.Depth, 2u);
  recording.calls();
  copy(to, from, StreamRef(kRaw));
  EXPECT_THAT(recording.calls(), ElementsAre("cuMemcpy3DAsync_v2(&, 0x50)"));
}

TEST(Memory, Setting_takes_the_call_for_the_elements_width) {
  Recording recording;
  const StreamRef stream(kRaw);
  fill(DeviceSpan<char>(DevicePtr<char>(0x1000), 4), 'a');
  fill(DeviceSpan<short>(DevicePtr<short>(0x1000), 4), -1);
  fill(DeviceSpan<float>(DevicePtr<float>(0x1000), 4), 1.0f);
  fill(DeviceSpan<char>(DevicePtr<char>(0x1000), 4), 'a', stream);
  fill(DeviceSpan<short>(DevicePtr<short>(0x1000), 4), 2, stream);
  fill(DeviceSpan<int>(DevicePtr<int>(0x1000), 4), 3, stream);
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuMemsetD8_v2(0x1000, 97, 4)", "cuMemsetD16_v2(0x1000, 65535, 4)",
                          "cuMemsetD32_v2(0x1000, 1065353216, 4)", "cuMemsetD8Async(0x1000, 97, 4, 0x50)",
                          "cuMemsetD16Async(0x1000, 2, 4, 0x50)", "cuMemsetD32Async(0x1000, 3, 4, 0x50)"));
  fill(DeviceSpan2D<char>{DevicePtr<char>(0x1000), 3, 5, 512}, 'a');
  fill(DeviceSpan2D<short>{DevicePtr<short>(0x1000), 3, 5, 512}, 2);
  fill(DeviceSpan2D<int>{DevicePtr<int>(0x1000), 3, 5, 512}, 3);
  fill(DeviceSpan2D<char>{DevicePtr<char>(0x1000), 3, 5, 512}, 'a', stream);
  fill(DeviceSpan2D<short>{DevicePtr<short>(0x1000), 3, 5, 512}, 2, stream);
  fill(DeviceSpan2D<int>{DevicePtr<int>(0x1000), 3, 5, 512}, 3, stream);
  EXPECT_THAT(
      recording.calls(),
      ElementsAre("cuMemsetD2D8_v2(0x1000, 512, 97, 3, 5)", "cuMemsetD2D16_v2(0x1000, 512, 2, 3, 5)",
                  "cuMemsetD2D32_v2(0x1000, 512, 3, 3, 5)", "cuMemsetD2D8Async(0x1000, 512, 97, 3, 5, 0x50)",
                  "cuMemsetD2D16Async(0x1000, 512, 2, 3, 5, 0x50)",
                  "cuMemsetD2D32Async(0x1000, 512, 3, 3, 5, 0x50)"));
}

TEST(Memory, Setting_elements_of_8_bytes_takes_words_or_columns_of_words) {
  Recording recording;
  const StreamRef stream(kRaw);
  const DeviceSpan<double> doubles(DevicePtr<double>(0x1000), 4);
  fill(doubles, 0.0);
  fill(doubles, 1.0, stream);
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuMemsetD32_v2(0x1000, 0, 8)", "cuMemsetD2D32Async(0x1000, 8, 0, 1, 4, 0x50)",
                          "cuMemsetD2D32Async(0x1004, 8, 1072693248, 1, 4, 0x50)"));
  const DeviceSpan2D<double> rows{DevicePtr<double>(0x1000), 3, 2, 512};
  fill(rows, 0.0);
  fill(rows, 1.0);
  EXPECT_THAT(
      recording.calls(),
      ElementsAre("cuMemsetD2D32_v2(0x1000, 512, 0, 6, 2)", "cuMemsetD2D32_v2(0x1000, 8, 0, 1, 3)",
                  "cuMemsetD2D32_v2(0x1004, 8, 1072693248, 1, 3)", "cuMemsetD2D32_v2(0x1200, 8, 0, 1, 3)",
                  "cuMemsetD2D32_v2(0x1204, 8, 1072693248, 1, 3)"));
}

TEST(Memory, Setting_slices_does_not_change_the_rows_between_them) {
  Recording recording;
  fill(DeviceSpan3D<int>{DevicePtr<int>(0x1000), 3, 4, 2, 16}, 7);
  fill(DeviceSpan3D<int>{DevicePtr<int>(0x1000), 3, 4, 2, 16, 8}, 7, StreamRef(kRaw));
  EXPECT_THAT(recording.calls(), ElementsAre("cuMemsetD2D32_v2(0x1000, 16, 7, 3, 8)",
                                             "cuMemsetD2D32Async(0x1000, 16, 7, 3, 4, 0x50)",
                                             "cuMemsetD2D32Async(0x1080, 16, 7, 3, 4, 0x50)"));
}

TEST(Memory, Setting_managed_and_pinned_memory_goes_by_its_device_address) {
  Recording recording;
  recording.on<Entry::cuMemHostGetDevicePointer_v3020>([](CUdeviceptr *address, void *, unsigned) {
    *address = 0x7000;
    return CUDA_SUCCESS;
  });
  const auto managed = ManagedBuffer<int>::create(4);
  const auto pinned = PinnedBuffer<int>::create(4);
  recording.calls();
  fill(managed, 7, StreamRef(kRaw));
  fill(pinned, 7, StreamRef(kRaw));
  fill(PinnedBuffer<int>(), 7);
  EXPECT_THAT(
      recording.calls(),
      ElementsAre("cuMemsetD32Async(0x1000, 7, 4, 0x50)", "cuMemHostGetDevicePointer_v2(&, 0x2000, 0)",
                  "cuMemsetD32Async(0x7000, 7, 4, 0x50)", "cuMemsetD32_v2(0x0, 7, 0)"));
}

}  // namespace
}  // namespace cushim::test
