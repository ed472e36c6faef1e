// SPDX-License-Identifier: Apache-2.0
// The rules as hooks, independent of the driver below them.
#include <cushim/faults/faults.hpp>

#include "support/machine_fixture.hpp"

namespace cushim::mock {
namespace {

using sim::Running;

CUresult allocate() {
  CUdeviceptr memory = 0;
  return driver().cuMemAlloc(&memory, 4096);
}

TEST(FaultsOfAnyDriver, End_with_their_object) {
  const Running running;
  {
    const Faults faults(running.machine.driver(), parse_fault_rules("cuMemAlloc:2+=OUT_OF_MEMORY"));
    EXPECT_EQ(allocate(), CUDA_SUCCESS);
    EXPECT_EQ(allocate(), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(faults.injected().size(), 1U);
  }
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
}

TEST(FaultsOfAnyDriver, Have_the_call_stack_of_the_call) {
  const Running running;
  const Faults faults(running.machine.driver(), parse_fault_rules("cuMemAlloc:1=OUT_OF_MEMORY"));
  EXPECT_EQ(allocate(), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_EQ(faults.injected().size(), 1U);
  EXPECT_FALSE(faults.injected()[0].call_stack.frames().empty());
}

TEST(FaultsOfAnyDriver, Stick_to_their_context) {
  const Running running({.devices = "h200x2"});
  const Faults faults(running.machine.driver(), parse_fault_rules("cuMemAlloc:1=LAUNCH_FAILED"));
  EXPECT_EQ(allocate(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(allocate(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(faults.injected().size(), 1U);
  CUcontext lost = nullptr, other = nullptr;
  EXPECT_EQ(driver().cuCtxGetCurrent(&lost), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuDevicePrimaryCtxRetain(&other, 1), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuCtxSetCurrent(other), CUDA_SUCCESS);
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuCtxSetCurrent(lost), CUDA_SUCCESS);
  EXPECT_EQ(allocate(), CUDA_ERROR_LAUNCH_FAILED);
}

TEST(FaultsOfAnyDriver, Stick_until_the_primary_context_is_reset) {
  const Running running;
  const Faults faults(running.machine.driver(), parse_fault_rules("cuMemAlloc:1=LAUNCH_FAILED"));
  EXPECT_EQ(allocate(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(driver().cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
  EXPECT_EQ(allocate(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CUcontext context = nullptr;
  EXPECT_EQ(driver().cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuCtxSetCurrent(context), CUDA_SUCCESS);
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
}

TEST(FaultsOfAnyDriver, Are_returned_late) {
  const Running running;
  const Faults faults(running.machine.driver(), parse_fault_rules("cuEventRecord:1=ILLEGAL_ADDRESS,late"));
  const CUevent event = running.event();
  EXPECT_EQ(driver().cuEventRecord(event, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuEventQuery(event), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(allocate(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(faults.injected().at(0).returned_by, "cuEventQuery");
}

TEST(FaultsOfAnyDriver, Reject_rules_about_memory_and_devices) {
  const Running running;
  for (const char *rule : {"memory:1MiB", "device0:lost@call1"})
    EXPECT_THROW(Faults(running.machine.driver(), parse_fault_rules(rule)), std::invalid_argument) << rule;
}

}  // namespace
}  // namespace cushim::mock
