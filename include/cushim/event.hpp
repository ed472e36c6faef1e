// SPDX-License-Identifier: Apache-2.0
// Events: markers in a stream that a thread or another stream can wait for. The type says what an event can
// do:
//
//   Event        ordering only, no timing; the cheapest
//   TimedEvent   end - start is the time between two of them
//   IpcEvent     can be exported to other processes
//
// Functions that do not own an event take an EventRef, or a TimedEventRef if they measure time.
#pragma once

#include <cushim/stream.hpp>

namespace cushim {
inline namespace v1 {

// How synchronize() waits for an event.
enum class EventFlags : unsigned {
  none = CU_EVENT_DEFAULT,                 // synchronize() spins
  blocking_sync = CU_EVENT_BLOCKING_SYNC,  // synchronize() sleeps
};
constexpr bool is_flags(EventFlags) { return true; }

// How an event is recorded during capture.
enum class RecordFlags : unsigned {
  none = CU_EVENT_RECORD_DEFAULT,
  external = CU_EVENT_RECORD_EXTERNAL,  // in capture: adds an external event record node
};
constexpr bool is_flags(RecordFlags) { return true; }

// The driver's unit of time: milliseconds as float. Converts to any std::chrono duration.
using Milliseconds = std::chrono::duration<float, std::milli>;

inline namespace CUSHIM_DEFAULT_STREAM {

// The calls that EventRef, TimedEventRef, Event, TimedEvent and IpcEvent have in common.
template <class Self>
class EventCalls : public detail::Waitable<Self, CUevent> {
 public:
  // Records the event: it marks the work now in the stream. The stream must be in the event's context. Driver
  // calls: cuEventRecord.
  void record(const StreamRef &stream, Where where = Where::current()) const {
    detail::check(stream.driver().cuEventRecord(this->handle(), stream.handle()), "cuEventRecord", where,
                  this->self(), stream);
  }
  // Records the event with flags. RecordFlags::external is for streams in capture. Driver calls:
  // cuEventRecordWithFlags.
  void record(const StreamRef &stream, RecordFlags flags, Where where = Where::current()) const {
    detail::check(
        stream.driver().cuEventRecordWithFlags(this->handle(), stream.handle(), detail::number(flags)),
        "cuEventRecordWithFlags", where, this->self(), stream,
        detail::Argument{"flags", detail::number(flags)});
  }
  // Records the event in the default stream of the current context. Driver calls: cuEventRecord.
  void record(Where where = Where::current()) const { record(default_stream(this->driver()), where); }

  static constexpr const char *kNoun = "event";
  static constexpr detail::NamedCall kDestroy{"cuEventDestroy", &Driver::cuEventDestroy};
  static constexpr detail::NamedCall kQuery{"cuEventQuery", &Driver::cuEventQuery};
  static constexpr detail::NamedCall kSynchronize{"cuEventSynchronize", &Driver::cuEventSynchronize};

 protected:
  EventCalls() = default;
  EventCalls(const EventCalls &) = default;
  EventCalls &operator=(const EventCalls &) = default;
};

// A reference to an event that was created with timing. Owns nothing. Converts to EventRef.
class TimedEventRef : public EventCalls<TimedEventRef> {
 public:
  // Empty: no event.
  TimedEventRef() = default;

  // Returns a reference to a raw event that was created with timing; it may be a cudaEvent_t. No driver call.
  static TimedEventRef from_handle(CUevent handle, Driver &driver = cushim::driver()) noexcept {
    return TimedEventRef(EventRef::from_handle(handle, driver), false);
  }

  // Returns the reference without timing. No driver call.
  const EventRef &ref() const noexcept { return event_; }
  operator const EventRef &() const noexcept { return event_; }

 private:
  friend class TimedEvent;
  friend class ElapsedTime;
  TimedEventRef(const EventRef &event, bool is_surely_timed) noexcept
      : event_(event), is_surely_timed_(is_surely_timed) {}

  EventRef event_;
  bool is_surely_timed_ = false;  // for error messages
};

// Returns the time from start to end. Both must have been recorded in streams of one context, and be
// complete; otherwise throws an Error that names the event which is not timed, not recorded or not complete.
// Driver calls: cuEventElapsedTime. Headers of 13.0 and newer mean its second ABI; if the driver is older
// than that ABI (12.8), the first ABI is called. After a failure, to find the reason: cuEventQuery, and
// cuEventElapsedTime of each event with itself.
Milliseconds elapsed(TimedEventRef start, TimedEventRef end, Where where = Where::current());

// Returns elapsed(start, end).
inline Milliseconds operator-(TimedEventRef end, TimedEventRef start) { return elapsed(start, end, Where{}); }

}  // namespace CUSHIM_DEFAULT_STREAM

namespace detail {
inline namespace CUSHIM_DEFAULT_STREAM {

// The base of classes that own an event. type_flags are the creation flags of the type Self.
template <class Self, unsigned type_flags>
class EventOwner : public Owner<Self, EventRef, EventCalls> {
 public:
  // Creates an event in the current context. Driver calls: cuEventCreate; at the end cuEventDestroy.
  static Self create(EventFlags flags = EventFlags::none, Driver &driver = cushim::driver(),
                     Where where = Where::current()) {
    const unsigned all = number(flags) | type_flags;
    CUevent handle = nullptr;
    check(driver.cuEventCreate(&handle, all), "cuEventCreate", where, Through{&driver},
          Argument{"flags", all});
    return Self(handle, driver, all);
  }

  // Creates an event in a given context. Driver calls: push, cuEventCreate, pop; at the end
  // cuEventDestroy.
  static Self create(ContextRef context, EventFlags flags = EventFlags::none,
                     Where where = Where::current()) {
    return Creation::in(context, where, [&] { return create(flags, context.driver(), where); });
  }

  // Creates an event in a device's primary context, which the event retains until it is destroyed. Driver
  // calls: cuDevicePrimaryCtxRetain, push, cuEventCreate, pop; at the end cuEventDestroy,
  // cuDevicePrimaryCtxRelease.
  static Self create(Device device, EventFlags flags = EventFlags::none, Where where = Where::current()) {
    return Creation::on(device, where, [&] { return create(flags, device.driver(), where); });
  }

  // Creates an event in the context of a stream, and records it there. Driver calls: cuStreamGetCtx, push,
  // cuEventCreate, pop, cuEventRecord; at the end cuEventDestroy.
  static Self recorded(const StreamRef &stream, EventFlags flags = EventFlags::none,
                       Where where = Where::current()) {
    Self event = create(stream.context(where), flags, where);
    event.record(stream, where);
    return event;
  }

  // Takes ownership of an existing event that was created with these flags and those of the type. No driver
  // call.
  static Self adopt(CUevent handle, EventFlags flags = EventFlags::none,
                    Driver &driver = cushim::driver()) noexcept {
    return Self(handle, driver, number(flags) | type_flags);
  }

  // Return whether the event was created or adopted with these properties; false if this is empty. No driver
  // call.
  bool is_timing_enabled() const noexcept {
    return !this->is_empty() && (this->creation_flags() & CU_EVENT_DISABLE_TIMING) == 0;
  }
  bool is_blocking_sync() const noexcept { return (this->creation_flags() & CU_EVENT_BLOCKING_SYNC) != 0; }
  bool is_ipc_enabled() const noexcept { return (this->creation_flags() & CU_EVENT_INTERPROCESS) != 0; }

  // Returns the event's context if it was given at creation; the driver has no query for it. No driver call.
  std::optional<ContextRef> context() const noexcept { return this->home().context(); }
  // Returns the event's device if the device or the context was given at creation. Driver calls: none if it
  // was created on a device, else push, cuCtxGetDevice, pop.
  std::optional<Device> device(Where where = Where::current()) const { return this->home().device(where); }

 protected:
  EventOwner() = default;
  using EventOwner::Owner::Owner;
};

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace detail

inline namespace CUSHIM_DEFAULT_STREAM {

// Owns an event without timing. To share it, use a std::shared_ptr.
class Event : public detail::EventOwner<Event, CU_EVENT_DISABLE_TIMING> {
 public:
 private:
  friend EventOwner;
  using EventOwner::EventOwner;
};

// Owns an event with timing.
class TimedEvent : public detail::EventOwner<TimedEvent, CU_EVENT_DEFAULT> {
 public:
  // Returns a reference with timing, which must not outlive this. No driver call.
  operator TimedEventRef() const noexcept { return TimedEventRef(ref(), true); }

 private:
  friend EventOwner;
  using EventOwner::EventOwner;
};

// Implements elapsed(), and finds the reason if it fails.
class ElapsedTime {
 public:
  // Returns the time between two events. Driver calls: those of elapsed().
  static Milliseconds between(TimedEventRef start, TimedEventRef end, Where where) {
    float milliseconds = 0;
    const CUresult result = call(start, end, milliseconds);
    if (result != CUDA_SUCCESS) [[unlikely]]
      explain(result, start, end, where);
    return Milliseconds(milliseconds);
  }

 private:
  static CUresult call(const EventRef &start, const EventRef &end, float &milliseconds) {
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
    detail::fail(result, "cuEventElapsedTime", where, start.ref(), end.ref(),
                 detail::Remark{reasons.c_str()});
  }

  static void add(std::string &reasons, const char *name, TimedEventRef event) {
    if (event.is_empty()) return;  // the event's own text says so
    float none = 0;
    const bool is_complete = event.driver().cuEventQuery(event.handle()) == CUDA_SUCCESS;
    const bool is_usable = call(event, event, none) != CUDA_ERROR_INVALID_HANDLE;
    const char *reason = nullptr;
    if (!is_usable && event.is_surely_timed_)
      reason = " was not recorded";
    else if (!is_usable && !is_complete)
      reason = " is not timed";  // not complete, so it was recorded
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

// ---- Waits of streams for events ------------------------------------------------------------------

template <class Self>
void StreamCalls<Self>::wait(const EventRef &event, WaitFlags flags, Where where) const {
  detail::check(this->driver().cuStreamWaitEvent(this->handle(), event.handle(), detail::number(flags)),
                "cuStreamWaitEvent", where, this->self(), event);
}

template <class Self>
void StreamCalls<Self>::wait(const StreamRef &other, Where where) const {
  Event done = Event::recorded(other, EventFlags::none, where);
  wait(done, WaitFlags::none, where);
  done.close(where);
}

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace v1
}  // namespace cushim
