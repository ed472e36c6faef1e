// SPDX-License-Identifier: Apache-2.0
#include "conformance.hpp"

namespace conformance {
namespace {

class Events : public OnDevice {};

constexpr CUevent no_event = nullptr;

// ---- Creating ----

STATEMENT(Events, Are_created_with_default_flags, driver().cuEventCreate(&event_out, CU_EVENT_DEFAULT),
          CUDA_SUCCESS)
STATEMENT(Events, Are_created_with_blocking_sync, driver().cuEventCreate(&event_out, CU_EVENT_BLOCKING_SYNC),
          CUDA_SUCCESS)
STATEMENT(Events, Are_created_without_timing, driver().cuEventCreate(&event_out, CU_EVENT_DISABLE_TIMING),
          CUDA_SUCCESS)
STATEMENT(Events, Are_created_blocking_and_without_timing,
          driver().cuEventCreate(&event_out, CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS)
STATEMENT(Events, For_other_processes_are_created_without_timing,
          driver().cuEventCreate(&event_out, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS)
STATEMENT(Events, For_other_processes_may_block,
          driver().cuEventCreate(&event_out,
                                 CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC),
          CUDA_SUCCESS)
STATEMENT(Events, For_other_processes_cannot_be_timed,
          driver().cuEventCreate(&event_out, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Events, For_other_processes_cannot_be_timed_if_blocking,
          driver().cuEventCreate(&event_out, CU_EVENT_INTERPROCESS | CU_EVENT_BLOCKING_SYNC),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Events, Refuse_the_flag_8, driver().cuEventCreate(&event_out, 8), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Events, Refuse_the_flag_16, driver().cuEventCreate(&event_out, 16), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Events, Refuse_the_highest_flag, driver().cuEventCreate(&event_out, 0x80000000u),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Events, Refuse_all_flags, driver().cuEventCreate(&event_out, ~0u), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Events, Need_a_place_for_the_handle, driver().cuEventCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Events, Need_a_place_before_good_flags, driver().cuEventCreate(nullptr, ~0u),
          CUDA_ERROR_INVALID_VALUE)

TEST_F(Events, Leave_the_place_alone_if_refused) {
  CUevent made = reinterpret_cast<CUevent>(0x1234);
  EXPECT_ANSWER(driver().cuEventCreate(&made, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(made == reinterpret_cast<CUevent>(0x1234), true);
}

TEST_F(Events, Are_not_created_without_a_context) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuEventCreate(&event_out, 0), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Events, Without_a_context_the_flags_are_looked_at) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuEventCreate(&event_out, ~0u), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Events, Without_a_context_the_place_is_not_looked_at) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuEventCreate(nullptr, 0), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Events, Are_different_each_time) { EXPECT_VALUE(event() != event(), true); }

TEST_F(Events, A_thousand_can_live_at_once) {
  for (int i = 0; i < 1000; ++i) event();
}

// ---- Destroying ----

STATEMENT(Events, A_null_event_cannot_be_destroyed, driver().cuEventDestroy(no_event),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(Events, A_null_event_cannot_be_destroyed_by_the_first_ABI, driver().cuEventDestroy_v2(no_event),
          CUDA_ERROR_INVALID_HANDLE)

TEST_F(Events, Are_destroyed_once) {
  CUevent made = nullptr;
  NEED(driver().cuEventCreate(&made, 0));
  EXPECT_ANSWER(driver().cuEventDestroy(made), CUDA_SUCCESS);
}

TEST_F(Events, Are_destroyed_without_a_context) {
  CUevent made = nullptr;
  NEED(driver().cuEventCreate(&made, 0));
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuEventDestroy(made), CUDA_SUCCESS);
}

TEST_F(Events, Are_destroyed_from_another_context) {
  CUevent made = nullptr;
  NEED(driver().cuEventCreate(&made, 0));
  NEED(driver().cuCtxPushCurrent(other_context()));
  EXPECT_ANSWER(driver().cuEventDestroy(made), CUDA_SUCCESS);
  NEED(driver().cuCtxPopCurrent(&context_out));
}

TEST_F(Events, Are_destroyed_while_their_work_is_unfinished) {
  const CUstream work = stream();
  CUevent made = nullptr;
  NEED(driver().cuEventCreate(&made, CU_EVENT_DISABLE_TIMING));
  Hold held = hold(work);
  NEED(driver().cuEventRecord(made, work));
  EXPECT_ANSWER(driver().cuEventDestroy(made), CUDA_SUCCESS);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
}

TEST_F(Events, Are_destroyed_while_a_stream_waits_for_them) {
  const CUstream work = stream(), waiting = stream();
  CUevent made = nullptr;
  NEED(driver().cuEventCreate(&made, CU_EVENT_DISABLE_TIMING));
  Hold held = hold(work);
  NEED(driver().cuEventRecord(made, work));
  NEED(driver().cuStreamWaitEvent(waiting, made, 0));
  EXPECT_ANSWER(driver().cuEventDestroy(made), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(waiting), CUDA_ERROR_NOT_READY);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(waiting), CUDA_SUCCESS);
}

// ---- Recording ----

STATEMENT(Events, A_null_event_cannot_be_recorded, driver().cuEventRecord(no_event, stream()),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(Events, A_null_event_cannot_be_recorded_in_the_null_stream,
          driver().cuEventRecord(no_event, nullptr), CUDA_ERROR_INVALID_HANDLE)
STATEMENT(Events, Are_recorded_in_a_stream, driver().cuEventRecord(event(), stream()), CUDA_SUCCESS)
STATEMENT(Events, Are_recorded_in_the_null_stream, driver().cuEventRecord(event(), nullptr), CUDA_SUCCESS)
STATEMENT(Events, Are_recorded_in_the_legacy_stream, driver().cuEventRecord(event(), legacy()), CUDA_SUCCESS)
STATEMENT(Events, Are_recorded_in_the_per_thread_stream, driver().cuEventRecord(event(), per_thread()),
          CUDA_SUCCESS)
STATEMENT(Events, Are_recorded_by_the_per_thread_variant, driver().cuEventRecord_ptsz(event(), nullptr),
          CUDA_SUCCESS)
STATEMENT(Events, Are_recorded_with_no_flags, driver().cuEventRecordWithFlags(event(), stream(), 0),
          CUDA_SUCCESS)
// The documentation describes the flag only for stream capture.
STATEMENT(Events, Are_not_recorded_externally_outside_a_capture,
          driver().cuEventRecordWithFlags(event(), stream(), CU_EVENT_RECORD_EXTERNAL),
          CUDA_ERROR_ILLEGAL_STATE)
STATEMENT(Events, Are_not_recorded_with_the_flag_2, driver().cuEventRecordWithFlags(event(), stream(), 2),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Events, Are_not_recorded_with_all_flags, driver().cuEventRecordWithFlags(event(), stream(), ~0u),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Events, A_null_event_is_found_before_bad_record_flags,
          driver().cuEventRecordWithFlags(no_event, stream(), 2), CUDA_ERROR_INVALID_HANDLE)
STATEMENT(Events, A_null_event_is_found_before_an_external_record,
          driver().cuEventRecordWithFlags(no_event, stream(), CU_EVENT_RECORD_EXTERNAL),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(Events, Are_not_recorded_in_a_stream_of_another_context,
          driver().cuEventRecord(event(), in_other_context([this] { return stream(); })),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(Events, Of_another_context_are_not_recorded_in_a_stream,
          driver().cuEventRecord(in_other_context([this] { return event(); }), stream()),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(Events, Of_another_context_are_not_recorded_in_the_null_stream,
          driver().cuEventRecord(in_other_context([this] { return event(); }), nullptr),
          CUDA_ERROR_INVALID_HANDLE)

TEST_F(Events, Are_recorded_while_their_context_is_not_current) {
  const CUstream work = stream();
  const CUevent mark = event();
  NEED(driver().cuCtxPushCurrent(other_context()));
  EXPECT_ANSWER(driver().cuEventRecord(mark, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuEventSynchronize(mark), CUDA_SUCCESS);
  NEED(driver().cuCtxPopCurrent(&context_out));
}

TEST_F(Events, Are_recorded_in_a_stream_without_a_context) {
  const CUstream work = stream();
  const CUevent mark = event();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuEventRecord(mark, work), CUDA_SUCCESS);
}

TEST_F(Events, Are_not_recorded_in_the_null_stream_without_a_context) {
  const CUevent mark = event();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuEventRecord(mark, nullptr), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Events, Are_complete_at_once_in_an_idle_stream_that_was_synchronized) {
  const CUstream work = stream();
  const CUevent mark = event();
  NEED(driver().cuEventRecord(mark, work));
  NEED(driver().cuStreamSynchronize(work));
  EXPECT_ANSWER(driver().cuEventQuery(mark), CUDA_SUCCESS);
}

TEST_F(Events, Recorded_again_mean_the_later_place) {
  const CUstream idle = stream(), busy = stream();
  const CUevent mark = event();
  NEED(driver().cuEventRecord(mark, idle));
  NEED(driver().cuEventSynchronize(mark));
  Hold held = hold(busy);
  NEED(driver().cuEventRecord(mark, busy));
  EXPECT_ANSWER(driver().cuEventQuery(mark), CUDA_ERROR_NOT_READY);
  held.release();
  EXPECT_ANSWER(driver().cuEventSynchronize(mark), CUDA_SUCCESS);
}

TEST_F(Events, Recorded_again_in_an_idle_stream_are_complete_while_the_first_place_is_not_reached) {
  const CUstream idle = stream(), busy = stream();
  const CUevent mark = event();
  Hold held = hold(busy);
  NEED(driver().cuEventRecord(mark, busy));
  NEED(driver().cuEventRecord(mark, idle));
  NEED(driver().cuStreamSynchronize(idle));
  EXPECT_ANSWER(driver().cuEventQuery(mark), CUDA_SUCCESS);
}

TEST_F(Events, Wait_only_for_what_was_in_the_stream_before) {
  const CUstream work = stream();
  const CUevent mark = event();
  NEED(driver().cuEventRecord(mark, work));
  Hold held = hold(work);
  EXPECT_ANSWER(driver().cuEventSynchronize(mark), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_NOT_READY);
}

// ---- Querying and waiting ----

STATEMENT(Events, A_null_event_cannot_be_asked, driver().cuEventQuery(no_event), CUDA_ERROR_INVALID_HANDLE)
STATEMENT(Events, A_null_event_cannot_be_waited_for, driver().cuEventSynchronize(no_event),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(Events, An_unrecorded_event_is_complete, driver().cuEventQuery(event()), CUDA_SUCCESS)
STATEMENT(Events, An_unrecorded_timed_event_is_complete, driver().cuEventQuery(event(CU_EVENT_DEFAULT)),
          CUDA_SUCCESS)
STATEMENT(Events, An_unrecorded_event_is_not_waited_for, driver().cuEventSynchronize(event()), CUDA_SUCCESS)
STATEMENT(Events, An_unrecorded_blocking_event_is_not_waited_for,
          driver().cuEventSynchronize(event(CU_EVENT_BLOCKING_SYNC)), CUDA_SUCCESS)

TEST_F(Events, Behind_held_work_are_not_complete) {
  const CUstream work = stream();
  const CUevent mark = event();
  Hold held = hold(work);
  NEED(driver().cuEventRecord(mark, work));
  EXPECT_ANSWER(driver().cuEventQuery(mark), CUDA_ERROR_NOT_READY);
  EXPECT_ANSWER(driver().cuEventQuery(mark), CUDA_ERROR_NOT_READY);
  held.release();
  EXPECT_ANSWER(driver().cuEventSynchronize(mark), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuEventQuery(mark), CUDA_SUCCESS);
}

TEST_F(Events, Are_asked_without_a_context) {
  const CUevent mark = event();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuEventQuery(mark), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuEventSynchronize(mark), CUDA_SUCCESS);
}

TEST_F(Events, Are_asked_from_another_context) {
  const CUevent mark = event();
  NEED(driver().cuCtxPushCurrent(other_context()));
  EXPECT_ANSWER(driver().cuEventQuery(mark), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuEventSynchronize(mark), CUDA_SUCCESS);
  NEED(driver().cuCtxPopCurrent(&context_out));
}

TEST_F(Events, A_null_event_is_an_invalid_handle_without_a_context_too) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuEventQuery(no_event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ANSWER(driver().cuEventSynchronize(no_event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ANSWER(driver().cuEventDestroy(no_event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ANSWER(driver().cuEventRecord(no_event, nullptr), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Events, For_other_processes_behave_as_others_here) {
  CUSHIM_NEEDS(ipc);
  const CUstream work = stream();
  const CUevent mark = event(CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
  EXPECT_ANSWER(driver().cuEventQuery(mark), CUDA_SUCCESS);
  Hold held = hold(work);
  EXPECT_ANSWER(driver().cuEventRecord(mark, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuEventQuery(mark), CUDA_ERROR_NOT_READY);
  held.release();
  EXPECT_ANSWER(driver().cuEventSynchronize(mark), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuEventQuery(mark), CUDA_SUCCESS);
}

// ---- Elapsed time ----

class ElapsedTime : public OnDevice {
 public:
  CUevent timed() { return event(CU_EVENT_DEFAULT); }
  CUevent untimed() { return event(CU_EVENT_DISABLE_TIMING); }
  CUevent recorded(CUevent mark) {
    NEED(driver().cuEventRecord(mark, nullptr));
    NEED(driver().cuEventSynchronize(mark));
    return mark;
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
  const CUstream work = stream();
  const CUevent start = recorded(timed()), end = timed();
  Hold held = hold(work);
  NEED(driver().cuEventRecord(end, work));
  EXPECT_ANSWER(driver().cuEventElapsedTime(&milliseconds, start, end), CUDA_ERROR_NOT_READY);
}

TEST_F(ElapsedTime, Is_not_ready_before_the_start) {
  const CUstream work = stream();
  const CUevent start = timed(), end = recorded(timed());
  Hold held = hold(work);
  NEED(driver().cuEventRecord(start, work));
  EXPECT_ANSWER(driver().cuEventElapsedTime(&milliseconds, start, end), CUDA_ERROR_NOT_READY);
}

TEST_F(ElapsedTime, An_untimed_end_is_found_before_an_unfinished_start) {
  const CUstream work = stream();
  const CUevent start = timed(), end = untimed();
  Hold held = hold(work);
  NEED(driver().cuEventRecord(start, work));
  NEED(driver().cuEventRecord(end, work));
  EXPECT_ANSWER(driver().cuEventElapsedTime(&milliseconds, start, end), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ElapsedTime, An_unrecorded_end_is_found_before_an_unfinished_start) {
  const CUstream work = stream();
  const CUevent start = timed(), end = timed();
  Hold held = hold(work);
  NEED(driver().cuEventRecord(start, work));
  EXPECT_ANSWER(driver().cuEventElapsedTime(&milliseconds, start, end), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ElapsedTime, An_unrecorded_start_is_found_before_an_unfinished_end) {
  const CUstream work = stream();
  const CUevent start = timed(), end = timed();
  Hold held = hold(work);
  NEED(driver().cuEventRecord(end, work));
  EXPECT_ANSWER(driver().cuEventElapsedTime(&milliseconds, start, end), CUDA_ERROR_INVALID_HANDLE);
}

// ---- Streams that wait for events ----

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
  const CUstream work = stream(), waiting = stream();
  const CUevent mark = event();
  Hold held = hold(work);
  NEED(driver().cuEventRecord(mark, work));
  EXPECT_ANSWER(driver().cuStreamWaitEvent(waiting, mark, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(waiting), CUDA_ERROR_NOT_READY);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(waiting), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuEventQuery(mark), CUDA_SUCCESS);
}

TEST_F(WaitingForEvents, The_place_is_the_one_recorded_when_the_wait_was_made) {
  const CUstream first = stream(), second = stream(), waiting = stream();
  const CUevent mark = event();
  NEED(driver().cuEventRecord(mark, first));
  NEED(driver().cuStreamWaitEvent(waiting, mark, 0));
  Hold held = hold(second);
  NEED(driver().cuEventRecord(mark, second));
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
  const CUstream work = stream(), one = stream(), other = stream();
  const CUevent mark = event();
  Hold held = hold(work);
  NEED(driver().cuEventRecord(mark, work));
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
  Hold held = hold(first);
  NEED(driver().cuEventRecord(one, first));
  NEED(driver().cuStreamWaitEvent(second, one, 0));
  NEED(driver().cuEventRecord(other, second));
  NEED(driver().cuStreamWaitEvent(third, other, 0));
  EXPECT_ANSWER(driver().cuEventQuery(other), CUDA_ERROR_NOT_READY);
  EXPECT_ANSWER(driver().cuStreamQuery(third), CUDA_ERROR_NOT_READY);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(third), CUDA_SUCCESS);
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
