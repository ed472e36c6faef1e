// SPDX-License-Identifier: Apache-2.0
#include "api/event_calls.hpp"

#include "api/service.hpp"
#include "commands/submit.hpp"
#include "graphs/capturing.hpp"

namespace cushim::sim {

// A node of a graph waits for the last record before the launch.
PreparedCommand prepare(Call &call, Context &, const EventWait &command) {
  const Event &event = call.event(command.event);
  require(!event.is_interprocess(), CUDA_ERROR_NOT_SUPPORTED);  // not implemented
  PreparedCommand wait;
  wait.operation.come_after(event.record);
  return wait;
}

Operation record_operation(Call &call, Event &event) {
  Operation operation{.cost = call.costs(*event.context).event_record};
  // Serializes records of an INTERPROCESS event across streams and processes. Measured, driver 580.
  if (event.is_interprocess()) operation.come_after(call.work_of(event));
  if (event.shared != nullptr) {
    event.record_number = event.shared->record();
    operation.on_complete = [shared = event.shared, number = event.record_number](Time at) {
      shared->complete(number, at);
    };
  }
  return operation;
}

void record_outside_of_captures(Call &call, Event &event, Stream &stream) {
  event.captured.reset();
  Operation operation = record_operation(call, event);
  // Recording a DISABLE_TIMING event adds no work to an idle stream: behind a busy legacy stream the event is
  // not complete, but the stream is. Measured, driver 580.
  const bool only_marks = event.flags == CU_EVENT_DISABLE_TIMING && is_complete(stream.tail) &&
                          stream.is_blocking() && stream.context->legacy != nullptr &&
                          !is_complete(stream.context->legacy->tail);
  const Work before = stream.tail;
  const Work work = event.record = call.add(stream, std::move(operation));
  if (only_marks) stream.tail = before;
  call.start(work);
}

namespace {

constexpr unsigned kFlags = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

CUresult create(Call &call, CUevent *out, unsigned flags) {
  Context &context = call.context();
  require(out != nullptr);
  require((flags & ~kFlags) == 0);
  require((flags & CU_EVENT_INTERPROCESS) == 0 || (flags & CU_EVENT_DISABLE_TIMING) != 0);
  auto event = call.system.spare_events.make();
  event->context = &context;
  event->flags = flags;
  event->join(context.objects);
  *out = reinterpret_cast<CUevent>(call.system.handles.add(std::move(event)).handle);
  return CUDA_SUCCESS;
}

// The captured work continues, and streams that wait for the event keep waiting for it.
CUresult destroy(Call &call, CUevent handle) {
  call.system.spare_events.keep(call.system.handles.take(call.event(handle), call.name));
  return CUDA_SUCCESS;
}

// An external record is a node of the graph; any other marks a point in the capture.
CUresult record_in_capture(Call &call, Event &event, CUevent handle, Stream &stream, unsigned flags) {
  if (flags == 0)
    event.captured = std::make_unique<CapturePoint>(*stream.capture);
  else
    capture(call, stream, EventRecord{handle}, nullptr);
  return CUDA_SUCCESS;
}

CUresult record_with_flags(Call &call, CUevent handle, CUstream into, unsigned flags) {
  Stream &stream = call.stream(into);
  Event &event = call.event(handle);
  require((flags & ~unsigned{CU_EVENT_RECORD_EXTERNAL}) == 0);
  // The flag has a meaning only during stream capture.
  require(flags == 0 || stream.capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
  // A node may record an event of another context. Measured, driver 580.
  require(flags != 0 || event.context == stream.context, CUDA_ERROR_INVALID_HANDLE);
  if (stream.capture != nullptr) return record_in_capture(call, event, handle, stream, flags);
  record_outside_of_captures(call, event, stream);
  return CUDA_SUCCESS;
}

CUresult record(Call &call, CUevent event, CUstream stream) {
  return record_with_flags(call, event, stream, 0);
}

// Throws for an event that was last recorded in a stream capture: CAPTURED_EVENT; INVALID_VALUE if that is
// invalid or has ended. Measured, driver 580.
enum class Breaks { nothing, the_capture };
void require_not_captured(Call &call, const Event &event, Breaks breaks = Breaks::the_capture) {
  if (event.captured == nullptr) return;
  Capture &capture = *event.captured->capture;
  require(is_active(call.system, capture) && capture.is_valid);
  if (breaks == Breaks::the_capture) capture.is_valid = false;
  fail(CUDA_ERROR_CAPTURED_EVENT);
}

CUresult query(Call &call, CUevent handle) {
  require(handle != nullptr, CUDA_ERROR_INVALID_HANDLE);  // checked first
  require_admitted(call);
  Event &event = call.event(handle);
  require_not_captured(call, event);
  require_no_strict_capture(call);
  const bool is_complete =
      event.shared == nullptr ? call.query(event.record) : call.query(call.work_of(event));
  return is_complete ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult synchronize(Call &call, CUevent handle) {
  Event &event = call.event(handle);
  require_not_captured(call, event);
  require_no_strict_capture(call);
  const Work work = call.work_of(event);
  call.wait(work);
  return CUDA_SUCCESS;
}

CUresult elapsed(Call &call, float *milliseconds, CUevent start_handle, CUevent end_handle) {
  require(milliseconds != nullptr, CUDA_ERROR_INVALID_HANDLE);  // as driver 580
  const Event &start = call.event(start_handle), &end = call.event(end_handle);
  for (const Event *const each : {&start, &end}) require_not_captured(call, *each, Breaks::nothing);
  require(start.context == end.context, CUDA_ERROR_INVALID_HANDLE);
  require(start.is_timed() && end.is_timed(), CUDA_ERROR_INVALID_HANDLE);
  require(start.record != nullptr && end.record != nullptr, CUDA_ERROR_INVALID_HANDLE);
  const Work works[] = {start.record, end.record};
  if (!call.query(works)) return CUDA_ERROR_NOT_READY;
  *milliseconds =
      static_cast<float>(static_cast<double>(works[1]->completed_at - works[0]->completed_at) / 1e6);
  return CUDA_SUCCESS;
}

// An external wait is a node of the graph; any other would depend on work outside the capture.
CUresult wait_in_capture(Call &call, const Event &event, CUevent handle, Stream &stream, unsigned flags) {
  if (flags != 0)
    capture(call, stream, EventWait{handle}, nullptr);
  else if (event.record != nullptr)
    refuse_in_capture(stream, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  return CUDA_SUCCESS;
}

// Returns the event; else INVALID_HANDLE, or INVALID_VALUE if it was recorded in a capture that is invalid or
// has ended. An error invalidates the capture of the stream. Measured, driver 580.
Event &event_to_wait_for(Call &call, const Stream &stream, CUevent handle) try {
  Event &event = call.event(handle);
  if (event.captured != nullptr) require(is_active(call.system, *event.captured->capture));
  if (event.captured != nullptr) require(event.captured->capture->is_valid);
  return event;
} catch (const CallError &error) {
  if (stream.capture == nullptr) throw;
  refuse_in_capture(stream, error.code);
}

CUresult wait_for(Call &call, CUstream handle, CUevent event_handle, unsigned flags) {
  Stream &stream = call.stream(handle);
  require((flags & ~unsigned{CU_EVENT_WAIT_EXTERNAL}) == 0);
  Event &event = event_to_wait_for(call, stream, event_handle);
  if (event.captured != nullptr && flags == 0) return join_capture(stream, *event.captured), CUDA_SUCCESS;
  if (stream.capture != nullptr) return wait_in_capture(call, event, event_handle, stream, flags);
  require(flags == 0, CUDA_ERROR_ILLEGAL_STATE);
  const Work work = call.work_of(event);
  if (work == nullptr && !event.is_interprocess()) return CUDA_SUCCESS;
  // A wait for a complete event adds no work that would keep the stream busy or that the legacy stream would
  // order. In the legacy stream, however, it follows the work of blocking streams, and for an INTERPROCESS
  // event it is always work. Measured, driver 580. In any case, later work in the stream starts after the
  // event in virtual time.
  if (!stream.is_legacy && !event.is_interprocess() && is_complete(work) && is_complete(stream.tail) &&
      work->fault == CUDA_SUCCESS) {
    call.system.engine.spend(call.costs(*stream.context).call);
    if (stream.tail == nullptr || stream.tail->completed_at < work->completed_at) stream.tail = work;
    return CUDA_SUCCESS;
  }
  const auto order = is_complete(work) && !event.is_interprocess() ? Call::Order::of_the_stream
                                                                   : Call::Order::of_the_legacy_stream_too;
  Operation operation;
  operation.come_after(work);
  call.enqueue(stream, std::move(operation), order);
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_events = {
    entry<"cuEventCreate", create>,
    entry<"cuEventDestroy", destroy>,
    entry<"cuEventRecord", record>,
    entry<"cuEventRecordWithFlags", record_with_flags>,
    entry<"cuEventQuery", query, When::anytime>,
    entry<"cuEventSynchronize", synchronize>,
    entry<"cuEventElapsedTime", elapsed>,
    entry<"cuStreamWaitEvent", wait_for>,
};

}  // namespace cushim::sim
