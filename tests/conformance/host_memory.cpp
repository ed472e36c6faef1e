// SPDX-License-Identifier: Apache-2.0
// Page-locked host memory that the driver allocates.
#include <cushim/memory.hpp>

#include <utility>
#include <vector>

#include "conformance.hpp"

namespace conformance {
namespace {

class HostMemory : public OnDevice {};

STATEMENT(HostMemory, Is_allocated, driver().cuMemAllocHost(&host, 4096), CUDA_SUCCESS)
STATEMENT(HostMemory, No_bytes_are_accepted, driver().cuMemAllocHost(&host, 0), CUDA_SUCCESS)
STATEMENT(HostMemory, Allocating_needs_a_place, driver().cuMemAllocHost(nullptr, 4096),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(HostMemory, No_bytes_with_flags_are_accepted, driver().cuMemHostAlloc(&host, 0, 0), CUDA_SUCCESS)
STATEMENT(HostMemory, Allocating_with_flags_needs_a_place, driver().cuMemHostAlloc(nullptr, 4096, 0),
          CUDA_ERROR_INVALID_VALUE)
[[maybe_unused]] const bool flags_refused = [] {
  const struct {
    const char *name, *text;
    unsigned flags;
  } refused[] = {{"The_flag_8_is_refused", "8", 8},
                 {"The_flag_16_is_refused", "16", 16},
                 {"All_flags_are_refused", "~0u", ~0u}};
  for (const auto &each : refused)
    ADD_TEST(HostMemory, each.name, [each](OnDevice &test) {
      expect_answer(__FILE__, __LINE__, std::string("cuMemHostAlloc(&host, 4096, ") + each.text + ")",
                    driver().cuMemHostAlloc(&test.host, 4096, each.flags), CUDA_ERROR_INVALID_VALUE);
    });
  return true;
}();

// Frees the test's pinned memory and destroys its context.
void end_context(OnDevice &test) {
  driver().cuMemFreeHost(std::exchange(test.host, nullptr));
  driver().cuCtxDestroy(std::exchange(test.context_out, nullptr));
}

const bool flags_kept = [] {
  for (unsigned flags = 0; flags < 8; ++flags) {
    ADD_TEST(HostMemory, "Is_allocated_with_flags_" + std::to_string(flags), [flags](OnDevice &test) {
      // In another context the memory may share a chunk with memory that other tests have not freed.
      NEED(driver().cuCtxCreate_v2(&test.context_out, 0, 0));
      EXPECT_ANSWER(driver().cuMemHostAlloc(&test.host, 4096, flags), CUDA_SUCCESS);
      EXPECT_ANSWER(driver().cuMemHostGetFlags(&test.flags, test.host), CUDA_SUCCESS);
      // Always mapped, because addressing is unified.
      EXPECT_VALUE(test.flags, flags | CU_MEMHOSTALLOC_DEVICEMAP);
      end_context(test);
    });
    ADD_TEST(HostMemory, "Has_one_address_for_both_sides_with_flags_" + std::to_string(flags),
             [flags](OnDevice &test) {
               NEED(driver().cuMemHostAlloc(&test.host, 4096, flags));
               CUdeviceptr at = 0;
               EXPECT_ANSWER(driver().cuMemHostGetDevicePointer(&at, test.host, 0), CUDA_SUCCESS);
               EXPECT_VALUE(at == address_of(test.host), true);
             });
  }
  ADD_TEST(HostMemory, "Has_the_portable_flag_of_the_first_memory_in_its_chunk", [](OnDevice &test) {
    struct Row {
      unsigned flags, read;
    };
    NEED(driver().cuCtxCreate_v2(&test.context_out, 0, 0));
    for (const std::vector<Row> &rows : std::vector<std::vector<Row>>{
             {{1, 3}, {0, 3}, {2, 3}}, {{0, 2}, {1, 2}, {5, 7}, {4, 7}}, {{4, 6}, {5, 6}, {1, 3}, {0, 3}}}) {
      std::vector<void *> made;
      for (const Row &row : rows) {
        NEED(driver().cuMemHostAlloc(&test.host, 4096, row.flags));
        made.push_back(std::exchange(test.host, nullptr));
        NEED(driver().cuMemHostGetFlags(&test.flags, made.back()));
        EXPECT_VALUE(test.flags, row.read);
      }
      for (void *const host : made) NEED(driver().cuMemFreeHost(host));
    }
    end_context(test);
  });
  return true;
}();

TEST_F(HostMemory, Without_a_context_is_not_allocated) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemAllocHost(&host, 4096), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuMemHostAlloc(&host, 4096, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuMemHostAlloc(&host, 0, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuMemHostAlloc(&host, 4096, ~0u), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuMemFreeHost(nullptr), CUDA_SUCCESS);
}

STATEMENT(HostMemory, Null_is_freed, driver().cuMemFreeHost(nullptr), CUDA_SUCCESS)
STATEMENT(HostMemory, An_interior_address_is_not_freed,
          driver().cuMemFreeHost(static_cast<char *>(pinned()) + 64), CUDA_ERROR_INVALID_VALUE)
STATEMENT(HostMemory, The_stack_is_not_freed, driver().cuMemFreeHost(&size), CUDA_ERROR_INVALID_VALUE)
STATEMENT(HostMemory, Device_memory_is_not_freed, driver().cuMemFreeHost(reinterpret_cast<void *>(memory())),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(HostMemory, Registered_memory_is_not_freed, driver().cuMemFreeHost(registered()),
          CUDA_ERROR_INVALID_VALUE)

STATEMENT(HostMemory, Of_an_interior_address_has_a_device_address,
          driver().cuMemHostGetDevicePointer(&pointer, static_cast<char *>(nullptr), 0),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(HostMemory, An_interior_address_has_its_device_address) {
  CUdeviceptr at = 0;
  char *const base = static_cast<char *>(pinned());
  EXPECT_ANSWER(driver().cuMemHostGetDevicePointer(&at, base + 100, 0), CUDA_SUCCESS);
  EXPECT_VALUE(at == address_of(base + 100), true);
}
TEST_F(HostMemory, A_device_address_needs_flags_of_0) {
  CUdeviceptr at = 0;
  EXPECT_ANSWER(driver().cuMemHostGetDevicePointer(&at, pinned(), 1), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(HostMemory, Pageable_memory_has_no_device_address) {
  CUdeviceptr at = 0;
  EXPECT_ANSWER(driver().cuMemHostGetDevicePointer(&at, &size, 0), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(HostMemory, The_device_address_of_pageable_memory_is_set_to_zero) {
  CUdeviceptr at = 1;
  EXPECT_ANSWER(driver().cuMemHostGetDevicePointer(&at, &size, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(at == 0, true);
}
TEST_F(HostMemory, Is_freed_without_a_context) {
  void *made = nullptr;
  NEED(driver().cuMemHostAlloc(&made, 64, 0));
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemFreeHost(made), CUDA_SUCCESS);
}
STATEMENT(HostMemory, A_device_address_needs_a_place,
          driver().cuMemHostGetDevicePointer(nullptr, pinned(), 0), CUDA_ERROR_INVALID_VALUE)
STATEMENT(HostMemory, Flags_need_a_place, driver().cuMemHostGetFlags(nullptr, pinned()),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(HostMemory, Flags_need_an_address, driver().cuMemHostGetFlags(&flags, nullptr),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(HostMemory, Pageable_memory_has_no_flags, driver().cuMemHostGetFlags(&flags, &size),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(HostMemory, Registered_memory_has_flags, driver().cuMemHostGetFlags(&flags, registered()),
          CUDA_SUCCESS)
STATEMENT(HostMemory, An_interior_address_has_flags,
          driver().cuMemHostGetFlags(&flags, static_cast<char *>(pinned()) + 5), CUDA_SUCCESS)

TEST_F(HostMemory, By_wrappers_tells_its_flags) {
  auto buffer = cushim::PinnedBuffer<int>::create(4, cushim::PinnedFlags::portable);
  EXPECT_VALUE(static_cast<unsigned>(buffer.flags()),
               unsigned{CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP});
  EXPECT_VALUE(buffer.device_span().data().address() == address_of(buffer.data()), true);
}

}  // namespace
}  // namespace conformance
