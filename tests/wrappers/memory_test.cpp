// SPDX-License-Identifier: Apache-2.0
// Memory: the exact driver calls of every kind of buffer, of copies and sets, and of questions about
// addresses.
#include <gmock/gmock.h>

#include <cstring>
#include <limits>

#include "recording_driver.hpp"

namespace cushim::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const CUstream kRaw = stream_handle(0x50);
ContextRef context_c1() { return ContextRef::from_handle(context_handle(0xc1)); }
std::string hex(const void *pointer) {
  return detail::hexadecimal(reinterpret_cast<std::uintptr_t>(pointer));
}

// ---- Buffers -----------------------------------------------------------------------------------

TEST(Memory, Each_kind_is_one_call_to_get_and_one_to_give_back) {
  Recording recording;
  int host[4];
  { const auto buffer = DeviceBuffer<int>::create(4); }
  { const auto buffer = PinnedBuffer<int>::create(4, PinnedFlags::portable | PinnedFlags::write_combined); }
  { const auto buffer = RegisteredBuffer<int>::create(host, RegisterFlags::read_only); }
  { const auto buffer = ManagedBuffer<double>::create(4, MemoryAttachment::host); }
  { const auto buffer = PitchedBuffer<float>::create(100, 7); }
  { const auto buffer = StreamBuffer<char>::create(StreamRef(kRaw), 100); }
  EXPECT_THAT(
      recording.calls(),
      ElementsAre("cuMemAlloc_v2(&, 16)", "cuMemFree_v2(0x1000)",       //
                  "cuMemHostAlloc(&, 16, 5)", "cuMemFreeHost(0x2000)",  //
                  "cuMemHostRegister_v2(" + hex(host) + ", 16, 8)", "cuMemHostUnregister(" + hex(host) + ")",
                  "cuMemAllocManaged(&, 32, 2)", "cuMemFree_v2(0x3000)",          //
                  "cuMemAllocPitch_v2(&, &, 400, 7, 4)", "cuMemFree_v2(0x4000)",  //
                  "cuMemAllocAsync(&, 100, 0x50)", "cuMemFreeAsync(0x5000, 0x50)"));
  EXPECT_THAT(recording.live(), IsEmpty());
}

TEST(Memory, Got_in_a_context_it_is_given_back_in_it) {
  Recording recording;
  {
    const auto device = DeviceBuffer<int>::create(context_c1(), 4);
    EXPECT_EQ(device.context(), context_c1());
  }
  { const auto pinned = PinnedBuffer<int>::create(context_c1(), 4); }
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuCtxPushCurrent_v2(0xc1)", "cuMemAlloc_v2(&, 16)", "cuCtxPopCurrent_v2(&)",
                          "cuCtxPushCurrent_v2(0xc1)", "cuMemFree_v2(0x1000)", "cuCtxPopCurrent_v2(&)",
                          "cuCtxPushCurrent_v2(0xc1)", "cuMemHostAlloc(&, 16, 0)", "cuCtxPopCurrent_v2(&)",
                          "cuCtxPushCurrent_v2(0xc1)", "cuMemFreeHost(0x2000)", "cuCtxPopCurrent_v2(&)"));
}

TEST(Memory, Buffers_are_spans_of_what_they_own) {
  Recording recording;
  const auto device = DeviceBuffer<int>::create(4);
  EXPECT_EQ(device.data().address(), 0x1000u);
  EXPECT_EQ(device.size(), 4u);
  EXPECT_EQ(device.size_bytes(), 16u);
  EXPECT_EQ(device[3].address(), 0x100cu);
  EXPECT_EQ(device.subspan(1, 2).data().address(), 0x1004u);
  const auto pinned = PinnedBuffer<int>::create(4);
  EXPECT_EQ(hex(pinned.data()), "0x2000");
  EXPECT_EQ(pinned.size(), 4u);
  const auto pitched = PitchedBuffer<int>::create(3, 5);
  EXPECT_EQ(pitched.pitch, 512u);
  EXPECT_EQ(pitched.height, 5u);
}

