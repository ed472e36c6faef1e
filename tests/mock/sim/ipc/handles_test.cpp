// SPDX-License-Identifier: Apache-2.0
// Handles that were corrupted in transit, and shared memory.
#include <cstring>
#include <vector>

#include "pair.hpp"

namespace cushim::processes {
namespace {

constexpr std::size_t kBig = 5 << 20;

CUSHIM_CHILD(owner) {
  begin();
  const Exported mine(kBig);
  parent.send(mine.handles);
  parent.receive<int>();  // tells the importer to write the last byte
  need(driver().cuMemsetD8(mine.memory + kBig - 1, 77, 1));
  need(driver().cuCtxSynchronize());
  parent.send(0);
  parent.receive<int>();  // tells the importer to free the memory and to write to the next allocation
  need(driver().cuMemFree(mine.memory));
  CUdeviceptr next = 0;
  need(driver().cuMemAlloc(&next, kBig));
  need(driver().cuMemsetD8(next, 1, kBig));
  need(driver().cuCtxSynchronize());
  parent.send(0);
  parent.receive<int>();
}

int byte_at(CUdeviceptr address) {
  unsigned char byte = 0;
  need(driver().cuMemcpyDtoH(&byte, address, 1));
  return byte;
}

TEST(SharedMemory, Is_fresh_on_both_sides_and_outlives_its_owner_s_free) {
  begin();
  Child owner("owner");
  const auto handles = owner.receive<Handles>();
  CUdeviceptr memory = 0;
  need(driver().cuIpcOpenMemHandle(&memory, handles.memory, 1));
  EXPECT_EQ(byte_at(memory), 0xA5);
  EXPECT_EQ(byte_at(memory + kBig - 1), 0xA5);
  need(driver().cuMemsetD8(memory + kBig - 2, 55, 1));
  owner.send(0);
  owner.receive<int>();
  EXPECT_EQ(byte_at(memory + kBig - 1), 77);
  EXPECT_EQ(byte_at(memory + kBig - 2), 55);
  EXPECT_EQ(byte_at(memory + kBig - 3), 0xA5);
  owner.send(0);
  owner.receive<int>();
  EXPECT_EQ(byte_at(memory + kBig - 1), 77) << "the owner freed it";
  EXPECT_EQ(byte_at(memory), 0xA5);
  need(driver().cuIpcCloseMemHandle(memory));
  owner.send(0);
  EXPECT_EQ(owner.wait(), 0);
}

// Measured, driver 580.
TEST(SharedMemory, That_is_opened_is_not_freed_in_stream_order) {
  const CUstream stream = begin();
  Child owner("owner");
  const auto handles = owner.receive<Handles>();
  CUdeviceptr memory = 0;
  need(driver().cuIpcOpenMemHandle(&memory, handles.memory, 1));
  EXPECT_EQ(driver().cuMemFreeAsync(memory, stream), CUDA_ERROR_INVALID_VALUE);
  need(driver().cuStreamSynchronize(stream));
  EXPECT_EQ(byte_at(memory), 0xA5);
  need(driver().cuIpcCloseMemHandle(memory));
}

TEST(AHandle, With_any_byte_changed_is_not_opened) {
  begin();
  Child owner("owner");
  const auto handles = owner.receive<Handles>();
  for (std::size_t at = 0; at < sizeof(CUipcMemHandle); ++at) {
    CUipcMemHandle of_memory = handles.memory;
    CUipcEventHandle of_event = handles.there;
    of_memory.reserved[at] = static_cast<char>(of_memory.reserved[at] ^ 0x10);
    of_event.reserved[at] = static_cast<char>(of_event.reserved[at] ^ 0x10);
    CUdeviceptr memory = 0;
    CUevent event = nullptr;
    EXPECT_EQ(driver().cuIpcOpenMemHandle(&memory, of_memory, 1), CUDA_ERROR_INVALID_VALUE) << at;
    EXPECT_EQ(driver().cuIpcOpenEventHandle(&event, of_event), CUDA_ERROR_MAP_FAILED) << at;
  }
}

// Sends a handle of memory. Then makes one step for each word from the parent: frees the memory, allocates
// other memory, exports it, frees it, allocates pinned memory.
CUSHIM_CHILD(reuses_a_number) {
  begin();
  CUdeviceptr memory = 0, other = 0;
  CUipcMemHandle handle{};
  void *pinned = nullptr;
  const auto wait_for_parent = [&] {
    parent.send(0);
    parent.receive<int>();
  };
  need(driver().cuMemAlloc(&memory, kBig));
  need(driver().cuIpcGetMemHandle(&handle, memory));
  parent.send(handle);
  parent.receive<int>();
  need(driver().cuMemFree(memory));
  wait_for_parent();
  need(driver().cuMemAlloc(&other, kBig));
  need(driver().cuMemsetD8(other, 42, kBig));
  need(driver().cuCtxSynchronize());
  wait_for_parent();
  need(driver().cuIpcGetMemHandle(&handle, other));
  wait_for_parent();
  need(driver().cuMemFree(other));
  wait_for_parent();
  need(driver().cuMemHostAlloc(&pinned, kBig, 0));
  wait_for_parent();
}

// Measured on an H200, driver 580.159.
TEST(AHandle, Of_freed_memory_names_the_object_that_has_its_number_now) {
  begin();
  Child owner("reuses_a_number");
  const auto handle = owner.receive<CUipcMemHandle>();
  CUdeviceptr memory = 0;
  const auto opened_next = [&] {
    owner.send(0);
    owner.receive<int>();
    return driver().cuIpcOpenMemHandle(&memory, handle, 1);
  };
  EXPECT_EQ(opened_next(), CUDA_ERROR_INVALID_VALUE) << "no object has the number";
  EXPECT_EQ(opened_next(), CUDA_ERROR_NOT_PERMITTED) << "memory that is not exported";
  ASSERT_EQ(opened_next(), CUDA_SUCCESS) << "memory that is exported";
  EXPECT_EQ(byte_at(memory), 42);
  EXPECT_EQ(driver().cuIpcCloseMemHandle(memory), CUDA_SUCCESS);
  EXPECT_EQ(opened_next(), CUDA_ERROR_INVALID_VALUE) << "that memory has been freed, too";
  EXPECT_EQ(opened_next(), CUDA_ERROR_NOT_PERMITTED) << "pinned memory";
  owner.send(0);
}

TEST(AHandle, Of_an_event_opens_no_memory) {
  begin();
  Child owner("owner");
  const auto handles = owner.receive<Handles>();
  CUipcMemHandle of_memory = {};
  CUipcEventHandle of_event = {};
  std::memcpy(&of_memory, &handles.there, sizeof of_memory);
  std::memcpy(&of_event, &handles.memory, sizeof of_event);
  CUdeviceptr memory = 0;
  CUevent event = nullptr;
  EXPECT_EQ(driver().cuIpcOpenMemHandle(&memory, of_memory, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuIpcOpenEventHandle(&event, of_event), CUDA_ERROR_MAP_FAILED);
}

}  // namespace
}  // namespace cushim::processes
