// SPDX-License-Identifier: Apache-2.0
#include <cushim/memory.hpp>

#include "managed.hpp"

namespace conformance {
namespace {

class ManagedMemory : public WithManagedMemory {};

STATEMENT(ManagedMemory, Is_allocated_for_all,
          driver().cuMemAllocManaged(&pointer, 4096, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS)
STATEMENT(ManagedMemory, Is_allocated_for_the_host,
          driver().cuMemAllocManaged(&pointer, 4096, CU_MEM_ATTACH_HOST), CUDA_SUCCESS)
STATEMENT(ManagedMemory, Is_not_allocated_for_one_stream,
          driver().cuMemAllocManaged(&pointer, 4096, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE)
STATEMENT(ManagedMemory, Flags_of_0_are_refused, driver().cuMemAllocManaged(&pointer, 4096, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(ManagedMemory, Flags_of_3_are_refused, driver().cuMemAllocManaged(&pointer, 4096, 3),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(ManagedMemory, All_flags_are_refused, driver().cuMemAllocManaged(&pointer, 4096, ~0u),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(ManagedMemory, No_bytes_are_refused, driver().cuMemAllocManaged(&pointer, 0, CU_MEM_ATTACH_GLOBAL),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(ManagedMemory, Allocating_needs_a_place,
          driver().cuMemAllocManaged(nullptr, 4096, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE)
TEST_F(ManagedMemory, Needs_a_context) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemAllocManaged(&pointer, 4096, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_CONTEXT);
}
TEST_F(ManagedMemory, Is_written_by_the_host_and_read_by_the_device) {
  const CUdeviceptr from = managed();
  *reinterpret_cast<int *>(from) = 42;
  int to = 0;
  EXPECT_ANSWER(driver().cuMemcpyDtoH(&to, from, sizeof to), CUDA_SUCCESS);
  EXPECT_VALUE(to, 42);
}

// ---- Advice, through both ABIs ----

const bool advice = [] {
  static constexpr int for_device[] = {1, 0, 0, 0, 0, 0, 0, 1};
  for (int advice = 0; advice < 8; ++advice) {
    const CUresult expected =
        static_cast<CUresult>(advice < static_cast<int>(std::size(for_device)) ? for_device[advice] : 0);
    ADD_TEST(ManagedMemory, "Is_given_the_advice_" + std::to_string(advice), [=](OnDevice &test) {
      expect_answer(__FILE__, __LINE__, "cuMemAdvise(managed, 4096, advice, device)",
                    driver().cuMemAdvise_v2(test.managed(), 4096, static_cast<CUmem_advise>(advice),
                                            location(CU_MEM_LOCATION_TYPE_DEVICE, 0)),
                    expected);
    });
    ADD_TEST(ManagedMemory, "Device_memory_is_given_the_advice_" + std::to_string(advice),
             [=](OnDevice &test) {
               expect_answer(__FILE__, __LINE__, "cuMemAdvise(device, 4096, advice, device)",
                             driver().cuMemAdvise_v2(test.memory(), 4096, static_cast<CUmem_advise>(advice),
                                                     location(CU_MEM_LOCATION_TYPE_DEVICE, 0)),
                             CUDA_ERROR_INVALID_VALUE);
             });
  }
  return true;
}();

const CUmemLocation on_device = location(CU_MEM_LOCATION_TYPE_DEVICE, 0);
const CUmemLocation on_host = location(CU_MEM_LOCATION_TYPE_HOST, 0);
const CUmemLocation on_no_device = location(CU_MEM_LOCATION_TYPE_DEVICE, 99);
STATEMENT(ManagedMemory, Is_brought_to_the_device,
          driver().cuMemPrefetchAsync_v2(managed(), 4096, on_device, 0, stream()), CUDA_SUCCESS)
STATEMENT(ManagedMemory, Is_brought_to_the_host,
          driver().cuMemPrefetchAsync_v2(managed(), 4096, on_host, 0, stream()), CUDA_SUCCESS)
STATEMENT(ManagedMemory, Is_not_brought_to_a_device_that_is_not_there,
          driver().cuMemPrefetchAsync_v2(managed(), 4096, on_no_device, 0, stream()),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(ManagedMemory, Is_not_brought_with_flags,
          driver().cuMemPrefetchAsync_v2(managed(), 4096, on_device, 1, stream()), CUDA_ERROR_INVALID_VALUE)
STATEMENT(ManagedMemory, Nothing_is_brought_nowhere,
          driver().cuMemPrefetchAsync_v2(managed(), 0, on_device, 0, stream()), CUDA_ERROR_INVALID_VALUE)
STATEMENT(ManagedMemory, Null_is_not_brought, driver().cuMemPrefetchAsync_v2(0, 4096, on_device, 0, stream()),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(ManagedMemory, Device_memory_is_not_brought,
          driver().cuMemPrefetchAsync_v2(memory(), 4096, on_device, 0, stream()), CUDA_ERROR_INVALID_VALUE)
STATEMENT(ManagedMemory, Pinned_memory_is_not_brought,
          driver().cuMemPrefetchAsync_v2(address_of(pinned()), 4096, on_device, 0, stream()),
          CUDA_ERROR_INVALID_VALUE)

// ---- Attributes of ranges ----

struct RangeAttribute {
  const char *name;
  CUmem_range_attribute attribute;
};
const RangeAttribute range_attributes[] = {
    {"read_mostly", CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY},
    {"preferred_location", CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION},
    {"accessed_by", CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY},
    {"last_prefetch_location", CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION},
};
const bool ranges = [] {
  for (const RangeAttribute &attribute : range_attributes) {
    const std::string name = attribute.name;
    ADD_TEST(ManagedMemory, "Has_a_range_attribute_" + name, [attribute](OnDevice &test) {
      int value = 77;
      EXPECT_ANSWER(driver().cuMemRangeGetAttribute(&value, 4, attribute.attribute, test.managed(), 4096),
                    CUDA_SUCCESS);
      RECORD_VALUE(value);
    });
    ADD_TEST(ManagedMemory, "Of_the_device_has_no_range_attribute_" + name, [attribute](OnDevice &test) {
      int value = 77;
      EXPECT_ANSWER(driver().cuMemRangeGetAttribute(&value, 4, attribute.attribute, test.memory(), 4096),
                    CUDA_ERROR_INVALID_VALUE);
    });
    ADD_TEST(ManagedMemory, "Needs_a_place_for_a_range_attribute_" + name, [attribute](OnDevice &test) {
      EXPECT_ANSWER(driver().cuMemRangeGetAttribute(nullptr, 4, attribute.attribute, test.managed(), 4096),
                    CUDA_ERROR_INVALID_VALUE);
    });
    ADD_TEST(ManagedMemory, "Of_no_bytes_has_no_range_attribute_" + name, [attribute](OnDevice &test) {
      int value = 77;
      EXPECT_ANSWER(driver().cuMemRangeGetAttribute(&value, 4, attribute.attribute, test.managed(), 0),
                    CUDA_ERROR_INVALID_VALUE);
    });
    ADD_TEST(ManagedMemory, "Needs_four_bytes_for_a_range_attribute_" + name, [attribute](OnDevice &test) {
      int value = 77;
      EXPECT_ANSWER(driver().cuMemRangeGetAttribute(&value, 3, attribute.attribute, test.managed(), 4096),
                    CUDA_ERROR_INVALID_VALUE);
    });
  }
  return true;
}();

TEST_F(ManagedMemory, By_wrappers_has_one_address_for_both_sides) {
  auto buffer = cushim::ManagedBuffer<int>::create(4);
  buffer[0] = 3;
  EXPECT_VALUE(buffer.device_span().data().address() == address_of(buffer.data()), true);
}

}  // namespace
}  // namespace conformance
