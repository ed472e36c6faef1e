// SPDX-License-Identifier: Apache-2.0
#include <cushim/memory.hpp>

#include "conformance.hpp"

namespace conformance {
namespace {

class DeviceMemory : public OnDevice {
 public:
  std::size_t pitch = 0;
};

// ---- Allocating ----

STATEMENT(DeviceMemory, Is_allocated, driver().cuMemAlloc(&pointer, 4096), CUDA_SUCCESS)
STATEMENT(DeviceMemory, One_byte_is_allocated, driver().cuMemAlloc(&pointer, 1), CUDA_SUCCESS)
STATEMENT(DeviceMemory, No_bytes_are_refused, driver().cuMemAlloc(&pointer, 0), CUDA_ERROR_INVALID_VALUE)
STATEMENT(DeviceMemory, Allocating_needs_a_place, driver().cuMemAlloc(nullptr, 4096),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(DeviceMemory, No_bytes_and_no_place_are_refused, driver().cuMemAlloc(nullptr, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(DeviceMemory, Sixteen_tebibytes_are_not_there, driver().cuMemAlloc(&pointer, std::size_t{1} << 44),
          CUDA_ERROR_OUT_OF_MEMORY)
STATEMENT(DeviceMemory, All_bytes_there_can_be_are_not_there, driver().cuMemAlloc(&pointer, ~std::size_t{0}),
          CUDA_ERROR_OUT_OF_MEMORY)
TEST_F(DeviceMemory, Without_a_context_is_not_allocated) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemAlloc(&pointer, 4096), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuMemAlloc(&pointer, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuMemAlloc(nullptr, 4096), CUDA_ERROR_INVALID_CONTEXT);
}
TEST_F(DeviceMemory, Is_aligned_to_256_bytes) {
  for (std::size_t bytes : {1, 3, 100, 5000}) EXPECT_VALUE(memory(bytes) % 256, CUdeviceptr{0});
}
TEST_F(DeviceMemory, Refused_leaves_the_place_as_null) {
  pointer = 0;
  EXPECT_ANSWER(driver().cuMemAlloc(&pointer, std::size_t{1} << 44), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_VALUE(pointer == 0, true);
}
TEST_F(DeviceMemory, Is_different_each_time) { EXPECT_VALUE(memory() != memory(), true); }

// ---- Freeing ----

STATEMENT(DeviceMemory, Null_is_freed, driver().cuMemFree(0), CUDA_SUCCESS)
STATEMENT(DeviceMemory, An_interior_address_is_not_freed, driver().cuMemFree(memory() + 256),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(DeviceMemory, An_address_of_the_stack_is_not_freed, driver().cuMemFree(address_of(&pitch)),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(DeviceMemory, An_address_of_registered_memory_is_not_freed,
          driver().cuMemFree(address_of(registered())), CUDA_ERROR_INVALID_VALUE)
TEST_F(DeviceMemory, Null_without_a_context) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemFree(0), CUDA_SUCCESS);
}
TEST_F(DeviceMemory, Is_freed_without_a_context) {
  const CUdeviceptr made = own_memory(64);
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemFree(made), CUDA_SUCCESS);
}
TEST_F(DeviceMemory, Is_freed_in_another_context) {
  const CUdeviceptr made = own_memory(64);
  NEED(driver().cuCtxPushCurrent(other_context()));
  EXPECT_ANSWER(driver().cuMemFree(made), CUDA_SUCCESS);
  NEED(driver().cuCtxPopCurrent(&context_out));
}
TEST_F(DeviceMemory, Pinned_host_memory_is_not_freed_as_device_memory) {
  EXPECT_ANSWER(driver().cuMemFree(address_of(pinned())), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(DeviceMemory, Pinned_host_memory_without_flags_is_not_freed_as_device_memory) {
  NEED(driver().cuMemAllocHost(&host, 4096));
  EXPECT_ANSWER(driver().cuMemFree(address_of(host)), CUDA_ERROR_INVALID_VALUE);
}
[[maybe_unused]] const bool pinned_added = [] {
  for (unsigned flags = 0; flags < 8; ++flags)
    ADD_TEST(DeviceMemory,
             "Pinned_host_memory_with_flags_" + std::to_string(flags) + "_is_not_freed_by_its_device_address",
             [flags](DeviceMemory &t) {
               NEED(driver().cuMemHostAlloc(&t.host, 4096, flags));
               CUdeviceptr at = 0;
               NEED(driver().cuMemHostGetDevicePointer(&at, t.host, 0));
               EXPECT_VALUE(at == address_of(t.host), true);
               EXPECT_ANSWER(driver().cuMemFree(at), CUDA_ERROR_INVALID_VALUE);
             });
  return true;
}();
TEST_F(DeviceMemory, Pinned_host_memory_is_not_freed_in_another_context) {
  const CUdeviceptr at = address_of(pinned());
  NEED(driver().cuCtxPushCurrent(other_context()));
  EXPECT_ANSWER(driver().cuMemFree(at), CUDA_ERROR_INVALID_VALUE);
  NEED(driver().cuCtxPopCurrent(&context_out));
}
TEST_F(DeviceMemory, Pinned_host_memory_is_not_freed_without_a_context) {
  const CUdeviceptr at = address_of(pinned());
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemFree(at), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(DeviceMemory, An_interior_address_of_pinned_memory_is_not_freed) {
  EXPECT_ANSWER(driver().cuMemFree(address_of(pinned()) + 256), CUDA_ERROR_INVALID_VALUE);
}

// ---- Rows ----

struct Rows {
  const char *name;
  std::size_t width, count;
  unsigned element;
  CUresult code;
};
[[maybe_unused]] const bool rows_added = [] {
  for (const Rows &rows : {Rows{"Rows_are_allocated", 100, 3, 4, CUDA_SUCCESS},
                           {"Rows_of_elements_of_8", 100, 3, 8, CUDA_SUCCESS},
                           {"Rows_of_elements_of_16", 100, 3, 16, CUDA_SUCCESS},
                           {"Rows_of_elements_of_1", 100, 3, 1, CUDA_ERROR_INVALID_VALUE},
                           {"Rows_of_elements_of_2", 100, 3, 2, CUDA_ERROR_INVALID_VALUE},
                           {"Rows_of_elements_of_0", 100, 3, 0, CUDA_ERROR_INVALID_VALUE},
                           {"Rows_of_elements_of_32", 100, 3, 32, CUDA_ERROR_INVALID_VALUE},
                           {"Rows_of_no_width", 0, 3, 4, CUDA_ERROR_INVALID_VALUE},
                           {"No_rows", 100, 0, 4, CUDA_ERROR_INVALID_VALUE}})
    ADD_TEST(DeviceMemory, rows.name, [rows](DeviceMemory &t) {
      expect_answer(__FILE__, __LINE__,
                    "cuMemAllocPitch(&pointer, &pitch, " + std::to_string(rows.width) + ", " +
                        std::to_string(rows.count) + ", " + std::to_string(rows.element) + ")",
                    driver().cuMemAllocPitch(&t.pointer, &t.pitch, rows.width, rows.count, rows.element),
                    rows.code);
    });
  return true;
}();
STATEMENT(DeviceMemory, Rows_need_a_place, driver().cuMemAllocPitch(nullptr, &pitch, 100, 3, 4),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(DeviceMemory, Rows_need_a_place_for_the_pitch,
          driver().cuMemAllocPitch(&pointer, nullptr, 100, 3, 4), CUDA_ERROR_INVALID_VALUE)
STATEMENT(DeviceMemory, Too_many_rows_are_not_there,
          driver().cuMemAllocPitch(&pointer, &pitch, 1 << 20, std::size_t{1} << 30, 4),
          CUDA_ERROR_OUT_OF_MEMORY)
TEST_F(DeviceMemory, The_pitch_of_rows_is_a_multiple_of_512) {
  NEED(driver().cuMemAllocPitch(&pointer, &pitch, 100, 3, 4));
  EXPECT_VALUE(pitch, std::size_t{512});
}
TEST_F(DeviceMemory, The_pitch_of_wide_rows_is_rounded_up) {
  NEED(driver().cuMemAllocPitch(&pointer, &pitch, 513, 3, 4));
  EXPECT_VALUE(pitch, std::size_t{1024});
}

// ---- Querying ----

STATEMENT(DeviceMemory, The_free_and_total_amounts_are_told, driver().cuMemGetInfo(&size, &pitch),
          CUDA_SUCCESS)
STATEMENT(DeviceMemory, The_amounts_may_be_asked_without_the_free_one, driver().cuMemGetInfo(nullptr, &pitch),
          CUDA_SUCCESS)
STATEMENT(DeviceMemory, The_amounts_may_be_asked_without_the_total, driver().cuMemGetInfo(&size, nullptr),
          CUDA_SUCCESS)
TEST_F(DeviceMemory, The_amounts_need_a_context) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemGetInfo(&size, &pitch), CUDA_ERROR_INVALID_CONTEXT);
}
TEST_F(DeviceMemory, No_more_is_free_than_there_is) {
  NEED(driver().cuMemGetInfo(&size, &pitch));
  EXPECT_VALUE(size <= pitch, true);
}
TEST_F(DeviceMemory, The_range_of_an_address_is_its_allocation) {
  const CUdeviceptr base = memory(5000);
  CUdeviceptr start = 0;
  EXPECT_ANSWER(driver().cuMemGetAddressRange(&start, &size, base + 4999), CUDA_SUCCESS);
  EXPECT_VALUE(start == base, true);
  EXPECT_VALUE(size, std::size_t{5000});
}
TEST_F(DeviceMemory, The_range_of_pinned_memory_is_its_allocation) {
  CUdeviceptr start = 0;
  const CUdeviceptr base = address_of(pinned(5000));
  EXPECT_ANSWER(driver().cuMemGetAddressRange(&start, &size, base + 10), CUDA_SUCCESS);
  EXPECT_VALUE(start == base, true);
  EXPECT_VALUE(size, std::size_t{5000});
}
TEST_F(DeviceMemory, One_past_the_end_is_in_no_range) {
  CUdeviceptr start = 0;
  const CUdeviceptr base = memory(512);
  // The next allocation of the same block begins at another address, or this is the last one.
  EXPECT_VALUE(driver().cuMemGetAddressRange(&start, &size, base + 512) != CUDA_SUCCESS || start != base,
               true);
}
STATEMENT(DeviceMemory, The_range_may_go_without_the_start,
          driver().cuMemGetAddressRange(nullptr, &size, memory()), CUDA_SUCCESS)
TEST_F(DeviceMemory, The_range_may_go_without_the_size) {
  CUdeviceptr start = 0;
  EXPECT_ANSWER(driver().cuMemGetAddressRange(&start, nullptr, memory()), CUDA_SUCCESS);
}
STATEMENT(DeviceMemory, The_range_may_go_without_both,
          driver().cuMemGetAddressRange(nullptr, nullptr, memory()), CUDA_SUCCESS)
STATEMENT(DeviceMemory, Null_is_in_no_range, driver().cuMemGetAddressRange(nullptr, &size, 0),
          CUDA_ERROR_NOT_FOUND)
STATEMENT(DeviceMemory, The_stack_is_in_no_range,
          driver().cuMemGetAddressRange(nullptr, &size, address_of(&size)), CUDA_ERROR_NOT_FOUND)
TEST_F(DeviceMemory, The_range_of_what_is_in_none_is_set_to_zero) {
  CUdeviceptr start = 1;
  size = 1;
  EXPECT_ANSWER(driver().cuMemGetAddressRange(&start, &size, address_of(&size)), CUDA_ERROR_NOT_FOUND);
  EXPECT_VALUE(start == 0, true);
  EXPECT_VALUE(size == 0, true);
}
TEST_F(DeviceMemory, The_range_is_told_without_a_context) {
  const CUdeviceptr base = memory();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemGetAddressRange(nullptr, &size, base), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(DeviceMemory, By_wrappers_is_freed_once) {
  auto buffer = cushim::DeviceBuffer<int>::create(10);
  EXPECT_VALUE(buffer.is_empty(), false);
  buffer.close();
  EXPECT_VALUE(buffer.is_empty(), true);
}
TEST_F(DeviceMemory, By_wrappers_of_no_elements_is_none) {
  EXPECT_VALUE(cushim::DeviceBuffer<int>::create(0).is_empty(), true);
}

}  // namespace
}  // namespace conformance
