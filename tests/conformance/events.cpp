// SPDX-License-Identifier: Apache-2.0
// Creating, destroying, recording and querying events.
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

STATEMENT_WITHOUT_A_CONTEXT(Events, Are_not_created_without_a_context, driver().cuEventCreate(&event_out, 0),
                            CUDA_ERROR_INVALID_CONTEXT)
STATEMENT_WITHOUT_A_CONTEXT(Events, Without_a_context_the_flags_are_looked_at,
                            driver().cuEventCreate(&event_out, ~0u), CUDA_ERROR_INVALID_CONTEXT)
STATEMENT_WITHOUT_A_CONTEXT(Events, Without_a_context_the_place_is_not_looked_at,
                            driver().cuEventCreate(nullptr, 0), CUDA_ERROR_INVALID_CONTEXT)

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
  Hold held = hold_and_record(work, made);
  EXPECT_ANSWER(driver().cuEventDestroy(made), CUDA_SUCCESS);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
}

TEST_F(Events, Are_destroyed_while_a_stream_waits_for_them) {
  const CUstream work = stream(), waiting = stream();
  CUevent made = nullptr;
  NEED(driver().cuEventCreate(&made, CU_EVENT_DISABLE_TIMING));
  Hold held = hold_and_record(work, made);
  NEED(driver().cuStreamWaitEvent(waiting, made, 0));
  EXPECT_ANSWER(driver().cuEventDestroy(made), CUDA_SUCCESS);
  expect_complete_after(held, waiting, "waiting");
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
  Hold held = hold_and_record(busy, mark);
  expect_complete_after(held, mark, "mark");
}

TEST_F(Events, Recorded_again_in_an_idle_stream_are_complete_while_the_first_place_is_not_reached) {
  const CUstream idle = stream(), busy = stream();
  const CUevent mark = event();
  const Hold held = hold_and_record(busy, mark);
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
  auto [work, mark, held] = held_event();
  EXPECT_ANSWER(driver().cuEventQuery(mark), CUDA_ERROR_NOT_READY);
  expect_complete_after(held, mark, "mark");
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
  expect_complete_after(held, mark, "mark");
  EXPECT_ANSWER(driver().cuEventQuery(mark), CUDA_SUCCESS);
}

}  // namespace
}  // namespace conformance
