// SPDX-License-Identifier: Apache-2.0
// Memory of one device while the other is current.
#include "two_devices.hpp"

namespace conformance {
namespace {

class MemoryOfTwoDevices : public OnTwoDevices {
 public:
  int attribute_of(CUdeviceptr at, CUpointer_attribute which) {
    int value = -77;
    NEED(driver().cuPointerGetAttribute(&value, which, at));
    return value;
  }
  int device_of(CUdeviceptr at) { return attribute_of(at, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL); }
};

// ---- Attributes ----

TEST_F(MemoryOfTwoDevices, Is_of_the_device_that_was_current) {
  EXPECT_VALUE(device_of(memory()), 0);
  EXPECT_VALUE(device_of(memory_there()), 1);
}
TEST_F(MemoryOfTwoDevices, Pinned_is_of_the_device_that_was_current) {
  EXPECT_VALUE(device_of(address_of(pinned())), 0);
  EXPECT_VALUE(device_of(pinned_there()), 1);
}
TEST_F(MemoryOfTwoDevices, Registered_is_of_the_device_that_was_current) {
  EXPECT_VALUE(device_of(address_of(registered())), 0);
  EXPECT_VALUE(device_of(on_other([this] { return address_of(registered()); })), 1);
}
TEST_F(MemoryOfTwoDevices, Managed_is_of_the_device_that_was_current) {
  EXPECT_VALUE(device_of(managed()), 0);
  EXPECT_VALUE(device_of(managed_there()), 1);
}
TEST_F(MemoryOfTwoDevices, Names_its_context) {
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&context_out, CU_POINTER_ATTRIBUTE_CONTEXT, memory_there()),
                CUDA_SUCCESS);
  EXPECT_VALUE(context_out == there, true);
}
TEST_F(MemoryOfTwoDevices, Is_device_memory_for_here_too) {
  EXPECT_VALUE(attribute_of(memory_there(), CU_POINTER_ATTRIBUTE_MEMORY_TYPE), int{CU_MEMORYTYPE_DEVICE});
  EXPECT_VALUE(attribute_of(memory_there(), CU_POINTER_ATTRIBUTE_IS_MANAGED), 0);
}
TEST_F(MemoryOfTwoDevices, Has_no_address_for_the_device_that_does_not_reach_it) {
  CUdeviceptr found = 0;
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, memory_there()),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(MemoryOfTwoDevices, Answers_a_list_of_questions_from_here) {
  int device = -77;
  CUcontext of = nullptr;
  CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_CONTEXT};
  void *values[] = {&device, &of};
  EXPECT_ANSWER(driver().cuPointerGetAttributes(2, which, values, memory_there()), CUDA_SUCCESS);
  EXPECT_VALUE(device, 1);
  EXPECT_VALUE(of == there, true);
}
TEST_F(MemoryOfTwoDevices, Tells_its_range_there_alone) {
  const CUdeviceptr at = memory_there(5000);
  CUdeviceptr base = 0;
  EXPECT_ANSWER(driver().cuMemGetAddressRange(&base, &size, at + 100), CUDA_ERROR_NOT_FOUND);
  EXPECT_ANSWER(on_other([&] { return driver().cuMemGetAddressRange(&base, &size, at + 100); }),
                CUDA_SUCCESS);
  EXPECT_VALUE(base == at, true);
  EXPECT_VALUE(size, std::size_t{5000});
}
STATEMENT(MemoryOfTwoDevices, Is_told_to_synchronize_from_here,
          (number = 1,
           driver().cuPointerSetAttribute(&number, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory_there())),
          CUDA_SUCCESS)
TEST_F(MemoryOfTwoDevices, Has_addresses_that_the_other_has_not) {
  constexpr std::size_t bytes = 8 << 20;
  const CUdeviceptr here = memory(bytes), other = memory_there(bytes);
  EXPECT_VALUE(here + bytes <= other || other + bytes <= here, true);
}

// ---- Freeing ----

