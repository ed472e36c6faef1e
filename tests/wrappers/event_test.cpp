// SPDX-License-Identifier: Apache-2.0
// Tests events: the exact driver calls of each operation, and their results.
#include <gmock/gmock.h>

#include <memory>

#include "recording_driver.hpp"

namespace cushim::test {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Event, Its_type_and_flags_decide_the_flags_of_creation) {
  Recording recording;
  { const Event event = Event::create(EventFlags::blocking_sync); }
  { const TimedEvent event = TimedEvent::create(); }
  { const TimedEvent event = TimedEvent::create(EventFlags::blocking_sync); }
  { const IpcEvent event = IpcEvent::create(); }
  const Calls calls = recording.calls();
  EXPECT_THAT(calls,
              ElementsAre("cuEventCreate(&, 3)", "cuEventDestroy_v2(0x1000)", "cuEventCreate(&, 0)",
                          "cuEventDestroy_v2(0x2000)", "cuEventCreate(&, 1)", "cuEventDestroy_v2(0x3000)",
                          "cuEventCreate(&, 6)", "cuEventDestroy_v2(0x4000)"));
}

TEST(Event, Knows_what_it_was_made_with) {
  Recording recording;
  const Event event = Event::create();
  const TimedEvent timed = TimedEvent::create(EventFlags::blocking_sync);
  const IpcEvent shared = IpcEvent::create();
  recording.calls();
  EXPECT_FALSE(event.is_timing_enabled() || event.is_blocking_sync() || event.is_ipc_enabled());
  EXPECT_TRUE(timed.is_timing_enabled() && timed.is_blocking_sync());
  EXPECT_FALSE(timed.is_ipc_enabled() || shared.is_timing_enabled());
  EXPECT_TRUE(shared.is_ipc_enabled());
  EXPECT_EQ(event.context(), std::nullopt);
  EXPECT_EQ(event.device(), std::nullopt);
  EXPECT_THAT(recording.calls(), IsEmpty());
}

TEST(Event, Created_in_a_context_that_context_is_current_for_the_call) {
  Recording recording;
  const ContextRef context = ContextRef::from_handle(context_handle(0xc1));
  {
    const Event event = Event::create(context);
    EXPECT_EQ(event.context(), context);
  }
  EXPECT_THAT(recording.calls(), ElementsAre("cuCtxPushCurrent_v2(0xc1)", "cuEventCreate(&, 2)",
                                             "cuCtxPopCurrent_v2(&)", "cuEventDestroy_v2(0x1000)"));
}

TEST(Event, Created_on_a_device_holds_its_primary_context_until_the_end) {
  Recording recording;
  const Device device = Device::from_handle(3);
  {
    const Event event = Event::create(device);
    EXPECT_EQ(event.device(), device);
    EXPECT_EQ(event.context()->handle(), kPrimary);
  }
  EXPECT_THAT(recording.calls(), ElementsAre("cuDevicePrimaryCtxRetain(&, 3)", "cuCtxPushCurrent_v2(0xc0)",
                                             "cuEventCreate(&, 2)", "cuCtxPopCurrent_v2(&)",
                                             "cuEventDestroy_v2(0x1000)", "cuDevicePrimaryCtxRelease_v2(3)"));
}

TEST(Event, Recorded_at_creation_is_in_the_context_of_its_stream) {
  Recording recording;
  { const TimedEvent event = TimedEvent::recorded(StreamRef(stream_handle(0x50))); }
  EXPECT_THAT(recording.calls(), ElementsAre("cuStreamGetCtx(0x50, &)", "cuCtxPushCurrent_v2(0xd0)",
                                             "cuEventCreate(&, 0)", "cuCtxPopCurrent_v2(&)",
                                             "cuEventRecord(0x1000, 0x50)", "cuEventDestroy_v2(0x1000)"));
}

