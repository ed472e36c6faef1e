// SPDX-License-Identifier: Apache-2.0
// Streams that wait for events.
#include "conformance.hpp"

namespace conformance {
namespace {

constexpr CUevent no_event = nullptr;

class WaitingForEvents : public OnDevice {};

STATEMENT(WaitingForEvents, A_null_event_is_refused, driver().cuStreamWaitEvent(stream(), no_event, 0),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(WaitingForEvents, An_unrecorded_event_is_no_operation,
          driver().cuStreamWaitEvent(stream(), event(), 0), CUDA_SUCCESS)
STATEMENT(WaitingForEvents, The_null_stream_can_wait, driver().cuStreamWaitEvent(nullptr, event(), 0),
          CUDA_SUCCESS)
STATEMENT(WaitingForEvents, The_legacy_stream_can_wait, driver().cuStreamWaitEvent(legacy(), event(), 0),
          CUDA_SUCCESS)
STATEMENT(WaitingForEvents, The_per_thread_stream_can_wait,
          driver().cuStreamWaitEvent(per_thread(), event(), 0), CUDA_SUCCESS)
STATEMENT(WaitingForEvents, The_external_flag_is_for_captures,
          driver().cuStreamWaitEvent(stream(), event(), CU_EVENT_WAIT_EXTERNAL), CUDA_ERROR_ILLEGAL_STATE)
STATEMENT(WaitingForEvents, The_flag_2_is_refused, driver().cuStreamWaitEvent(stream(), event(), 2),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(WaitingForEvents, All_flags_are_refused, driver().cuStreamWaitEvent(stream(), event(), ~0u),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(WaitingForEvents, Bad_flags_are_found_before_a_null_event,
          driver().cuStreamWaitEvent(stream(), no_event, 2), CUDA_ERROR_INVALID_VALUE)
STATEMENT(WaitingForEvents, An_event_of_another_context_will_do,
          driver().cuStreamWaitEvent(stream(), in_other_context([this] { return event(); }), 0), CUDA_SUCCESS)

TEST_F(WaitingForEvents, An_unrecorded_event_does_not_hold_the_stream) {
  const CUstream work = stream();
  NEED(driver().cuStreamWaitEvent(work, event(), 0));
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
}

TEST_F(WaitingForEvents, The_stream_is_held_until_the_event_is_complete) {
  const CUstream waiting = stream();
  auto [work, mark, held] = held_event();
  EXPECT_ANSWER(driver().cuStreamWaitEvent(waiting, mark, 0), CUDA_SUCCESS);
  expect_complete_after(held, waiting, "waiting");
  EXPECT_ANSWER(driver().cuEventQuery(mark), CUDA_SUCCESS);
}

TEST_F(WaitingForEvents, The_place_is_the_one_recorded_when_the_wait_was_made) {
  const CUstream first = stream(), second = stream(), waiting = stream();
  const CUevent mark = event();
  NEED(driver().cuEventRecord(mark, first));
  NEED(driver().cuStreamWaitEvent(waiting, mark, 0));
  const Hold held = hold_and_record(second, mark);
  EXPECT_ANSWER(driver().cuStreamSynchronize(waiting), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuEventQuery(mark), CUDA_ERROR_NOT_READY);
}

TEST_F(WaitingForEvents, A_stream_may_wait_for_its_own_event) {
  const CUstream work = stream();
  const CUevent mark = event();
  NEED(driver().cuEventRecord(mark, work));
  EXPECT_ANSWER(driver().cuStreamWaitEvent(work, mark, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
}

TEST_F(WaitingForEvents, Two_streams_may_wait_for_one_event) {
  const CUstream one = stream(), other = stream();
  auto [work, mark, held] = held_event();
  NEED(driver().cuStreamWaitEvent(one, mark, 0));
  NEED(driver().cuStreamWaitEvent(other, mark, 0));
  EXPECT_ANSWER(driver().cuStreamQuery(one), CUDA_ERROR_NOT_READY);
  EXPECT_ANSWER(driver().cuStreamQuery(other), CUDA_ERROR_NOT_READY);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(one), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamSynchronize(other), CUDA_SUCCESS);
}

TEST_F(WaitingForEvents, A_wait_passes_on_through_a_chain_of_streams) {
  const CUstream first = stream(), second = stream(), third = stream();
  const CUevent one = event(), other = event();
  Hold held = hold_and_record(first, one);
  NEED(driver().cuStreamWaitEvent(second, one, 0));
  NEED(driver().cuEventRecord(other, second));
  NEED(driver().cuStreamWaitEvent(third, other, 0));
  EXPECT_ANSWER(driver().cuEventQuery(other), CUDA_ERROR_NOT_READY);
  expect_complete_after(held, third, "third");
}

TEST_F(WaitingForEvents, A_wait_needs_no_context_for_a_stream_by_handle) {
  const CUstream work = stream();
  const CUevent mark = event();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuStreamWaitEvent(work, mark, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamWaitEvent(nullptr, mark, 0), CUDA_ERROR_INVALID_CONTEXT);
}

}  // namespace
}  // namespace conformance
