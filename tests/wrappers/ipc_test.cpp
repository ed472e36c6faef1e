// SPDX-License-Identifier: Apache-2.0
// Tests sharing with other processes: the exact driver calls, the contents of a handle, and HIP's names.
#include <cushim/compat/hip_ipc.h>
#include <gmock/gmock.h>

#include <cstring>

#include "recording_driver.hpp"

namespace cushim::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- Events ------------------------------------------------------------------------------------

TEST(Ipc, Exporting_an_event_is_one_call) {
  Recording recording;
  const IpcEvent event = IpcEvent::create();
  recording.calls();
  event::ipc::export_(event);
  event.ipc_descriptor();
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuIpcGetEventHandle(&, 0x1000)", "cuIpcGetEventHandle(&, 0x1000)"));
}

TEST(Ipc, An_event_imported_on_a_device_holds_its_primary_context_until_the_end) {
  Recording recording;
  {
    const IpcEvent event = event::ipc::import(device_3(), event::ipc::handle_t{});
    EXPECT_EQ(event.device(), device_3());
    EXPECT_TRUE(event.is_ipc_enabled());
  }
  EXPECT_THAT(recording.calls(), ElementsAre("cuDevicePrimaryCtxRetain(&, 3)", "cuCtxPushCurrent_v2(0xc0)",
                                             "cuIpcOpenEventHandle(&, {})", "cuCtxPopCurrent_v2(&)",
                                             "cuEventDestroy_v2(0x1000)", "cuDevicePrimaryCtxRelease_v2(3)"));
}

TEST(Ipc, An_event_is_imported_with_its_context_current) {
  Recording recording;
  { const IpcEvent event = IpcEvent::from_ipc_descriptor(context_c1(), event::ipc::handle_t{}); }
  EXPECT_THAT(recording.calls(), ElementsAre("cuCtxPushCurrent_v2(0xc1)", "cuIpcOpenEventHandle(&, {})",
                                             "cuCtxPopCurrent_v2(&)", "cuEventDestroy_v2(0x1000)"));
}

TEST(Ipc, A_handle_survives_being_sent_as_bytes) {
  Recording recording;
  recording.on<Entry::cuIpcGetEventHandle_v4010>([](CUipcEventHandle *handle, CUevent) {
    for (int i = 0; i < 64; ++i) handle->reserved[i] = static_cast<char>(i);
    return CUDA_SUCCESS;
  });
  CUipcEventHandle seen{};
  recording.on<Entry::cuIpcOpenEventHandle_v4010>([&](CUevent *, CUipcEventHandle handle) {
    seen = handle;
    return CUDA_SUCCESS;
  });
  const auto handle = event::ipc::export_(IpcEvent::adopt(nullptr));
  static_assert(std::is_trivially_copyable_v<event::ipc::handle_t> && sizeof(handle) == 64);
  const std::vector<std::byte> sent(handle.bytes().begin(), handle.bytes().end());
  [[maybe_unused]] const auto opened =
      event::ipc::import(context_c1(), event::ipc::handle_t::from_bytes(sent)).release();
  EXPECT_EQ(std::memcmp(&seen, sent.data(), 64), 0);
}

