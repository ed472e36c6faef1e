// SPDX-License-Identifier: Apache-2.0
// Tests memory: the exact driver calls of every buffer type and of address queries.
#include <gmock/gmock.h>

#include <cstring>
#include <limits>

#include "recording_driver.hpp"

namespace cushim::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- Buffers -----------------------------------------------------------------------------------

TEST(Memory, Each_kind_is_allocated_and_freed_by_one_call_each) {
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

TEST(Memory, Allocated_in_a_context_it_is_freed_in_it) {
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

TEST(Memory, A_count_beyond_the_address_space_is_refused_without_a_driver_call) {
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

TEST(Memory, An_address_is_described_by_one_call_and_pageable_memory_is_not_an_error) {
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

// ---- Memory resources --------------------------------------------------------------------------

TEST(MemoryResource, Each_kind_is_allocated_and_freed_by_one_call_each) {
  Recording recording;
  DeviceMemoryResource device_memory;
  device_memory.deallocate_sync(device_memory.allocate_sync(4), 4);
  PinnedMemoryResource pinned;
  pinned.deallocate(pinned.allocate(4), 4);
  ManagedMemoryResource managed(context_c1());
  managed.deallocate(managed.allocate(0), 0);
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuMemAlloc_v2(&, 4)", "cuMemFree_v2(0x1000)",       //
                          "cuMemHostAlloc(&, 4, 3)", "cuMemFreeHost(0x2000)",  //
                          "cuCtxPushCurrent_v2(0xc1)", "cuMemAllocManaged(&, 1, 1)", "cuCtxPopCurrent_v2(&)",
                          "cuCtxPushCurrent_v2(0xc1)", "cuMemFree_v2(0x3000)", "cuCtxPopCurrent_v2(&)"));
}

TEST(MemoryResource, Of_a_pool_makes_one_call_in_stream_order) {
  Recording recording;
  PoolMemoryResource resource(MemoryPoolRef::from_handle(reinterpret_cast<CUmemoryPool>(0x70)));
  resource.deallocate(StreamRef(kRaw), resource.allocate(kRaw, 4), 4);
  resource.deallocate_sync(resource.allocate_sync(4), 4);
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuMemAllocFromPoolAsync(&, 4, 0x70, 0x50)", "cuMemFreeAsync(0x1000, 0x50)",
                          "cuMemAllocFromPoolAsync(&, 4, 0x70, null)", "cuStreamSynchronize(null)",
                          "cuMemFreeAsync(0x2000, null)"));
}

}  // namespace
}  // namespace cushim::test
