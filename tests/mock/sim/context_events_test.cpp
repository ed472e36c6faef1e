// SPDX-License-Identifier: Apache-2.0
// Events of whole contexts in each schedule. tests/conformance has what a real driver answers.
#include "support/machine_fixture.hpp"

#if CUDA_VERSION >= 12050

namespace cushim::sim {
namespace {

class ContextEvents : public ::testing::TestWithParam<Schedule> {
 public:
  static CUgreenCtx green_context() {
    CUdevResource whole{};
    need(driver().cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
    CUdevResourceDesc descriptor = nullptr;
    need(driver().cuDevResourceGenerateDesc(&descriptor, &whole, 1));
    CUgreenCtx green = nullptr;
    need(driver().cuGreenCtxCreate(&green, descriptor, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    return green;
  }
  static CUstream stream_of(CUgreenCtx green) {
    CUstream made = nullptr;
    need(driver().cuGreenCtxStreamCreate(&made, green, CU_STREAM_NON_BLOCKING, 0));
    return made;
  }

  Running running{{.schedule = GetParam()}};
};

TEST_P(ContextEvents, Of_a_green_context_record_its_streams_only) {
  const CUgreenCtx green = green_context();
  const CUstream inside = stream_of(green), outside = running.stream();
  const CUevent of_inside = running.event(), of_all = running.event();
  CUcontext context = nullptr;
  need(driver().cuCtxGetCurrent(&context));
  Gate gate = running.machine.gate(outside);
  need(driver().cuMemsetD8Async(running.memory(), 1, 16, inside));
  need(driver().cuGreenCtxRecordEvent(green, of_inside));
  need(driver().cuCtxRecordEvent(context, of_all));
  need(driver().cuEventSynchronize(of_inside));
  EXPECT_EQ(driver().cuEventQuery(of_all), CUDA_ERROR_NOT_READY);
  gate.open();
  need(driver().cuEventSynchronize(of_all));
}

TEST_P(ContextEvents, Are_waited_for_by_the_streams_of_a_green_context_only) {
  const CUgreenCtx green = green_context();
  const CUstream held = running.stream(), inside = stream_of(green), outside = running.stream();
  const CUevent event = running.event();
  const CUdeviceptr memory = running.memory();
  Gate gate = running.machine.gate(held);
  need(driver().cuEventRecord(event, held));
  need(driver().cuGreenCtxWaitEvent(green, event));
  need(driver().cuMemsetD8Async(memory, 1, 16, inside));
  need(driver().cuMemsetD8Async(memory + 16, 1, 16, outside));
  need(driver().cuStreamSynchronize(outside));
  EXPECT_EQ(driver().cuStreamQuery(inside), CUDA_ERROR_NOT_READY);
  gate.open();
  need(driver().cuStreamSynchronize(inside));
}

TEST_P(ContextEvents, Include_work_of_destroyed_streams) {
  const CUstream ended = running.stream();
  const CUevent event = running.event();
  CUcontext context = nullptr;
  need(driver().cuCtxGetCurrent(&context));
  Gate gate = running.machine.gate(ended);
  need(driver().cuStreamDestroy(ended));
  need(driver().cuCtxRecordEvent(context, event));
  EXPECT_EQ(driver().cuEventQuery(event), CUDA_ERROR_NOT_READY);
  gate.open();
  need(driver().cuEventSynchronize(event));
}

INSTANTIATE_TEST_SUITE_P(In, ContextEvents,
                         ::testing::Values(Schedule::eager, Schedule::deferred, Schedule::background));

}  // namespace
}  // namespace cushim::sim

#endif
