// SPDX-License-Identifier: Apache-2.0
// Events that record the work of a whole context, and contexts that wait for an event.
#include "kernels.hpp"

#if CUDA_VERSION >= 12050

namespace conformance {
namespace {

using ContextEvents = OnDevice;

TEST_F(ContextEvents, Of_the_primary_context_are_recorded) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  NEED(driver().cuCtxGetCurrent(&context));
  const CUevent made = event();
  EXPECT_ANSWER(driver().cuCtxRecordEvent(context, made), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuEventSynchronize(made), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxWaitEvent(context, made), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxRecordEvent(nullptr, made), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuCtxWaitEvent(nullptr, made), CUDA_ERROR_INVALID_CONTEXT);
}
TEST_F(ContextEvents, Wait_for_each_stream) {
  const CUevent made = event();
  const CUstream work = stream();
  LimitedHold held(work);
  EXPECT_ANSWER(driver().cuCtxRecordEvent(context, made), CUDA_SUCCESS);
  expect_complete_after(held, made, "made");
}
TEST_F(ContextEvents, Leave_idle_streams_idle) {
  const CUevent made = event();
  const CUstream work = stream(), waiting = stream();
  LimitedHold held(work);
  NEED(driver().cuEventRecord(made, work));
  EXPECT_ANSWER(driver().cuCtxWaitEvent(context, made), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(waiting), CUDA_SUCCESS);
  const CUstream later = stream();
  RECORD_VALUE(static_cast<int>(driver().cuStreamQuery(later)));
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(waiting), CUDA_SUCCESS);
}
TEST_F(ContextEvents, Are_waited_for_by_later_work_of_each_stream) {
  const CUevent made = event();
  const CUstream work = stream(), waiting = stream();
  const CUdeviceptr set = memory();
  LimitedHold held(work);
  NEED(driver().cuEventRecord(made, work));
  EXPECT_ANSWER(driver().cuCtxWaitEvent(context, made), CUDA_SUCCESS);
  NEED(driver().cuMemsetD8Async(set, 1, 16, waiting));
  EXPECT_ANSWER(driver().cuStreamQuery(waiting), CUDA_ERROR_NOT_READY);
  const CUstream later = stream();
  NEED(driver().cuMemsetD8Async(set + 16, 1, 16, later));
  EXPECT_ANSWER(driver().cuStreamQuery(later), CUDA_ERROR_NOT_READY);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(waiting), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamSynchronize(later), CUDA_SUCCESS);
}
TEST_F(ContextEvents, That_are_null) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  NEED(driver().cuCtxGetCurrent(&context));
  EXPECT_ANSWER(driver().cuCtxRecordEvent(context, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ANSWER(driver().cuCtxWaitEvent(context, nullptr), CUDA_ERROR_INVALID_HANDLE);
}
TEST_F(ContextEvents, Of_another_context) {
  const CUevent made = in_other_context([&] { return event(); });
  EXPECT_ANSWER(driver().cuCtxRecordEvent(context, made), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ANSWER(driver().cuCtxWaitEvent(context, made), CUDA_SUCCESS);
}
TEST_F(ContextEvents, During_a_capture) {
  const CUevent made = event();
  const CUstream work = stream();
  NEED(driver().cuStreamBeginCapture(work, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_ANSWER(driver().cuCtxRecordEvent(context, made), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_ANSWER(driver().cuCtxWaitEvent(context, made), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph graph = nullptr;
  RECORD_VALUE(static_cast<int>(driver().cuStreamEndCapture(work, &graph)));
}
TEST_F(ContextEvents, Of_a_green_context) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  CUdevResource whole{};
  NEED(driver().cuDeviceGetDevResource(device, &whole, CU_DEV_RESOURCE_TYPE_SM));
  CUdevResourceDesc descriptor = nullptr;
  NEED(driver().cuDevResourceGenerateDesc(&descriptor, &whole, 1));
  CUgreenCtx green = nullptr;
  NEED(driver().cuGreenCtxCreate(&green, descriptor, device, CU_GREEN_CTX_DEFAULT_STREAM));
  const CUevent made = event();
  EXPECT_ANSWER(driver().cuGreenCtxRecordEvent(green, made), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuGreenCtxWaitEvent(green, made), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuEventSynchronize(made), CUDA_SUCCESS);
  CUcontext converted = nullptr;
  NEED(driver().cuCtxFromGreenCtx(&converted, green));
  EXPECT_ANSWER(driver().cuCtxRecordEvent(converted, made), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxWaitEvent(converted, made), CUDA_SUCCESS);
  CUevent of_green = nullptr;
  NEED(driver().cuCtxPushCurrent(converted));
  NEED(driver().cuEventCreate(&of_green, 0));
  EXPECT_ANSWER(driver().cuGreenCtxRecordEvent(green, of_green), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxRecordEvent(converted, of_green), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxWaitEvent(converted, of_green), CUDA_SUCCESS);
}

}  // namespace
}  // namespace conformance

#endif
