// SPDX-License-Identifier: Apache-2.0
// Multicast objects. The expected answers follow the documentation: none has been recorded.
#include <unistd.h>

#include "virtual_memory.hpp"

#if CUDA_VERSION >= 12010

namespace conformance {
namespace {

class MulticastObjects : public WithVirtualMemory {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(WithVirtualMemory::SetUp());
    if (IsSkipped()) return;
    // A multicast object can put the GPUs of a machine that others share out of service.
    if (::access("/dev/nvidiactl", F_OK) == 0) GTEST_SKIP() << "not run on a machine with a GPU";
    NEED(driver().cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0));
    if (number == 0) GTEST_SKIP() << "the device has no multicast objects";
  }

 public:
  CUmulticastObjectProp properties{.numDevices = 1, .size = kGranule, .handleTypes = 0, .flags = 0};
  std::size_t granularity = 0;
  // Returns an object of two granules for a team of device 0 alone.
  Handle object() {
    properties.size = 2 * kGranule;
    Handle made = 0;
    NEED(driver().cuMulticastCreate(&made, &properties));
    own(made);
    return made;
  }
  Handle complete() {
    const Handle made = object();
    NEED(driver().cuMulticastAddDevice(made, 0));
    return made;
  }
};

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
