// SPDX-License-Identifier: Apache-2.0
// Captures of several streams: forks and joins.
#include <thread>

#include "capture.hpp"

#if CONFORMANCE_HAS_GRAPHS

namespace conformance {
namespace {

TEST_F(Captures, Fork_and_join) {
  const CUdeviceptr to = memory();
  const CUstream work = stream(), other = stream();
  const CUevent fork = event(), join = event();
  begin(work);
  NEED(driver().cuMemsetD8Async(to, 1, 1, work));
  NEED(driver().cuEventRecord(fork, work));
  EXPECT_ANSWER(driver().cuStreamWaitEvent(other, fork, 0), CUDA_SUCCESS);
  EXPECT_VALUE(status(other), kActive);
  NEED(driver().cuMemsetD8Async(to, 2, 1, other));
  NEED(driver().cuMemsetD8Async(to + 1, 3, 1, work));
  NEED(driver().cuEventRecord(join, other));
  EXPECT_ANSWER(driver().cuStreamWaitEvent(work, join, 0), CUDA_SUCCESS);
  NEED(driver().cuMemsetD8Async(to, 4, 1, work));
  const CUgraph g = end(work);
  EXPECT_VALUE(status(other), kNone);
  EXPECT_VALUE(node_count(g), std::size_t{4});
  EXPECT_VALUE(edge_count(g), std::size_t{4});
  EXPECT_ANSWER(run(executable(g)), CUDA_SUCCESS);
}
TEST_F(Captures, Go_on_after_a_joined_stream_is_destroyed) {
  const CUdeviceptr to = memory();
  const CUstream work = stream();
  CUstream other = nullptr;
  NEED(driver().cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  const CUevent join = event();
  begin_fork(work, other);
  NEED(driver().cuMemsetD8Async(to, 2, 1, other));
  NEED(driver().cuEventRecord(join, other));
  NEED(driver().cuStreamWaitEvent(work, join, 0));
  EXPECT_ANSWER(driver().cuStreamDestroy(other), CUDA_SUCCESS);
  EXPECT_VALUE(status(work), kActive);
  EXPECT_ANSWER(driver().cuMemsetD8Async(to, 4, 1, work), CUDA_SUCCESS);
  const CUgraph g = end(work);
  EXPECT_VALUE(node_count(g), std::size_t{2});
  EXPECT_ANSWER(run(executable(g)), CUDA_SUCCESS);
}
TEST_F(Captures, Without_a_join_are_invalid) {
  const CUdeviceptr to = memory();
  const CUstream work = stream(), other = stream();
  begin_fork(work, other);
  NEED(driver().cuMemsetD8Async(to, 2, 1, other));
  EXPECT_ANSWER(driver().cuStreamEndCapture(work, &graph_out), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_VALUE(graph_out == nullptr, true);
  EXPECT_VALUE(status(work), kNone);
  EXPECT_VALUE(status(other), kNone);
}
TEST_F(Captures, Need_no_join_of_a_stream_without_calls) {
  const CUstream work = stream(), other = stream();
  begin_fork(work, other);
  EXPECT_ANSWER(driver().cuStreamEndCapture(work, &graph_out), CUDA_SUCCESS);
}
TEST_F(Captures, Do_not_end_in_another_stream) {
  const CUstream work = stream(), other = stream();
  begin_fork(work, other);
  EXPECT_ANSWER(driver().cuStreamEndCapture(other, &graph_out), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  EXPECT_VALUE(status(work), kInvalidated);
  EXPECT_ANSWER(driver().cuStreamEndCapture(work, &graph_out), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}
TEST_F(Captures, Fail_when_they_end_in_another_thread) {
  const CUstream work = capturing();
  int code = -1;
  CUgraph made = nullptr;
  std::thread([&] {
    NEED(driver().cuCtxSetCurrent(context));
    code = driver().cuStreamEndCapture(work, &made);
  }).join();
  EXPECT_VALUE(code, int{CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD});
  EXPECT_VALUE(status(work), kNone);
  EXPECT_ANSWER(driver().cuStreamEndCapture(work, &graph_out), CUDA_ERROR_ILLEGAL_STATE);
}
TEST_F(Captures, That_are_relaxed_end_in_another_thread) {
  const CUstream work = capturing(CU_STREAM_CAPTURE_MODE_RELAXED);
  int code = -1;
  std::thread([&] {
    NEED(driver().cuCtxSetCurrent(context));
    code = driver().cuStreamEndCapture(work, &graph_out);
  }).join();
  EXPECT_VALUE(code, int{CUDA_SUCCESS});
}
TEST_F(Captures, Of_another_thread_take_calls) {
  const CUdeviceptr to = memory();
  const CUstream work = capturing();
  int code = -1;
  std::thread([&] {
    NEED(driver().cuCtxSetCurrent(context));
    code = driver().cuMemsetD8Async(to, 1, 1, work);
  }).join();
  EXPECT_VALUE(code, int{CUDA_SUCCESS});
  EXPECT_VALUE(node_count(end(work)), std::size_t{1});
}
TEST_F(Captures, Do_not_merge) {
  const CUstream first = stream(), second = stream();
  const CUevent mark = event();
  begin(first);
  begin(second);
  NEED(driver().cuEventRecord(mark, first));
  EXPECT_ANSWER(driver().cuStreamWaitEvent(second, mark, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
  EXPECT_VALUE(status(first), kInvalidated);
  EXPECT_VALUE(status(second), kInvalidated);
}
TEST_F(Captures, Do_not_wait_for_work_of_before) {
  const CUstream work = stream(), other = stream();
  const CUevent mark = event();
  NEED(driver().cuEventRecord(mark, other));
  begin(work);
  EXPECT_ANSWER(driver().cuStreamWaitEvent(work, mark, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  EXPECT_VALUE(status(work), kInvalidated);
}
TEST_F(Captures, An_event_of_an_ended_capture_is_not_waited_for) {
  const CUstream work = stream(), other = stream();
  const CUevent mark = event();
  begin(work);
  NEED(driver().cuEventRecord(mark, work));
  NEED(driver().cuStreamEndCapture(work, &graph_out));
  EXPECT_ANSWER(driver().cuStreamWaitEvent(other, mark, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuEventQuery(mark), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuEventSynchronize(mark), CUDA_ERROR_INVALID_VALUE);
  NEED(driver().cuEventRecord(mark, work));
  EXPECT_ANSWER(driver().cuEventSynchronize(mark), CUDA_SUCCESS);
}
TEST_F(Captures, An_event_of_a_capture_is_not_queried) {
  const CUstream work = capturing(CU_STREAM_CAPTURE_MODE_RELAXED);
  const CUevent mark = event(0), other = event(0);
  const auto event = [](unsigned flags) {  // the fixture would destroy the event again
    CUevent made = nullptr;
    NEED(driver().cuEventCreate(&made, flags));
    return made;
  };
  NEED(driver().cuEventRecord(mark, work));
  EXPECT_ANSWER(driver().cuEventQuery(mark), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_VALUE(status(work), kInvalidated);
  EXPECT_ANSWER(driver().cuEventSynchronize(mark), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuEventElapsedTime(&milliseconds, mark, other), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuEventDestroy(event(0)), CUDA_SUCCESS);
}
TEST_F(Captures, A_capturing_stream_is_destroyed) {
  CUstream work = nullptr;
  NEED(driver().cuStreamCreate(&work, CU_STREAM_NON_BLOCKING));
  NEED(driver().cuStreamBeginCapture(work, CU_STREAM_CAPTURE_MODE_RELAXED));
  const int code = driver().cuStreamDestroy(work);
  EXPECT_VALUE(code, int{CUDA_SUCCESS});
}
TEST_F(Captures, A_wait_for_no_event_invalidates) {
  const CUstream work = capturing(CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_ANSWER(driver().cuStreamWaitEvent(work, nullptr, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_VALUE(status(work), kInvalidated);
}
TEST_F(Captures, An_event_of_an_ended_capture_invalidates_the_capture_of_a_stream_that_waits) {
  const CUstream work = stream(), other = stream();
  const CUevent mark = event();
  begin(work, CU_STREAM_CAPTURE_MODE_RELAXED);
  NEED(driver().cuEventRecord(mark, work));
  NEED(driver().cuStreamEndCapture(work, &graph_out));
  EXPECT_ANSWER(driver().cuStreamWaitEvent(other, mark, CU_EVENT_WAIT_EXTERNAL), CUDA_ERROR_INVALID_VALUE);
  begin(other, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_ANSWER(driver().cuStreamWaitEvent(other, mark, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(status(other), kInvalidated);
}
TEST_F(Captures, An_event_of_an_invalid_capture_is_not_waited_for) {
  const CUstream work = capturing(CU_STREAM_CAPTURE_MODE_RELAXED), other = stream();
  const CUevent mark = event();
  NEED(driver().cuEventRecord(mark, work));
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_ANSWER(driver().cuStreamWaitEvent(other, mark, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(status(other), kNone);
}
TEST_F(Captures, The_legacy_stream_does_not_wait_for_an_event_of_a_capture) {
  const CUstream work = capturing(CU_STREAM_CAPTURE_MODE_RELAXED);
  const CUevent mark = event();
  NEED(driver().cuEventRecord(mark, work));
  EXPECT_ANSWER(driver().cuStreamWaitEvent(legacy(), mark, 0), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_VALUE(status(work), kInvalidated);
}
TEST_F(Captures, An_event_of_a_global_capture_is_not_queried) {
  const CUstream work = capturing(CU_STREAM_CAPTURE_MODE_GLOBAL);
  const CUevent mark = event();
  NEED(driver().cuEventRecord(mark, work));
  EXPECT_ANSWER(driver().cuEventQuery(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ANSWER(driver().cuEventQuery(mark), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_VALUE(status(work), kInvalidated);
}
TEST_F(Captures, The_time_of_an_event_of_a_capture_is_an_error_that_leaves_it_valid) {
  const CUstream work = capturing(CU_STREAM_CAPTURE_MODE_RELAXED);
  const CUevent mark = event(0), other = event(0);
  NEED(driver().cuEventRecord(mark, work));
  EXPECT_ANSWER(driver().cuEventElapsedTime(&milliseconds, mark, other), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_VALUE(status(work), kActive);
}
TEST_F(Captures, Stay_valid_when_another_stream_is_destroyed) {
  const CUdeviceptr to = memory();
  const CUstream work = stream();
  CUstream other = nullptr;
  const CUevent fork = event();
  NEED(driver().cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  begin(work, CU_STREAM_CAPTURE_MODE_RELAXED);
  NEED(driver().cuEventRecord(fork, work));
  NEED(driver().cuStreamWaitEvent(other, fork, 0));
  NEED(driver().cuMemsetD8Async(to, 2, 1, other));
  EXPECT_ANSWER(driver().cuStreamDestroy(other), CUDA_SUCCESS);
  EXPECT_VALUE(status(work), kActive);
  EXPECT_ANSWER(driver().cuStreamEndCapture(work, &graph_out), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
}
TEST_F(Captures, The_graph_of_a_capture_is_not_destroyed) {
  const CUgraph g = own_graph();
  const CUstream work = stream();
  NEED(driver().cuStreamBeginCaptureToGraph(work, g, nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_ANSWER(driver().cuGraphDestroy(g), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_VALUE(status(work), kActive);
  EXPECT_ANSWER(end_result(work), CUDA_SUCCESS);
}
TEST_F(Captures, A_batch_of_copies_is_refused_and_leaves_them_valid) {
  make_objects();
  const CUstream work = capturing(CU_STREAM_CAPTURE_MODE_RELAXED);
  CUdeviceptr to = objects.memory, from = objects.memory + 16;
  std::size_t size = 16, first = 0;
  CUmemcpyAttributes with{};
  with.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  EXPECT_ANSWER(driver().cuMemcpyBatchAsync(&to, &from, &size, 1, &with, &first, 1, work),
                CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_VALUE(status(work), kActive);
}
TEST_F(Captures, An_invalidated_stream_refuses_calls) {
  make_objects();
  const CUstream work = capturing(CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_ANSWER(driver().cuMemsetD8Async(objects.memory, 1, 1, work), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_ANSWER(driver().cuEventRecord(objects.event, work), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_ANSWER(driver().cuLaunchHostFunc(
                    work, [](void *) {}, nullptr),
                CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_ANSWER(driver().cuStreamGetFlags(work, &flags), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_ANSWER(driver().cuStreamEndCapture(work, &graph_out), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_VALUE(graph_out == nullptr, true);
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
}

}  // namespace
}  // namespace conformance

#endif