TEST_F(MemoryOfTwoDevices, Is_freed_from_here) {
  const CUdeviceptr at = on_other([] { return own_memory(); });
  EXPECT_ANSWER(driver().cuMemFree(at), CUDA_SUCCESS);
}
TEST_F(MemoryOfTwoDevices, Is_freed_without_a_context) {
  const CUdeviceptr at = own_memory();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemFree(at), CUDA_SUCCESS);
}
TEST_F(MemoryOfTwoDevices, Pinned_is_freed_from_here) {
  void *at = nullptr;
  on_other([&] { NEED(driver().cuMemHostAlloc(&at, 4096, 0)); });
  EXPECT_ANSWER(driver().cuMemFreeHost(at), CUDA_SUCCESS);
}
TEST_F(MemoryOfTwoDevices, Registered_is_registered_once_for_both) {
  void *const pages = registered();
  EXPECT_ANSWER(on_other([&] { return driver().cuMemHostRegister(pages, 4096, 0); }),
                CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
}

// ---- Host memory of one device for the other ----

TEST_F(MemoryOfTwoDevices, Pinned_has_one_address_for_both) {
  void *const at = pinned();
  CUdeviceptr found = 0;
  EXPECT_ANSWER(on_other([&] { return driver().cuMemHostGetDevicePointer(&found, at, 0); }), CUDA_SUCCESS);
  EXPECT_VALUE(found == address_of(at), true);
}
TEST_F(MemoryOfTwoDevices, Pinned_tells_its_flags_to_both) {
  void *const at = pinned();
  EXPECT_ANSWER(driver().cuMemHostGetFlags(&flags, at), CUDA_SUCCESS);
  RECORD_VALUE(flags);
  unsigned flags_there = 0;
  EXPECT_ANSWER(on_other([&] { return driver().cuMemHostGetFlags(&flags_there, at); }), CUDA_SUCCESS);
  EXPECT_VALUE(flags_there == flags, true);
}

// ---- Memsets, and copies from and to the host ----

// Copies reach memory of the other device, memsets do not.
STATEMENT(MemoryOfTwoDevices, Is_not_set_from_here, driver().cuMemsetD8(memory_there(), 7, 64),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(MemoryOfTwoDevices, Is_written_and_read_from_here) {
  const CUdeviceptr at = memory_there();
  const auto bytes = pattern(4096);
  std::vector<unsigned char> back(4096);
  EXPECT_ANSWER(driver().cuMemcpyHtoD(at, bytes.data(), bytes.size()), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemcpyDtoH(back.data(), at, back.size()), CUDA_SUCCESS);
  EXPECT_VALUE(back == bytes, true);
}
STATEMENT(MemoryOfTwoDevices, Is_not_written_beyond_its_end_from_here,
          driver().cuMemcpyHtoD(memory_there(4 << 20), pinned(8 << 20), 8 << 20), CUDA_ERROR_INVALID_VALUE)
STATEMENT(MemoryOfTwoDevices, Is_not_set_beyond_its_end_from_here,
          driver().cuMemsetD8(memory_there(4 << 20), 1, 8 << 20), CUDA_ERROR_INVALID_VALUE)

// ---- Managed memory ----

class ManagedMemoryOfTwoDevices : public MemoryOfTwoDevices {
 protected:
  void SetUp() override {
    CUSHIM_NEEDS(concurrent_managed);
    MemoryOfTwoDevices::SetUp();
  }

 public:
  CUmemLocation on_the_other() const {
    CUmemLocation made{};
    made.type = CU_MEM_LOCATION_TYPE_DEVICE;
    made.id = 1;
    return made;
  }
  int range_attribute(CUdeviceptr at, CUmem_range_attribute which) {
    int value = 77;
    NEED(driver().cuMemRangeGetAttribute(&value, sizeof value, which, at, 4096));
    return value;
  }
};
STATEMENT(ManagedMemoryOfTwoDevices, Is_brought_to_the_other_by_its_stream,
          driver().cuMemPrefetchAsync_v2(managed(), 4096, on_the_other(), 0, stream_there()), CUDA_SUCCESS)
STATEMENT(ManagedMemoryOfTwoDevices, Is_brought_to_the_other_by_a_stream_of_here,
          driver().cuMemPrefetchAsync_v2(managed(), 4096, on_the_other(), 0, stream()), CUDA_SUCCESS)
TEST_F(ManagedMemoryOfTwoDevices, Remembers_that_it_was_brought_to_the_other) {
  const CUdeviceptr at = managed();
  NEED(driver().cuMemPrefetchAsync_v2(at, 4096, on_the_other(), 0, stream_there()));
  EXPECT_VALUE(range_attribute(at, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), 1);
}
TEST_F(ManagedMemoryOfTwoDevices, Prefers_the_other) {
  const CUdeviceptr at = managed();
  EXPECT_ANSWER(driver().cuMemAdvise_v2(at, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, on_the_other()),
                CUDA_SUCCESS);
  EXPECT_VALUE(range_attribute(at, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), 1);
}
TEST_F(ManagedMemoryOfTwoDevices, Is_accessed_by_the_other) {
  const CUdeviceptr at = managed();
  EXPECT_ANSWER(driver().cuMemAdvise_v2(at, 4096, CU_MEM_ADVISE_SET_ACCESSED_BY, on_the_other()),
                CUDA_SUCCESS);
  EXPECT_VALUE(range_attribute(at, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY), 1);
}

}  // namespace
}  // namespace conformance