TEST(Ipc, A_handle_of_63_bytes_is_refused_without_a_driver_call) {
  Recording recording;
  const std::vector<std::byte> cut(63);
  const Error error = error_of([&] { event::ipc::handle_t::from_bytes(cut); });
  EXPECT_EQ(error.result(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(error.what(), HasSubstr("bytes given 63, bytes of a handle 64"));
  EXPECT_THAT(error_of([&] { memory::ipc::handle_t::from_bytes(cut); }).what(),
              HasSubstr("bytes of a handle 80"));
  EXPECT_THAT(recording.calls(), IsEmpty());
}

TEST(Ipc, Importing_where_it_was_exported_is_explained) {
  Recording recording;
  recording.answer(Entry::cuIpcOpenEventHandle, CUDA_ERROR_INVALID_CONTEXT);
  recording.answer(Entry::cuIpcOpenMemHandle, CUDA_ERROR_INVALID_CONTEXT);
  const char *reason = "a handle opens only in another process than the one that made it";
  EXPECT_THAT(error_of([] { event::ipc::import(device_3(), event::ipc::handle_t{}); }).what(),
              HasSubstr(reason));
  EXPECT_THAT(error_of([] { memory::ipc::import(device_3(), memory::ipc::handle_t{}); }).what(),
              HasSubstr(reason));
  EXPECT_THAT(recording.live(), IsEmpty());
}

// ---- Memory ------------------------------------------------------------------------------------

TEST(Ipc, Exported_memory_has_the_offset_of_an_interior_pointer) {
  Recording recording;
  const auto handle = memory::ipc::export_(DevicePtr<int>(0x1234));
  EXPECT_EQ(handle.offset, 0x234u);
  EXPECT_EQ(handle.size, 0x1000u - 0x234u);
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuMemGetAddressRange_v2(&, &, 0x1234)", "cuIpcGetMemHandle(&, 0x1234)"));
}

TEST(Ipc, The_importer_gets_the_pointer_that_was_exported) {
  Recording recording;
  const memory::ipc::Mapping mapping = memory::ipc::import(memory::ipc::export_(DevicePtr<int>(0x1234)));
  EXPECT_EQ(mapping.address(), 0xa234u);
  EXPECT_EQ(mapping.base(), 0xa000u);
  EXPECT_EQ(mapping.span<int>().data().address(), 0xa234u);
  EXPECT_EQ(mapping.span<int>().size(), (0x1000u - 0x234u) / 4);
}

TEST(Ipc, A_mapping_is_opened_with_the_one_flag_that_there_is_and_closed_by_its_base) {
  Recording recording;
  { const auto mapping = memory::ipc::import(memory::ipc::handle_t{{}, 8, 8}); }
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuIpcOpenMemHandle_v2(&, {}, 1)", "cuIpcCloseMemHandle(0xa000)"));
}

TEST(Ipc, A_mapping_opens_and_closes_in_its_context) {
  Recording recording;
  { const auto mapping = memory::ipc::import(device_3(), memory::ipc::handle_t{}); }
  EXPECT_THAT(recording.calls(), ElementsAre("cuDevicePrimaryCtxRetain(&, 3)", "cuCtxPushCurrent_v2(0xc0)",
                                             "cuIpcOpenMemHandle_v2(&, {}, 1)", "cuCtxPopCurrent_v2(&)",
                                             "cuCtxPushCurrent_v2(0xc0)", "cuIpcCloseMemHandle(0xa000)",
                                             "cuCtxPopCurrent_v2(&)", "cuDevicePrimaryCtxRelease_v2(3)"));
}

TEST(Ipc, Repeated_openings_are_each_closed_once) {
  Recording recording;
  auto first = memory::ipc::import(memory::ipc::handle_t{});
  auto second = memory::ipc::import(memory::ipc::handle_t{});
  EXPECT_EQ(first.address(), second.address());
  first.close();
  first.close();
  EXPECT_THAT(recording.live(), ElementsAre("mapping 0xa000"));
  second = {};
  EXPECT_THAT(recording.live(), IsEmpty());
  EXPECT_THAT(recording.wrong_releases(), IsEmpty());
}

TEST(Ipc, A_released_mapping_is_closed_by_its_adopter) {
  Recording recording;
  auto mapping = memory::ipc::import(device_3(), memory::ipc::handle_t{{}, 16, 16});
  const CUdeviceptr base = mapping.release();
  EXPECT_TRUE(mapping.is_empty());
  EXPECT_THAT(recording.live(), ElementsAre("mapping 0xa000"));
  memory::ipc::Mapping::adopt(base).close();
  EXPECT_THAT(recording.live(), IsEmpty());
}

// ---- HIP ---------------------------------------------------------------------------------------

TEST(Ipc, Hips_three_calls_open_and_close_the_same_memory) {
  Recording recording;
  hipIpcMemHandle_t handle;
  void *pointer = nullptr;
  EXPECT_EQ(hipIpcGetMemHandle(&handle, reinterpret_cast<void *>(0x1000)), hipSuccess);
  EXPECT_EQ(hipIpcOpenMemHandle(&pointer, handle, hipIpcMemLazyEnablePeerAccess), hipSuccess);
  EXPECT_EQ(pointer, reinterpret_cast<void *>(0xa000));
  EXPECT_THAT(recording.live(), ElementsAre("mapping 0xa000"));
  EXPECT_EQ(hipIpcCloseMemHandle(pointer), hipSuccess);
  EXPECT_THAT(recording.live(), IsEmpty());
}

TEST(Ipc, Hips_errors_have_hips_names) {
  Recording recording;
  hipIpcMemHandle_t handle{};
  void *pointer = nullptr;
  EXPECT_EQ(hipIpcOpenMemHandle(&pointer, handle, 0), hipErrorInvalidValue);
  EXPECT_EQ(hipIpcOpenMemHandle(nullptr, handle, hipIpcMemLazyEnablePeerAccess), hipErrorInvalidValue);
  EXPECT_EQ(hipIpcGetMemHandle(nullptr, nullptr), hipErrorInvalidValue);
  EXPECT_THAT(recording.calls(), IsEmpty());
  recording.answer(Entry::cuIpcOpenMemHandle, CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(hipIpcOpenMemHandle(&pointer, handle, hipIpcMemLazyEnablePeerAccess), hipErrorInvalidContext);
  recording.answer(Entry::cuIpcCloseMemHandle, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hipIpcCloseMemHandle(pointer), hipErrorInvalidValue);
  recording.answer(Entry::cuMemGetAddressRange, CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
  EXPECT_EQ(hipIpcGetMemHandle(&handle, nullptr), hipErrorInsufficientDriver);
  recording.answer(Entry::cuMemGetAddressRange, CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_EQ(hipIpcGetMemHandle(&handle, nullptr), hipErrorUnknown);
}

}  // namespace
}  // namespace cushim::test