TEST(Memory, Host_memory_knows_its_device_address) {
  Recording recording;
  recording.on<Entry::cuMemHostGetDevicePointer_v3020>([](CUdeviceptr *address, void *, unsigned) {
    *address = 0x7000;
    return CUDA_SUCCESS;
  });
  int host[4];
  const auto pinned = PinnedBuffer<int>::create(4);
  const auto registered = RegisteredBuffer<int>::create(host);
  const auto managed = ManagedBuffer<int>::create(4);
  recording.calls();
  EXPECT_EQ(pinned.device_span().data().address(), 0x7000u);
  EXPECT_EQ(registered.device_span().size(), 4u);
  EXPECT_EQ(managed.device_span().data().address(), 0x2000u);
  pinned.flags();
  EXPECT_THAT(recording.calls(), ElementsAre("cuMemHostGetDevicePointer_v2(&, 0x1000, 0)",
                                             "cuMemHostGetDevicePointer_v2(&, " + hex(host) + ", 0)",
                                             "cuMemHostGetFlags(&, 0x1000)"));
}

TEST(Memory, A_released_buffer_is_empty_and_its_memory_the_callers) {
  Recording recording;
  auto buffer = DeviceBuffer<int>::create(4);
  const CUdeviceptr address = buffer.release();
  EXPECT_TRUE(buffer.is_empty() && buffer.empty());
  auto ordered = StreamBuffer<int>::create(StreamRef(kRaw), 4);
  const CUdeviceptr pool = ordered.release();
  EXPECT_TRUE(ordered.is_empty());
  recording.calls();
  driver().cuMemFree(address);
  driver().cuMemFreeAsync(pool, kRaw);
  EXPECT_THAT(recording.wrong_releases(), IsEmpty());
  EXPECT_THAT(recording.live(), IsEmpty());
}

TEST(Memory, Ordered_memory_can_be_freed_in_another_stream) {
  Recording recording;
  auto buffer = StreamBuffer<int>::create(StreamRef(kRaw), 4);
  recording.calls();
  buffer.set_stream(default_stream());
  buffer.close();
  EXPECT_THAT(recording.calls(), ElementsAre("cuMemFreeAsync(0x1000, null)"));
}

TEST(Memory, A_count_beyond_the_address_space_is_refused_before_the_driver_sees_it) {
  Recording recording;
  const std::size_t count = std::numeric_limits<std::size_t>::max() / 2;
  EXPECT_THAT(error_of([=] { DeviceBuffer<int>::create(count); }).what(), HasSubstr("count is larger"));
  EXPECT_THAT(recording.calls(), IsEmpty());
}

// ---- Copies and sets ---------------------------------------------------------------------------

TEST(Memory, Copies_are_one_call_in_every_direction) {
  Recording recording;
  std::vector<int> host(4);
  const DeviceSpan<int> a(DevicePtr<int>(0x1000), 4);
  const DeviceSpan<const int> b(DevicePtr<const int>(0x2000), 4);
  const StreamRef stream(kRaw);
  copy(a, host);
  copy(a, host, stream);
  copy(host, b);
  copy(host, b, stream);
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
  copy(device.first(1), std::span(constant).first(1), StreamRef(kRaw));
  EXPECT_THAT(recording.calls(), ElementsAre("cuMemcpyHtoD_v2(0x1000, " + hex(constant) + ", 8)",
                                             "cuMemcpyDtoH_v2(0x2000, 0x1000, 8)",
                                             "cuMemcpyHtoDAsync_v2(0x1000, " + hex(constant) + ", 4, 0x50)"));
}

