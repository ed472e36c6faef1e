// SPDX-License-Identifier: Apache-2.0
// Events of one device, used on the other.
#include "two_devices.hpp"

namespace conformance {
namespace {

class EventsOfTwoDevices : public OnTwoDevices {
 public:
  // Creates an event of device 1 that the test destroys.
  CUevent own_event_there(unsigned flags) {
    CUevent made = nullptr;
    on_other([&] { NEED(driver().cuEventCreate(&made, flags)); });
    return made;
  }
  // Holds a stream of device 1 and records an event behind the hold.
  Hold held_and_recorded_there(CUstream work, CUevent mark) {
    Hold held = held_there(work);
    NEED(driver().cuEventRecord(mark, work));
    return held;
  }
};

STATEMENT(EventsOfTwoDevices, Of_there_are_recorded_there,
          driver().cuEventRecord(event_there(), stream_there()), CUDA_SUCCESS)
STATEMENT(EventsOfTwoDevices, Of_there_are_not_recorded_here, driver().cuEventRecord(event_there(), stream()),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(EventsOfTwoDevices, Of_here_are_not_recorded_there, driver().cuEventRecord(event(), stream_there()),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(EventsOfTwoDevices, Of_there_are_not_recorded_in_the_null_stream_of_here,
          driver().cuEventRecord(event_there(), nullptr), CUDA_ERROR_INVALID_HANDLE)
STATEMENT(EventsOfTwoDevices, Of_there_are_not_recorded_in_the_legacy_stream_of_here,
          driver().cuEventRecord(event_there(), legacy()), CUDA_ERROR_INVALID_HANDLE)
STATEMENT(EventsOfTwoDevices, Of_there_are_not_recorded_in_the_per_thread_stream_of_here,
          driver().cuEventRecord(event_there(), per_thread()), CUDA_ERROR_INVALID_HANDLE)
STATEMENT(EventsOfTwoDevices, Of_there_are_recorded_in_the_null_stream_of_there,
          on_other([this] { return driver().cuEventRecord(event(), nullptr); }), CUDA_SUCCESS)
TEST_F(EventsOfTwoDevices, Of_here_are_not_recorded_in_the_null_stream_of_there) {
  const CUevent one = event();
  on_other([&] { EXPECT_ANSWER(driver().cuEventRecord(one, nullptr), CUDA_ERROR_INVALID_HANDLE); });
}
STATEMENT(EventsOfTwoDevices, Of_there_are_not_recorded_here_with_flags_either,
          driver().cuEventRecordWithFlags(event_there(), stream(), 0), CUDA_ERROR_INVALID_HANDLE)
STATEMENT(EventsOfTwoDevices, Of_the_wrong_device_are_found_after_bad_flags,
          driver().cuEventRecordWithFlags(event_there(), stream(), 2), CUDA_ERROR_INVALID_VALUE)
STATEMENT(EventsOfTwoDevices, Are_queried_from_here, driver().cuEventQuery(event_there()), CUDA_SUCCESS)
STATEMENT(EventsOfTwoDevices, Are_synchronized_from_here, driver().cuEventSynchronize(event_there()),
          CUDA_SUCCESS)
TEST_F(EventsOfTwoDevices, Are_destroyed_from_here) {
  const CUevent made = own_event_there(0);
  EXPECT_ANSWER(driver().cuEventDestroy(made), CUDA_SUCCESS);
}
TEST_F(EventsOfTwoDevices, Refused_in_the_other_stream_stay_as_they_were) {
  const CUevent one = event_there();
  const CUstream work = stream_there();
  const CUstream held_stream = stream();
  const Hold held = hold(held_stream);
  NEED(driver().cuEventRecord(one, work));
  EXPECT_ANSWER(driver().cuEventRecord(one, held_stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ANSWER(driver().cuEventSynchronize(one), CUDA_SUCCESS);
}
TEST_F(EventsOfTwoDevices, Are_unfinished_while_the_others_work_is) {
  const CUevent one = event_there();
  const CUstream work = stream_there();
  Hold held = held_and_recorded_there(work, one);
  expect_complete_after(held, one, "one");
  EXPECT_ANSWER(driver().cuEventQuery(one), CUDA_SUCCESS);
}

// ---- Waiting ----

STATEMENT(EventsOfTwoDevices, Not_recorded_are_waited_for_by_the_other,
          driver().cuStreamWaitEvent(stream(), event_there(), 0), CUDA_SUCCESS)
STATEMENT(EventsOfTwoDevices, Are_waited_for_by_the_null_stream_of_the_other,
          driver().cuStreamWaitEvent(nullptr, event_there(), 0), CUDA_SUCCESS)
STATEMENT(EventsOfTwoDevices, Are_waited_for_by_the_per_thread_stream_of_the_other,
          driver().cuStreamWaitEvent(per_thread(), event_there(), 0), CUDA_SUCCESS)
STATEMENT(EventsOfTwoDevices, Of_here_are_waited_for_there,
          driver().cuStreamWaitEvent(stream_there(), event(), 0), CUDA_SUCCESS)
STATEMENT(EventsOfTwoDevices, Are_not_waited_for_with_unknown_flags,
          driver().cuStreamWaitEvent(stream(), event_there(), 2), CUDA_ERROR_INVALID_VALUE)
TEST_F(EventsOfTwoDevices, Hold_the_other_devices_stream) {
  const CUevent one = event_there();
  const CUstream work = stream_there(), waiting = stream();
  Hold held = held_and_recorded_there(work, one);
  EXPECT_ANSWER(driver().cuStreamWaitEvent(waiting, one, 0), CUDA_SUCCESS);
  expect_complete_after(held, waiting, "waiting");
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_SUCCESS);
}
TEST_F(EventsOfTwoDevices, Pass_work_there_and_back) {
  const CUevent left = event(), right = event_there();
  const CUstream here = stream(), other = stream_there();
  Hold held = hold_and_record(here, left);
  NEED(driver().cuStreamWaitEvent(other, left, 0));
  NEED(driver().cuEventRecord(right, other));
  const CUstream back = stream();
  EXPECT_ANSWER(driver().cuStreamWaitEvent(back, right, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(other), CUDA_ERROR_NOT_READY);
  expect_complete_after(held, back, "back");
  EXPECT_ANSWER(driver().cuEventQuery(left), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuEventQuery(right), CUDA_SUCCESS);
}
TEST_F(EventsOfTwoDevices, Destroyed_still_hold_the_other_devices_stream) {
  const CUevent one = own_event_there(CU_EVENT_DISABLE_TIMING);
  const CUstream work = stream_there(), waiting = stream();
  Hold held = held_and_recorded_there(work, one);
  NEED(driver().cuStreamWaitEvent(waiting, one, 0));
  EXPECT_ANSWER(driver().cuEventDestroy(one), CUDA_SUCCESS);
  expect_complete_after(held, waiting, "waiting");
}
TEST_F(EventsOfTwoDevices, Without_a_context_are_recorded_and_waited_for) {
  const CUevent one = event_there();
  const CUstream work = stream_there(), waiting = stream();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuEventRecord(one, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamWaitEvent(waiting, one, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamSynchronize(waiting), CUDA_SUCCESS);
}

// ---- Elapsed time ----

TEST_F(EventsOfTwoDevices, Have_no_time_between_them) {
  const CUevent one = event(CU_EVENT_DEFAULT), other = event_there(CU_EVENT_DEFAULT);
  NEED(driver().cuEventRecord(one, stream()));
  NEED(driver().cuEventRecord(other, stream_there()));
  NEED(driver().cuEventSynchronize(one));
  NEED(driver().cuEventSynchronize(other));
  EXPECT_ANSWER(driver().cuEventElapsedTime(&milliseconds, one, other), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ANSWER(driver().cuEventElapsedTime(&milliseconds, other, one), CUDA_ERROR_INVALID_HANDLE);
}
TEST_F(EventsOfTwoDevices, Of_one_device_have_a_time_for_here) {
  const CUevent one = event_there(CU_EVENT_DEFAULT), other = event_there(CU_EVENT_DEFAULT);
  const CUstream work = stream_there();
  NEED(driver().cuEventRecord(one, work));
  NEED(driver().cuEventRecord(other, work));
  NEED(driver().cuEventSynchronize(other));
  EXPECT_ANSWER(driver().cuEventElapsedTime(&milliseconds, one, other), CUDA_SUCCESS);
  EXPECT_VALUE(milliseconds >= 0, true);
}
TEST_F(EventsOfTwoDevices, Unfinished_have_no_time_between_them_either) {
  const CUevent one = event(CU_EVENT_DEFAULT), other = event_there(CU_EVENT_DEFAULT);
  const CUstream work = stream_there();
  Hold held = held_there(work);
  NEED(driver().cuEventRecord(one, stream()));
  NEED(driver().cuEventRecord(other, work));
  EXPECT_ANSWER(driver().cuEventElapsedTime(&milliseconds, one, other), CUDA_ERROR_INVALID_HANDLE);
  held.release();
  NEED(driver().cuEventSynchronize(other));
}

}  // namespace
}  // namespace conformance
