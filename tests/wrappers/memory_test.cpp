// SPDX-License-Identifier: Apache-2.0
// Tests memory: the exact driver calls of every buffer type, of copies and sets, and of address queries.
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

TEST(Memory, Got_on_a_device_it_holds_the_primary_context_until_the_end) {
  Recording recording;
  const Device device = Device::from_handle(3);
  int host[4];
  const auto around = [](const std::string &got, const std::string &given_back) {
    return Calls{"cuDevicePrimaryCtxRetain(&, 3)", "cuCtxPushCurrent_v2(0xc0)",      got,
                 "cuCtxPopCurrent_v2(&)",          "cuCtxPushCurrent_v2(0xc0)",      given_back,
                 "cuCtxPopCurrent_v2(&)",          "cuDevicePrimaryCtxRelease_v2(3)"};
  };
  { const auto buffer = DeviceBuffer<int>::create(device, 4); }
  EXPECT_EQ(recording.calls(), around("cuMemAlloc_v2(&, 16)", "cuMemFree_v2(0x1000)"));
  { const auto buffer = PinnedBuffer<int>::create(device, 4, PinnedFlags::portable); }
  EXPECT_EQ(recording.calls(), around("cuMemHostAlloc(&, 16, 1)", "cuMemFreeHost(0x2000)"));
  { const auto buffer = RegisteredBuffer<int>::create(device, host); }
  EXPECT_EQ(recording.calls(), around("cuMemHostRegister_v2(" + hex(host) + ", 16, 0)",
                                      "cuMemHostUnregister(" + hex(host) + ")"));
  { const auto buffer = ManagedBuffer<int>::create(device, 4); }
  EXPECT_EQ(recording.calls(), around("cuMemAllocManaged(&, 16, 1)", "cuMemFree_v2(0x3000)"));
  { const auto buffer = PitchedBuffer<int>::create(device, 4, 5); }
  EXPECT_EQ(recording.calls(), around("cuMemAllocPitch_v2(&, &, 16, 5, 4)", "cuMemFree_v2(0x4000)"));
}

TEST(Memory, Every_kind_is_got_in_a_context) {
  Recording recording;
  int host[4];
  RegisteredBuffer<int>::create(context_c1(), host).close();
  ManagedBuffer<int>::create(context_c1(), 4).close();
  PitchedBuffer<int>::create(context_c1(), 4, 5).close();
  EXPECT_EQ(recording.calls().size(), 3u * 6u);
  EXPECT_THAT(recording.live(), IsEmpty());
}

TEST(Memory, Of_no_elements_every_kind_owns_nothing_and_makes_no_call) {
  Recording recording;
  const auto device = DeviceBuffer<int>::create(0);
  const auto pinned = PinnedBuffer<int>::create(0);
  const auto registered = RegisteredBuffer<int>::create(std::span<int>());
  const auto managed = ManagedBuffer<int>::create(0);
  const auto pitched = PitchedBuffer<int>::create(0, 5);
  const auto ordered = StreamBuffer<int>::create(StreamRef(kRaw), 0);
  EXPECT_TRUE(device.is_empty() && pinned.is_empty() && registered.is_empty() && managed.is_empty() &&
              pitched.is_empty() && ordered.is_empty());
  EXPECT_TRUE(device.empty() && pinned.device_span().empty() && managed.device_span().empty());
  EXPECT_THAT(recording.calls(), IsEmpty());
}

