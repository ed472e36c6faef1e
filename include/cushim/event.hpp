// SPDX-License-Identifier: Apache-2.0
// Events: marks in a stream that others can wait for. Types say what an event can do:
//
//   Event        untimed; the cheapest, for order only
//   TimedEvent   end - start is the time between two
//   IpcEvent     can be exported to other processes
//
// EventRef is what functions take that do not own; TimedEventRef if they measure.
#pragma once

#include <cushim/stream.hpp>

namespace cushim {
inline namespace v1 {

enum class EventFlags : unsigned {
  none = CU_EVENT_DEFAULT,                 // synchronize() spins
  blocking_sync = CU_EVENT_BLOCKING_SYNC,  // synchronize() sleeps
};
constexpr bool is_flags(EventFlags) { return true; }

enum class RecordFlags : unsigned {
  none = CU_EVENT_RECORD_DEFAULT,
  external = CU_EVENT_RECORD_EXTERNAL,  // in capture: an external record node
};
constexpr bool is_flags(RecordFlags) { return true; }

// The driver's own measure: milliseconds as float; converts to any std::chrono duration.
using Milliseconds = std::chrono::duration<float, std::milli>;

inline namespace CUSHIM_DEFAULT_STREAM {

// An event, by handle. Owns nothing.
class EventRef : public detail::Reference<CUevent> {
 public:
  EventRef() = default;

  // A raw event, a cudaEvent_t too.
  static EventRef from_handle(CUevent handle, Driver &driver = cushim::driver()) noexcept {
    return EventRef(handle, driver);
  }

  // Marks the work that is now in the stream, which must be of the event's context.
  // Driver calls: cuEventRecord.
  void record(const StreamRef &stream, Where where = Where::current()) const {
    detail::check(stream.driver().cuEventRecord(handle(), stream.handle()), "cuEventRecord", where, *this,
                  stream);
  }
  // Driver calls: cuEventRecordWithFlags.
  void record(const StreamRef &stream, RecordFlags flags, Where where = Where::current()) const {
    detail::check(stream.driver().cuEventRecordWithFlags(handle(), stream.handle(), detail::number(flags)),
                  "cuEventRecordWithFlags", where, *this, stream,
                  detail::Argument{"flags", detail::number(flags)});
  }
  // In the default stream of the current context. Driver calls: cuEventRecord.
  void record(Where where = Where::current()) const { record(default_stream(driver()), where); }

  // Whether the marked work is done; also true of an event that was never recorded.
  // Driver calls: cuEventQuery.
  bool is_done(Where where = Where::current()) const {
    const CUresult result = driver().cuEventQuery(handle());
    if (result == CUDA_ERROR_NOT_READY) return false;
    detail::check(result, "cuEventQuery", where, *this);
    return true;
  }

  // Waits until the marked work is done. Driver calls: cuEventSynchronize.
  void synchronize(Where where = Where::current()) const {
    detail::check(driver().cuEventSynchronize(handle()), "cuEventSynchronize", where, *this);
  }

  // Waits until the marked work is done (true) or the time is over (false); negative timeouts are
  // refused. Driver calls: cuEventQuery, repeatedly.
  template <class Rep, class Period>
  bool synchronize_for(std::chrono::duration<Rep, Period> timeout, Where where = Where::current()) const {
    if (timeout < timeout.zero())
      detail::fail(CUDA_ERROR_INVALID_VALUE, "cuEventQuery", where, *this,
                   detail::Remark{"timeout is negative"});
    return synchronize_until(detail::deadline_after(timeout), where);
  }
  template <class Clock, class Duration>
  bool synchronize_until(std::chrono::time_point<Clock, Duration> deadline,
                         Where where = Where::current()) const {
    return detail::poll_until(deadline, [&] { return is_done(where); });
  }

  // "event 0x7f10", "an empty event"
  friend std::string in_words(const EventRef &event) { return detail::noun_in_words("event", event); }

 protected:
  EventRef(CUevent handle, Driver &driver) noexcept : Reference(handle, driver) {}
};

// An event that was made with timing, by handle. Owns nothing.
class TimedEventRef : public EventRef {
 public:
  TimedEventRef() = default;

  // A raw event that was made with timing, a cudaEvent_t too.
  static TimedEventRef from_handle(CUevent handle, Driver &driver = cushim::driver()) noexcept {
    return TimedEventRef(handle, driver, false);
  }

 private:
  friend class TimedEvent;
  friend class ElapsedTime;
  TimedEventRef(CUevent handle, Driver &driver, bool is_surely_timed) noexcept
      : EventRef(handle, driver), is_surely_timed_(is_surely_timed) {}

  bool is_surely_timed_ = false;  // for the words of errors
};

// The time from start to end. Both must have been recorded, in streams of one context, and be done;
// else the error says which was not timed, not recorded or not complete.
// Driver calls: cuEventElapsedTime; where the headers mean its second ABI (13.0 and newer) and the
// driver is older than that (12.8), the first. After a failure, to tell the reason: cuEventQuery and
// cuEventElapsedTime of each event with itself.
Milliseconds elapsed(TimedEventRef start, TimedEventRef end, Where where = Where::current());

// end - start is elapsed(start, end).
inline Milliseconds operator-(TimedEventRef end, TimedEventRef start) { return elapsed(start, end, Where{}); }

}  // namespace CUSHIM_DEFAULT_STREAM

namespace detail {
inline namespace CUSHIM_DEFAULT_STREAM {

// Where an owned event lives and what it was made with; the driver does not tell later.
struct EventOrigin {
  unsigned flags = 0;
  ContextRef context;      // if it is known
  PrimaryContext primary;  // held for the event's life, if it was made on a device
};

// Creation, for each type of event: Self with flags that make it what it is.
template <class Self, unsigned type_flags>
class EventCreation {
 public:
  // In the current context. Driver calls: cuEventCreate; at the end cuEventDestroy.
  static Self create(EventFlags flags = EventFlags::none, Driver &driver = cushim::driver(),
                     Where where = Where::current()) {
    const unsigned all = number(flags) | type_flags;
    CUevent handle = nullptr;
    check(driver.cuEventCreate(&handle, all), "cuEventCreate", where, Through{&driver},
          Argument{"flags", all});
    return Self(handle, driver, EventOrigin{all, {}, {}});
  }

  // In a given context. Driver calls: cuCtxPushCurrent, cuEventCreate, cuCtxPopCurrent.
  static Self create(ContextRef context, EventFlags flags = EventFlags::none,
                     Where where = Where::current()) {
    Self event = in_context(context, where, [&] { return create(flags, context.driver(), where); });
    event.origin_.context = context;
    return event;
  }

  // In a device's primary context, which the event holds for its life. Driver calls:
  // cuDevicePrimaryCtxRetain, cuCtxPushCurrent, cuEventCreate, cuCtxPopCurrent; at the end
  // cuEventDestroy, cuDevicePrimaryCtxRelease.
  static Self create(Device device, EventFlags flags = EventFlags::none, Where where = Where::current()) {
    PrimaryContext primary = PrimaryContext::retain(device, where);
    Self event = create(ContextRef(primary), flags, where);
    event.hold(std::move(primary));
    return event;
  }

  // In the context of a stream, and recorded there. Driver calls: cuStreamGetCtx, cuCtxPushCurrent,
  // cuEventCreate, cuCtxPopCurrent, cuEventRecord.
  static Self recorded(const StreamRef &stream, EventFlags flags = EventFlags::none,
                       Where where = Where::current()) {
    Self event = create(stream.context(where), flags, where);
    event.record(stream, where);
    return event;
  }

  // Owns an event that was made elsewhere, with these flags and the type's own. No driver call.
  static Self adopt(CUevent handle, EventFlags flags = EventFlags::none,
                    Driver &driver = cushim::driver()) noexcept {
    return Self(handle, driver, EventOrigin{number(flags) | type_flags, {}, {}});
  }
};

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace detail

inline namespace CUSHIM_DEFAULT_STREAM {

// Owns an event that keeps no time. To share one, put it into a std::shared_ptr: the last owner
// destroys it.
class Event : public EventRef, public detail::EventCreation<Event, CU_EVENT_DISABLE_TIMING> {
 public:
  // Empty.
  Event() = default;

  Event(Event &&other) noexcept : EventRef(other), origin_(std::exchange(other.origin_, {})) { other.take(); }
  Event &operator=(Event &&other) noexcept {
    Event(std::move(other)).swap(*this);
    return *this;
  }
  ~Event() {
    if (!is_empty()) detail::report(driver().cuEventDestroy(handle()), "cuEventDestroy", EventRef(*this));
  }

  void swap(Event &other) noexcept {
    std::swap(static_cast<EventRef &>(*this), static_cast<EventRef &>(other));
    std::swap(origin_, other.origin_);
  }
  friend void swap(Event &left, Event &right) noexcept { left.swap(right); }

  // Destroys now, and throws if that fails. Again does nothing.
  // Driver calls: cuEventDestroy; cuDevicePrimaryCtxRelease if the event was made on a device.
  void close(Where where = Where::current()) {
    if (is_empty()) return;
    const EventRef event(*this);
    detail::EventOrigin origin = std::exchange(origin_, {});
    take();
    detail::check(event.driver().cuEventDestroy(event.handle()), "cuEventDestroy", where, event);
    origin.primary.close(where);
  }

  // Gives the handle to the caller, who destroys it. Empty afterwards.
  // Driver calls: cuDevicePrimaryCtxRelease if the event was made on a device.
  [[nodiscard]] CUevent release() noexcept {
    origin_ = {};
    return take();
  }

  bool is_timing_enabled() const noexcept {
    return !is_empty() && (origin_.flags & CU_EVENT_DISABLE_TIMING) == 0;
  }
  bool is_blocking_sync() const noexcept { return (origin_.flags & CU_EVENT_BLOCKING_SYNC) != 0; }
  bool is_ipc_enabled() const noexcept { return (origin_.flags & CU_EVENT_INTERPROCESS) != 0; }

  // The context that the event is in, if it was told at creation: the driver does not tell later.
  // No driver call.
  std::optional<ContextRef> context() const noexcept {
    return origin_.context.is_empty() ? std::nullopt : std::optional(origin_.context);
  }
  // Its device, if that or the context was told at creation. Driver calls: none if it was made on a
  // device, else push, cuCtxGetDevice, pop.
  std::optional<Device> device(Where where = Where::current()) const {
    if (!origin_.primary.is_empty()) return origin_.primary.device();
    if (!origin_.context.is_empty()) return origin_.context.device(where);
    return std::nullopt;
  }

 protected:
  Event(CUevent handle, Driver &driver, detail::EventOrigin origin) noexcept
      : EventRef(handle, driver), origin_(std::move(origin)) {}
  void hold(PrimaryContext primary) noexcept { origin_.primary = std::move(primary); }

 private:
  template <class Self, unsigned type_flags>
  friend class detail::EventCreation;

  detail::EventOrigin origin_;
};

// Owns an event that keeps time.
class TimedEvent : public Event, public detail::EventCreation<TimedEvent, CU_EVENT_DEFAULT> {
 private:
  using Creation = detail::EventCreation<TimedEvent, CU_EVENT_DEFAULT>;
  friend Creation;
  using Event::Event;

 public:
  // Empty.
  TimedEvent() = default;

  using Creation::adopt;
  using Creation::create;
  using Creation::recorded;

  operator TimedEventRef() const noexcept { return TimedEventRef(handle(), driver(), true); }
};

// elapsed(), and why it failed.
class ElapsedTime {
 public:
  static Milliseconds between(TimedEventRef start, TimedEventRef end, Where where) {
    float milliseconds = 0;
    const CUresult result = call(start, end, milliseconds);
    if (result != CUDA_SUCCESS) [[unlikely]]
      explain(result, start, end, where);
    return Milliseconds(milliseconds);
  }

 private:
  static CUresult call(EventRef start, EventRef end, float &milliseconds) {
    const CUresult result = start.driver().cuEventElapsedTime(&milliseconds, start.handle(), end.handle());
    if (result != CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND) [[likely]]
      return result;
    return exact::cuEventElapsedTime_v2000(start.driver())(&milliseconds, start.handle(), end.handle());
  }

  [[noreturn, gnu::cold, gnu::noinline]] static void explain(CUresult result, TimedEventRef start,
                                                             TimedEventRef end, Where where) {
    std::string reasons;
    if (result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_NOT_READY) {
      add(reasons, "start", start);
      add(reasons, "end", end);
      if (reasons.empty() && result == CUDA_ERROR_INVALID_HANDLE) reasons = "the events are of two contexts";
    }
    detail::fail(result, "cuEventElapsedTime", where, EventRef(start), EventRef(end),
                 detail::Remark{reasons.c_str()});
  }

  static void add(std::string &reasons, const char *name, TimedEventRef event) {
    if (event.is_empty()) return;  // its own words say so
    float none = 0;
    const bool is_complete = event.driver().cuEventQuery(event.handle()) == CUDA_SUCCESS;
    const bool is_usable = call(event, event, none) != CUDA_ERROR_INVALID_HANDLE;
    const char *reason = nullptr;
    if (!is_usable && event.is_surely_timed_)
      reason = " was not recorded";
    else if (!is_usable && !is_complete)
      reason = " is not timed";  // unfinished, so it was recorded
    else if (!is_usable)
      reason = " is not timed or was not recorded";
    else if (!is_complete)
      reason = " is not complete";
    if (reason != nullptr) reasons += std::string(reasons.empty() ? "" : ", ") + name + reason;
  }
};

inline Milliseconds elapsed(TimedEventRef start, TimedEventRef end, Where where) {
  return ElapsedTime::between(start, end, where);
}

// ---- What streams do with events ------------------------------------------------------------------

inline void StreamRef::wait(const EventRef &event, WaitFlags flags, Where where) const {
  detail::check(driver().cuStreamWaitEvent(handle(), event.handle(), detail::number(flags)),
                "cuStreamWaitEvent", where, *this, event);
}

inline void StreamRef::wait(const StreamRef &other, Where where) const {
  Event done = Event::recorded(other, EventFlags::none, where);
  wait(done, WaitFlags::none, where);
  done.close(where);
}

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace v1
}  // namespace cushim