TEST(Memory, Spans_of_different_sizes_are_refused_before_the_driver_sees_them) {
  Recording recording;
  std::vector<int> host(5);
  const DeviceSpan<int> device(DevicePtr<int>(0x1000), 4);
  const Error error = error_of([&] { copy(device, host); });
  EXPECT_EQ(error.result(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_STREQ(error.routine(), "cuMemcpyHtoD");
  EXPECT_THAT(error.what(), HasSubstr("elements to copy to 4, elements to copy from 5, sizes differ"));
  EXPECT_THAT(error_of([&] { copy(host, device, default_stream()); }).what(), HasSubstr("sizes differ"));
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
  recording.on<Entry::cuMemcpy2D_v3020>([&](const CUDA_MEMCPY2D *copy) {
    seen = *copy;
    return CUDA_SUCCESS;
  });
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
  copy(HostSpan2D<int>{host.data(), 3, 5}, pitched, StreamRef(kRaw));
  EXPECT_THAT(recording.calls(), ElementsAre("cuMemcpy2DAsync_v2(&, 0x50)"));
}

TEST(Memory, Slices_are_copied_with_their_rows) {
  Recording recording;
  CUDA_MEMCPY3D seen{};
  recording.on<Entry::cuMemcpy3D_v3020>([&](const CUDA_MEMCPY3D *copy) {
    seen = *copy;
    return CUDA_SUCCESS;
  });
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

// ---- Addresses ---------------------------------------------------------------------------------

TEST(Memory, An_addresss_attribute_reads_as_its_own_type) {
  Recording recording;
  recording.on<Entry::cuPointerGetAttribute_v4000>([](void *value, CUpointer_attribute which, CUdeviceptr) {
    const unsigned one = 1;
    const CUcontext context = kPrimary;
    if (which == CU_POINTER_ATTRIBUTE_CONTEXT)
      std::memcpy(value, &context, sizeof context);
    else
      std::memcpy(value, &one, sizeof one);
    return CUDA_SUCCESS;
  });
  EXPECT_EQ(attribute_of(0x1000, pointer_attribute::context), kPrimary);
  EXPECT_TRUE(attribute_of(0x1000, pointer_attribute::is_managed));
  EXPECT_EQ(attribute_of(0x1000, pointer_attribute::memory_type), CU_MEMORYTYPE_HOST);
  EXPECT_EQ(recording.calls().size(), 3u);
  set_sync_memops(0x1000, true);
  EXPECT_EQ(recording.calls().size(), 1u);
}

TEST(Memory, An_address_is_described_by_one_call_and_pageable_memory_is_no_error) {
  Recording recording;
  PointerInfo info = describe_pointer(0x1000);
  EXPECT_EQ(info.memory_type, std::nullopt);
  EXPECT_TRUE(info.context.is_empty());
  recording.on<Entry::cuPointerGetAttributes_v7000>(
      [](unsigned count, CUpointer_attribute *which, void **values, CUdeviceptr) {
        for (unsigned i = 0; i < count; ++i) {
          if (which[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
            *static_cast<unsigned *>(values[i]) = CU_MEMORYTYPE_DEVICE;
          if (which[i] == CU_POINTER_ATTRIBUTE_CONTEXT) *static_cast<CUcontext *>(values[i]) = kPrimary;
          if (which[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) *static_cast<int *>(values[i]) = 3;
          if (which[i] == CU_POINTER_ATTRIBUTE_IS_MANAGED) *static_cast<bool *>(values[i]) = true;
          if (which[i] == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
            *static_cast<CUdeviceptr *>(values[i]) = 0x1000;
          if (which[i] == CU_POINTER_ATTRIBUTE_RANGE_SIZE) *static_cast<std::size_t *>(values[i]) = 64;
        }
        return CUDA_SUCCESS;
      });
  recording.calls();
  info = describe_pointer(0x1010);
  EXPECT_EQ(info.memory_type, CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(info.context.handle(), kPrimary);
  EXPECT_EQ(info.device_ordinal, 3);
  EXPECT_TRUE(info.is_managed);
  EXPECT_EQ(info.range_start, 0x1000u);
  EXPECT_EQ(info.range_size, 64u);
  EXPECT_THAT(recording.calls(), ElementsAre("cuPointerGetAttributes(6, &, &, 0x1010)"));
}

TEST(Memory, The_range_of_an_address_is_one_call) {
  Recording recording;
  EXPECT_EQ(address_range(0x1234).base, 0x1000u);
  EXPECT_THAT(recording.calls(), ElementsAre("cuMemGetAddressRange_v2(&, &, 0x1234)"));
}

}  // namespace
}  // namespace cushim::test