TEST(Memory, An_element_of_host_memory_knows_its_device_address) {
  Recording recording;
  recording.on<Entry::cuMemHostGetDevicePointer_v3020>([](CUdeviceptr *address, void *pointer, unsigned) {
    *address = reinterpret_cast<CUdeviceptr>(pointer) + 0x10000;
    return CUDA_SUCCESS;
  });
  const auto flags = PinnedBuffer<std::uint32_t>::create(4);
  recording.calls();
  StreamRef(kRaw).wait_value(flags.device_ptr(2), geq(5));
  EXPECT_THAT(recording.calls(), ElementsAre("cuMemHostGetDevicePointer_v2(&, 0x1008, 0)",
                                             "cuStreamWaitValue32_v2(0x50, 0x11008, 5, 0)"));
  EXPECT_THROW(flags.device_ptr(4), std::out_of_range);
  EXPECT_THAT(recording.calls(), IsEmpty());
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
  EXPECT_EQ(pitched.pitch(), 512u);
  EXPECT_EQ(pitched.height(), 5u);
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

TEST(DeviceSpan, Has_the_parts_of_a_std_span) {
  const DeviceSpan<int> span(DevicePtr<int>(0x1000), 5);
  EXPECT_EQ(span.last(2).data().address(), 0x100cu);
  EXPECT_EQ(span.subspan(3), span.last(2));
  EXPECT_NE(span.first(2), span.last(2));
  EXPECT_EQ(as_bytes(span).size(), 20u);
  EXPECT_EQ(as_writable_bytes(span).data().address(), 0x1000u);
  static_assert(std::is_same_v<decltype(as_bytes(span)), DeviceSpan<const std::byte>>);
  EXPECT_THROW(span.last(6), std::out_of_range);
  EXPECT_THROW(span.subspan(6), std::out_of_range);
}

TEST(DeviceSpan, Is_reinterpreted_only_as_whole_and_aligned_elements) {
  const DeviceSpan<int> span(DevicePtr<int>(0x1004), 6);
  EXPECT_EQ(span.reinterpret<short>().size(), 12u);
  EXPECT_EQ(span.subspan(1, 4).reinterpret<double>().size(), 2u);
  EXPECT_THROW(span.reinterpret<double>(), std::invalid_argument);
  EXPECT_THROW(span.first(5).reinterpret<double>(), std::invalid_argument);
  static_assert(
      std::is_same_v<decltype(DeviceSpan<const int>(span).reinterpret<float>()), DeviceSpan<const float>>);
}

TEST(PinnedSpan, Is_a_range_of_the_host_whose_parts_stay_page_locked) {
  Recording recording;
  int memory[5] = {1, 2, 3, 4, 5};
  const auto registered = RegisteredBuffer<int>::create(memory);
  const PinnedSpan<int> last = registered.last(2);
  EXPECT_EQ(last.front() + last.back(), 9);
  EXPECT_EQ(registered.subspan(1, 3).subspan(1).first(1)[0], 3);
  const std::span<const int> ordinary = last;
  EXPECT_EQ(ordinary.data(), memory + 3);
  EXPECT_EQ(std::vector<int>(registered.begin(), registered.end()).size(), 5u);
  EXPECT_THAT([&] { static_cast<void>(last.first(3)); },
              testing::ThrowsMessage<std::out_of_range>(
                  "cushim: 3 elements from 0 on are asked of a PinnedSpan of 2"));
}

TEST(DeviceSpan, Elements_beyond_its_end_are_refused_with_the_numbers) {
  const DeviceSpan<int> span(DevicePtr<int>(0x1000), 5);
  EXPECT_EQ(span.first(5).size(), 5u);
  EXPECT_EQ(span.subspan(5, 0).size(), 0u);
  EXPECT_THAT([&] { span.first(9); }, testing::ThrowsMessage<std::out_of_range>(
                                          "cushim: 9 elements from 0 on are asked of a DeviceSpan of 5"));
  EXPECT_THROW(span.subspan(6, 0), std::out_of_range);
  EXPECT_THROW(span.subspan(2, static_cast<std::size_t>(-1)), std::out_of_range);
}

// ---- Copies and sets ---------------------------------------------------------------------------

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

TEST(Memory, Spans_of_different_sizes_are_refused_before_the_driver_sees_them) {
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
  copy_pageable(HostSpan2D<int>{host.data(), 3, 5}, pitched, StreamRef(kRaw));
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

TEST(Memory, Setting_slices_leaves_the_rows_between_them_alone) {
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
  EXPECT_EQ(address_range(0x1234), (AddressRange{0x1000, 0x1000}));
  EXPECT_THAT(recording.calls(), ElementsAre("cuMemGetAddressRange_v2(&, &, 0x1234)"));
}

}  // namespace
}  // namespace cushim::test