TEST(Event, Record_is_one_call) {
  Recording recording;
  const EventRef event = EventRef::from_handle(event_handle(0xe0));
  event.record(StreamRef(stream_handle(0x50)));
  event.record(default_stream());
  event.record();
  event.record(default_stream(), RecordFlags::external);
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuEventRecord(0xe0, 0x50)", "cuEventRecord(0xe0, null)",
                          "cuEventRecord(0xe0, null)", "cuEventRecordWithFlags(0xe0, null, 1)"));
}

TEST(Event, Is_done_answers_and_throws_only_on_errors) {
  Recording recording;
  const EventRef event = EventRef::from_handle(event_handle(0xe0));
  EXPECT_TRUE(event.is_done());
  recording.answer(Entry::cuEventQuery, CUDA_ERROR_NOT_READY);
  EXPECT_FALSE(event.is_done());
  recording.answer(Entry::cuEventQuery, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(error_of([&] { event.is_done(); }).result(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuEventQuery(0xe0)", "cuEventQuery(0xe0)", "cuEventQuery(0xe0)"));
}

TEST(Event, Synchronize_is_one_call) {
  Recording recording;
  EventRef::from_handle(event_handle(0xe0)).synchronize();
  EXPECT_THAT(recording.calls(), ElementsAre("cuEventSynchronize(0xe0)"));
}

// A clock that advances 1 ms each time it is read.
struct StepClock {
  using duration = milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<StepClock>;
  static time_point now() { return time_point(milliseconds(reads++)); }
  static inline int reads = 0;
};

TEST(Event, Synchronize_with_a_limit_asks_until_the_event_is_done) {
  Recording recording;
  int asked = 0;
  recording.on<Entry::cuEventQuery_v2000>(
      [&](CUevent) { return ++asked < 4 ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS; });
  const EventRef event = EventRef::from_handle(event_handle(0xe0));
  EXPECT_TRUE(event.synchronize_for(std::chrono::hours(1)));
  EXPECT_EQ(asked, 4);
}

TEST(Event, Synchronize_with_a_limit_gives_up_after_asking_once_more) {
  Recording recording;
  recording.answer(Entry::cuEventQuery, CUDA_ERROR_NOT_READY);
  StepClock::reads = 0;
  const EventRef event = EventRef::from_handle(event_handle(0xe0));
  EXPECT_FALSE(event.synchronize_until(StepClock::time_point(milliseconds(2))));
  EXPECT_EQ(recording.calls().size(), 3u);  // at 0, at 1, and at 2 ms, after the deadline
}

TEST(Event, A_timeout_of_zero_asks_once) {
  Recording recording;
  recording.answer(Entry::cuEventQuery, CUDA_ERROR_NOT_READY);
  EXPECT_FALSE(EventRef::from_handle(event_handle(0xe0)).synchronize_for(milliseconds(0)));
  EXPECT_THAT(recording.calls(), ElementsAre("cuEventQuery(0xe0)"));
}

TEST(Event, A_timeout_longer_than_the_clock_lasts_is_not_a_timeout) {
  Recording recording;
  EXPECT_TRUE(EventRef::from_handle(event_handle(0xe0)).synchronize_for(std::chrono::hours::max()));
}

TEST(Event, A_negative_timeout_is_refused_without_a_driver_call) {
  Recording recording;
  const EventRef event = EventRef::from_handle(event_handle(0xe0));
  const Error error = error_of([&] { event.synchronize_for(milliseconds(-1)); });
  EXPECT_EQ(error.result(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(error.what(), HasSubstr("timeout is negative"));
  EXPECT_THAT(recording.calls(), IsEmpty());
}

TEST(Event, The_difference_of_two_is_the_drivers_float_of_milliseconds) {
  Recording recording;
  recording.on<Entry::cuEventElapsedTime>([](float *milliseconds, CUevent, CUevent) {
    *milliseconds = 1.5f;
    return CUDA_SUCCESS;
  });
  const TimedEvent start = TimedEvent::create();
  const TimedEvent end = TimedEvent::create();
  recording.calls();
  EXPECT_EQ((end - start).count(), 1.5f);
  EXPECT_EQ(std::chrono::duration_cast<std::chrono::microseconds>(elapsed(start, end)),
            std::chrono::microseconds(1500));
  const std::string symbol(detail::symbols[static_cast<int>(Entry::cuEventElapsedTime)]);
  EXPECT_THAT(recording.calls(), ElementsAre(symbol + "(&, 0x1000, 0x2000)", symbol + "(&, 0x1000, 0x2000)"));
}

TEST(Event, Elapsed_time_takes_the_first_abi_of_a_driver_without_the_second) {
  Recording recording;
  recording.answer(Entry::cuEventElapsedTime_v12080, CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND);
  recording.on<Entry::cuEventElapsedTime_v2000>([](float *milliseconds, CUevent, CUevent) {
    *milliseconds = 2;
    return CUDA_SUCCESS;
  });
  const TimedEventRef event = TimedEventRef::from_handle(event_handle(0xe0));
  EXPECT_EQ((event - event).count(), 2);
}

// Makes some events unmeasurable, with the results of the real driver.
void behave_like_the_real_driver(Recording &recording, CUevent unusable, CUevent unfinished) {
  recording.on<Entry::cuEventElapsedTime>([=](float *, CUevent start, CUevent end) {
    if (start == unusable || end == unusable) return CUDA_ERROR_INVALID_HANDLE;
    return start == unfinished || end == unfinished ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
  });
  recording.on<Entry::cuEventQuery_v2000>(
      [=](CUevent event) { return event == unfinished ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS; });
}

TEST(Event, Elapsed_time_says_which_event_was_not_recorded) {
  Recording recording;
  const TimedEvent start = TimedEvent::create();
  const TimedEvent end = TimedEvent::create();
  behave_like_the_real_driver(recording, end.handle(), nullptr);
  const Error error = error_of([&] { elapsed(start, end); });
  EXPECT_EQ(error.result(), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_THAT(error.what(), HasSubstr("end was not recorded"));
  EXPECT_THAT(error.what(), Not(HasSubstr("start was")));
}

TEST(Event, Elapsed_time_says_which_event_may_not_be_timed) {
  Recording recording;
  const TimedEventRef start = TimedEventRef::from_handle(event_handle(0xe0));
  const TimedEventRef end = TimedEventRef::from_handle(event_handle(0xe1));
  behave_like_the_real_driver(recording, start.handle(), nullptr);
  EXPECT_THAT(error_of([&] { end - start; }).what(), HasSubstr("start is not timed or was not recorded"));
  behave_like_the_real_driver(recording, start.handle(), start.handle());
  EXPECT_THAT(error_of([&] { end - start; }).what(), testing::EndsWith("start is not timed"));
}

TEST(Event, Elapsed_time_says_which_event_is_not_complete) {
  Recording recording;
  const TimedEvent start = TimedEvent::create();
  const TimedEvent end = TimedEvent::create();
  behave_like_the_real_driver(recording, nullptr, end.handle());
  const Error error = error_of([&] { elapsed(start, end); });
  EXPECT_EQ(error.result(), CUDA_ERROR_NOT_READY);
  EXPECT_THAT(error.what(), HasSubstr("end is not complete"));
}

TEST(Event, Elapsed_time_of_two_contexts_says_so) {
  Recording recording;
  recording.on<Entry::cuEventElapsedTime>([](float *, CUevent start, CUevent end) {
    return start == end ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
  const TimedEvent start = TimedEvent::create();
  const TimedEvent end = TimedEvent::create();
  EXPECT_THAT(error_of([&] { elapsed(start, end); }).what(), HasSubstr("the events are of two contexts"));
}

TEST(Event, Adopted_is_destroyed_and_released_is_not) {
  Recording recording;
  CUevent raw = nullptr;
  driver().cuEventCreate(&raw, CU_EVENT_DISABLE_TIMING);
  Event event = Event::adopt(raw);
  EXPECT_EQ(event.handle(), raw);
  EXPECT_EQ(event.release(), raw);
  EXPECT_TRUE(event.is_empty());
  recording.calls();
  event.close();
  EXPECT_THAT(recording.calls(), IsEmpty());
  event = Event::adopt(raw);
  event.close();
  EXPECT_THAT(recording.calls(), ElementsAre("cuEventDestroy_v2(0x1000)"));
}

TEST(Event, Close_throws_what_the_destructor_would_only_report) {
  Recording recording;
  Event event = Event::create();
  recording.fail(1, CUDA_ERROR_INVALID_HANDLE);
  EXPECT_STREQ(error_of([&] { event.close(); }).routine(), "cuEventDestroy");
  EXPECT_TRUE(event.is_empty());
  {
    const Event other = Event::create();
    recording.fail(1, CUDA_ERROR_INVALID_HANDLE);
  }
  EXPECT_THAT(Recording::unreported(), ElementsAre(HasSubstr("cuEventDestroy: CUDA_ERROR_INVALID_HANDLE")));
}

TEST(Event, A_destructor_does_not_report_that_the_driver_or_context_is_gone) {
  Recording recording;
  for (CUresult result : {CUDA_ERROR_DEINITIALIZED, CUDA_ERROR_CONTEXT_IS_DESTROYED}) {
    const Event event = Event::create();
    recording.fail(1, result);
  }
  EXPECT_THAT(Recording::unreported(), IsEmpty());
}

TEST(Event, Shared_ownership_destroys_with_the_last_owner) {
  Recording recording;
  auto first = std::make_shared<Event>(Event::create());
  auto second = first;
  recording.calls();
  first.reset();
  EXPECT_THAT(recording.calls(), IsEmpty());
  second.reset();
  EXPECT_THAT(recording.calls(), ElementsAre("cuEventDestroy_v2(0x1000)"));
}

TEST(Event, Is_destroyed_through_the_driver_that_made_it_whatever_is_current_then) {
  Recording recording;
  Event event = Event::create();
  {
    const ScopedDriver other(
        Driver::from_functions("other", 13000, [](void *, const char *) -> void (*)() { return nullptr; }));
    event.close();
  }
  EXPECT_THAT(recording.live(), IsEmpty());
}

TEST(Event, An_empty_one_fails_with_a_message_and_without_a_driver_call) {
  Recording recording;
  const Event event;
  const Error error = error_of([&] { event.synchronize(); });
  EXPECT_EQ(error.result(), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_THAT(error.what(), HasSubstr("an empty event"));
  EXPECT_THAT(recording.calls(), IsEmpty());
}

TEST(Event, An_empty_one_is_refused_by_the_driver_of_its_stream) {
  Recording recording;
  recording.on<Entry::cuEventRecord>(
      [](CUevent event, CUstream) { return event == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS; });
  EXPECT_THAT(error_of([&] { Event().record(default_stream()); }).what(),
              HasSubstr("an empty event, the default stream"));
}

TEST(Event, A_failed_record_names_its_handles_and_its_call_site) {
  Recording recording;
  recording.answer(Entry::cuEventRecord, CUDA_ERROR_INVALID_HANDLE);
  const EventRef event = EventRef::from_handle(event_handle(0xe0));
  const int line = __LINE__ + 1;
  const Error error = error_of([&] { event.record(StreamRef(stream_handle(0x50))); });
  EXPECT_EQ(
      std::string(error.what()),
      "cuEventRecord: CUDA_ERROR_INVALID_HANDLE (400, invalid handle): event 0xe0, stream 0x50 (" __FILE__
      ":" +
          std::to_string(line) + ")");
}

}  // namespace
}  // namespace cushim::test
