// SPDX-License-Identifier: Apache-2.0
// The time between two events.
#include "conformance.hpp"

namespace conformance {
namespace {

constexpr CUevent no_event = nullptr;

class ElapsedTime : public OnDevice {
 public:
  CUevent timed() { return event(CU_EVENT_DEFAULT); }
  CUevent untimed() { return event(CU_EVENT_DISABLE_TIMING); }
  CUevent recorded(CUevent mark) {
    NEED(driver().cuEventRecord(mark, nullptr));
    NEED(driver().cuEventSynchronize(mark));
    return mark;
  }
  // Records events in a held stream, and expects this code for the time between two events.
  void expect_while_held(CUevent start, CUevent end, const std::vector<CUevent> &recorded_behind,
                         CUresult code) {
    const CUstream work = stream();
    const Hold held = hold(work);
    for (const CUevent mark : recorded_behind) NEED(driver().cuEventRecord(mark, work));
    EXPECT_ANSWER(driver().cuEventElapsedTime(&milliseconds, start, end), code);
  }
  CUresult between(CUevent start, CUevent end) {
    return driver().cuEventElapsedTime(&milliseconds, start, end);
  }
};

TEST_F(ElapsedTime, Is_measured_between_complete_events) {
  const CUevent start = recorded(timed()), end = recorded(timed());
  EXPECT_ANSWER(driver().cuEventElapsedTime(&milliseconds, start, end), CUDA_SUCCESS);
  EXPECT_VALUE(milliseconds >= 0, true);
}

TEST_F(ElapsedTime, Is_negative_the_other_way_round) {
  const CUevent start = recorded(timed()), end = recorded(timed());
  float forward = 0;
  NEED(driver().cuEventElapsedTime(&forward, start, end));
  EXPECT_ANSWER(driver().cuEventElapsedTime(&milliseconds, end, start), CUDA_SUCCESS);
  EXPECT_VALUE(milliseconds == -forward, true);
}

TEST_F(ElapsedTime, From_an_event_to_itself_is_zero) {
  const CUevent mark = recorded(timed());
  EXPECT_ANSWER(driver().cuEventElapsedTime(&milliseconds, mark, mark), CUDA_SUCCESS);
  EXPECT_VALUE(milliseconds == 0, true);
}

TEST_F(ElapsedTime, Is_measured_between_streams) {
  const CUevent start = timed(), end = timed();
  const CUstream one = stream(), other = stream();
  NEED(driver().cuEventRecord(start, one));
  NEED(driver().cuStreamWaitEvent(other, start, 0));
  NEED(driver().cuEventRecord(end, other));
  NEED(driver().cuEventSynchronize(end));
  EXPECT_ANSWER(driver().cuEventElapsedTime(&milliseconds, start, end), CUDA_SUCCESS);
  EXPECT_VALUE(milliseconds >= 0, true);
}

TEST_F(ElapsedTime, Of_complete_events_can_be_asked_without_a_context) {
  const CUevent start = recorded(timed()), end = recorded(timed());
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuEventElapsedTime(&milliseconds, start, end), CUDA_SUCCESS);
}

TEST_F(ElapsedTime, Of_unfinished_events_is_not_there_without_a_context) {
  const CUevent start = recorded(timed()), end = timed();
  const CUstream work = stream();
  const Hold held = hold(work);
  NEED(driver().cuEventRecord(end, work));
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuEventElapsedTime(&milliseconds, start, end), CUDA_ERROR_NOT_READY);
  EXPECT_ANSWER(driver().cuEventElapsedTime(&milliseconds, end, start), CUDA_ERROR_NOT_READY);
  EXPECT_ANSWER(driver().cuEventElapsedTime(&milliseconds, end, end), CUDA_ERROR_NOT_READY);
}

// The documentation says CUDA_ERROR_INVALID_VALUE.
STATEMENT(ElapsedTime, Without_a_place_is_an_invalid_handle,
          driver().cuEventElapsedTime(nullptr, recorded(timed()), recorded(timed())),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(ElapsedTime, Without_a_place_and_events_is_an_invalid_handle,
          driver().cuEventElapsedTime(nullptr, no_event, no_event), CUDA_ERROR_INVALID_HANDLE)
STATEMENT(ElapsedTime, Needs_a_start, between(no_event, recorded(timed())), CUDA_ERROR_INVALID_HANDLE)
STATEMENT(ElapsedTime, Needs_an_end, between(recorded(timed()), no_event), CUDA_ERROR_INVALID_HANDLE)
STATEMENT(ElapsedTime, Needs_both, between(no_event, no_event), CUDA_ERROR_INVALID_HANDLE)
STATEMENT(ElapsedTime, Needs_a_recorded_start, between(timed(), recorded(timed())), CUDA_ERROR_INVALID_HANDLE)
STATEMENT(ElapsedTime, Needs_a_recorded_end, between(recorded(timed()), timed()), CUDA_ERROR_INVALID_HANDLE)
STATEMENT(ElapsedTime, Needs_recorded_events, between(timed(), timed()), CUDA_ERROR_INVALID_HANDLE)
STATEMENT(ElapsedTime, Needs_a_timed_start, between(recorded(untimed()), recorded(timed())),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(ElapsedTime, Needs_a_timed_end, between(recorded(timed()), recorded(untimed())),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(ElapsedTime, Needs_timed_events, between(recorded(untimed()), recorded(untimed())),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(ElapsedTime, Is_refused_if_unrecorded_and_untimed, between(untimed(), untimed()),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(ElapsedTime, Needs_events_of_one_context,
          between(recorded(timed()), in_other_context([this] { return recorded(timed()); })),
          CUDA_ERROR_INVALID_HANDLE)

TEST_F(ElapsedTime, Is_not_ready_before_the_end) {
  const CUevent start = recorded(timed()), end = timed();
  expect_while_held(start, end, {end}, CUDA_ERROR_NOT_READY);
}

TEST_F(ElapsedTime, Is_not_ready_before_the_start) {
  const CUevent start = timed(), end = recorded(timed());
  expect_while_held(start, end, {start}, CUDA_ERROR_NOT_READY);
}

TEST_F(ElapsedTime, An_untimed_end_is_found_before_an_unfinished_start) {
  const CUevent start = timed(), end = untimed();
  expect_while_held(start, end, {start, end}, CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ElapsedTime, An_unrecorded_end_is_found_before_an_unfinished_start) {
  const CUevent start = timed(), end = timed();
  expect_while_held(start, end, {start}, CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ElapsedTime, An_unrecorded_start_is_found_before_an_unfinished_end) {
  const CUevent start = timed(), end = timed();
  expect_while_held(start, end, {end}, CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace
}  // namespace conformance
