// SPDX-License-Identifier: Apache-2.0
// Sticky errors.
#include "support/machine_fixture.hpp"

namespace cushim::sim {
namespace {

class LostDevice : public ::testing::TestWithParam<CUresult> {};
INSTANTIATE_TEST_SUITE_P(, LostDevice,
                         ::testing::Values(CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_FAILED));

TEST_P(LostDevice, Returns_its_fault_from_every_later_call_in_its_contexts) {
  Running running;
  const CUresult fault = GetParam();
  CUstream stream = running.stream();
  const CUevent event = running.event();
  CUdeviceptr memory = running.memory();
  int count = 0;
  running.machine.lose_device(0, fault);
  EXPECT_EQ(driver().cuCtxSynchronize(), fault);
  EXPECT_EQ(driver().cuStreamQuery(stream), fault);
  EXPECT_EQ(driver().cuEventQuery(event), fault);
  EXPECT_EQ(driver().cuEventRecord(event, stream), fault);
  EXPECT_EQ(driver().cuMemsetD32Async(memory, 1, 1, stream), fault);
  EXPECT_EQ(driver().cuMemFree(memory), fault);
  EXPECT_EQ(driver().cuMemAlloc(&memory, 4), fault);
  EXPECT_EQ(driver().cuEventDestroy(event), fault);
  EXPECT_EQ(driver().cuStreamDestroy(stream), fault);
  EXPECT_EQ(driver().cuStreamCreate(&stream, CU_STREAM_DEFAULT), fault);
  EXPECT_EQ(driver().cuDeviceGetCount(&count), CUDA_SUCCESS);
}

TEST_P(LostDevice, Is_revived_by_a_reset_of_its_primary_context_whose_handle_is_destroyed_then) {
  Running running;
  running.machine.lose_device(0, GetParam());
  CUcontext context = nullptr;
  EXPECT_EQ(driver().cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);  // as an H200 does
  EXPECT_EQ(driver().cuCtxSynchronize(), GetParam());
  EXPECT_EQ(driver().cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(driver().cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuCtxSetCurrent(context), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemsetD32(running.memory(), 1, 1), CUDA_SUCCESS);
}

TEST_P(LostDevice, Does_not_affect_other_devices_and_ends_waits_for_its_work) {
  Running running({.devices = "h200x2", .schedule = Schedule::deferred});
  const CUstream lost = running.stream();
  const CUevent event = running.event();
  CUcontext context = nullptr;
  need(driver().cuDevicePrimaryCtxRetain(&context, 1));
  need(driver().cuCtxSetCurrent(context));
  const CUstream other = running.stream();
  const Gate gate = running.machine.gate(lost);
  need(driver().cuEventRecord(event, lost));
  need(driver().cuStreamWaitEvent(other, event, 0));
  EXPECT_EQ(driver().cuStreamQuery(other), CUDA_ERROR_NOT_READY);
  running.machine.lose_device(0, GetParam());
  EXPECT_EQ(driver().cuStreamSynchronize(other), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamQuery(lost), GetParam());
}

TEST(LostDevices, Must_exist_in_the_machine) {
  Running running;
  EXPECT_THROW(running.machine.lose_device(1), std::out_of_range);
}

}  // namespace
}  // namespace cushim::sim
