// SPDX-License-Identifier: Apache-2.0
// Multicast objects of one process. The expected answers follow the documentation: none has been recorded.
#include "multicast.hpp"
#include "support/structures.hpp"

#if CUDA_VERSION >= 12010

namespace conformance {
namespace {

constexpr auto kMinimum = CU_MULTICAST_GRANULARITY_MINIMUM;

STATEMENT(MulticastObjects, Are_created, driver().cuMulticastCreate(&handle_out, &properties), CUDA_SUCCESS)
STATEMENT(MulticastObjects, Creating_needs_a_place, driver().cuMulticastCreate(nullptr, &properties),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(MulticastObjects, Creating_needs_properties, driver().cuMulticastCreate(&handle_out, nullptr),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(MulticastObjects, Of_no_device_are_refused) {
  properties.numDevices = 0;
  EXPECT_ANSWER(driver().cuMulticastCreate(&handle_out, &properties), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(MulticastObjects, Of_a_byte_are_refused) {
  properties.size = 1;
  EXPECT_ANSWER(driver().cuMulticastCreate(&handle_out, &properties), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(MulticastObjects, With_flags_are_refused) {
  properties.flags = 1;
  EXPECT_ANSWER(driver().cuMulticastCreate(&handle_out, &properties), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(MulticastObjects, Have_a_granularity) {
  EXPECT_ANSWER(driver().cuMulticastGetGranularity(&granularity, &properties, kMinimum), CUDA_SUCCESS);
  RECORD_VALUE(granularity);
}
STATEMENT(MulticastObjects, The_granularity_needs_a_place,
          driver().cuMulticastGetGranularity(nullptr, &properties, kMinimum), CUDA_ERROR_INVALID_VALUE)
STATEMENT(MulticastObjects, The_granularity_of_an_unknown_kind,
          driver().cuMulticastGetGranularity(&granularity, &properties,
                                             static_cast<CUmulticastGranularity_flags>(2)),
          CUDA_ERROR_INVALID_VALUE)

// ---- Devices and memory ----

STATEMENT(MulticastObjects, A_device_is_added, driver().cuMulticastAddDevice(object(), 0), CUDA_SUCCESS)
STATEMENT(MulticastObjects, Device_99_is_not_added, driver().cuMulticastAddDevice(object(), 99),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(MulticastObjects, A_device_is_not_added_to_physical_memory,
          driver().cuMulticastAddDevice(physical(), 0), CUDA_ERROR_INVALID_VALUE)
STATEMENT(MulticastObjects, Memory_is_bound,
          driver().cuMulticastBindMem(complete(), kGranule, physical(), 0, kGranule, 0), CUDA_SUCCESS)
STATEMENT(MulticastObjects, Memory_is_not_bound_with_flags,
          driver().cuMulticastBindMem(complete(), 0, physical(), 0, kGranule, 1), CUDA_ERROR_INVALID_VALUE)
STATEMENT(MulticastObjects, Memory_is_not_bound_beyond_the_object,
          driver().cuMulticastBindMem(complete(), 2 * kGranule, physical(), 0, kGranule, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(MulticastObjects, More_than_the_memory_is_not_bound,
          driver().cuMulticastBindMem(complete(), 0, physical(), 0, 2 * kGranule, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(MulticastObjects, A_byte_is_not_bound,
          driver().cuMulticastBindMem(complete(), 0, physical(), 0, 1, 0), CUDA_ERROR_INVALID_VALUE)
TEST_F(MulticastObjects, Memory_is_bound_by_its_address) {
  EXPECT_ANSWER(driver().cuMulticastBindAddr(complete(), 0, accessible(), kGranule, 0), CUDA_SUCCESS);
}
STATEMENT(MulticastObjects, Memory_of_cuMemAlloc_is_not_bound_by_its_address,
          driver().cuMulticastBindAddr(complete(), 0, memory(kGranule), kGranule, 0),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(MulticastObjects, Memory_is_unbound) {
  const Handle handle = complete();
  NEED(driver().cuMulticastBindMem(handle, 0, physical(), 0, kGranule, 0));
  EXPECT_ANSWER(driver().cuMulticastUnbind(handle, 0, 0, kGranule), CUDA_SUCCESS);
}
TEST_F(MulticastObjects, That_cannot_be_exported_are_not) {
  int file = -1;
  EXPECT_ANSWER(driver().cuMemExportToShareableHandle(&file, complete(), handle_type(kFileDescriptor), 0),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(MulticastObjects, Take_rows_and_slices) {
  const Handle handle = complete(), memory = physical(2 * kGranule);
  NEED(driver().cuMulticastBindMem(handle, 0, memory, 0, 2 * kGranule, 0));
  const CUdeviceptr own = grant(map(range(2 * kGranule), 2 * kGranule, memory), 2 * kGranule);
  const CUdeviceptr at = grant(map(range(2 * kGranule), 2 * kGranule, handle), 2 * kGranule);
  const std::vector<unsigned char> bytes{1, 2, 3, 4, 5, 6, 7, 8};
  put_device(own, std::vector<unsigned char>(8, 0));
  CUDA_MEMCPY3D copy = cushim::test::copy_of_box(at, bytes.data(), 1, 2, 2);
  copy.srcPitch = copy.srcHeight = 2;
  copy.dstPitch = copy.dstHeight = 2;
  EXPECT_ANSWER(driver().cuMemcpy3D(&copy), CUDA_SUCCESS);
  EXPECT_VALUE(take_device(own, 8) == (std::vector<unsigned char>{1, 0, 3, 0, 5, 0, 7, 0}), true);
  EXPECT_ANSWER(driver().cuMemsetD2D8(at, 4, 9, 2, 2), CUDA_SUCCESS);
  EXPECT_VALUE(take_device(own, 8) == (std::vector<unsigned char>{9, 9, 3, 0, 9, 9, 7, 0}), true);
}
TEST_F(MulticastObjects, Memory_of_a_pool_is_bound_by_its_address) {
  CUdeviceptr memory = 0;
  NEED(driver().cuMemAllocAsync(&memory, 2 * kGranule, stream()));
  EXPECT_ANSWER(driver().cuMulticastBindAddr(complete(), 0, memory, 2 * kGranule, 0), CUDA_SUCCESS);
  NEED(driver().cuMemFree(memory));
}
TEST_F(MulticastObjects, Are_mapped_and_given_access) {
  const Handle handle = complete();
  NEED(driver().cuMulticastBindMem(handle, 0, physical(2 * kGranule), 0, 2 * kGranule, 0));
  const CUdeviceptr at = range(2 * kGranule);
  EXPECT_ANSWER(driver().cuMemMap(at, 2 * kGranule, 0, handle, 0), CUDA_SUCCESS);
  const CUmemAccessDesc wanted = access();
  EXPECT_ANSWER(driver().cuMemSetAccess(at, 2 * kGranule, &wanted, 1), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemUnmap(at, 2 * kGranule), CUDA_SUCCESS);
}

}  // namespace
}  // namespace conformance

#endif
