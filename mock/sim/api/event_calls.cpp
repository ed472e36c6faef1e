// SPDX-License-Identifier: Apache-2.0
#include "api/service.hpp"

namespace cushim::sim {
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

CUresult record_with_flags(Call &call, CUevent handle, CUstream into, unsigned flags) {
  Stream &stream = call.stream(into);
  Event &event = call.event(handle);
  require((flags & ~unsigned{CU_EVENT_RECORD_EXTERNAL}) == 0);
  require(flags == 0, CUDA_ERROR_ILLEGAL_STATE);  // has a meaning only during stream capture
  require(event.context == stream.context, CUDA_ERROR_INVALID_HANDLE);
  Operation operation{.cost = call.costs(*stream.context).event_record};
  // Serializes records of an INTERPROCESS event across streams and processes. Measured, driver 580.
  if (event.is_interprocess()) operation.come_after(call.work_of(event));
  if (event.shared != nullptr) {
    event.record_number = event.shared->record();
    operation.on_complete = [shared = event.shared, number = event.record_number](Time at) {
      shared->complete(number, at);
    };
  }
  // Recording a DISABLE_TIMING event adds no work to an idle stream: behind a busy legacy stream the event is
  // not complete, but the stream is. Measured, driver 580.
  const bool only_marks = event.flags == CU_EVENT_DISABLE_TIMING && is_complete(stream.tail) &&
                          stream.is_blocking() && stream.context->legacy != nullptr &&
                          !is_complete(stream.context->legacy->tail);
  const Work before = stream.tail;
  const Work work = event.record = call.add(stream, std::move(operation));
  if (only_marks) stream.tail = before;
  call.start(work);
  return CUDA_SUCCESS;
}

CUresult record(Call &call, CUevent event, CUstream stream) {
  return record_with_flags(call, event, stream, 0);
}

CUresult query(Call &call, CUevent handle) {
  require(handle != nullptr, CUDA_ERROR_INVALID_HANDLE);  // checked first
  require_admitted(call, When::also_in_host_functions);
  Event &event = call.event(handle);
  const bool is_complete =
      event.shared == nullptr ? call.query(event.record) : call.query(call.work_of(event));
  return is_complete ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult synchronize(Call &call, CUevent handle) {
  const Work work = call.work_of(call.event(handle));
  call.wait(work);
  return CUDA_SUCCESS;
}

CUresult elapsed(Call &call, float *milliseconds, CUevent start_handle, CUevent end_handle) {
  require(milliseconds != nullptr, CUDA_ERROR_INVALID_HANDLE);  // as driver 580
  const Event &start = call.event(start_handle), &end = call.event(end_handle);
  require(start.context == end.context, CUDA_ERROR_INVALID_HANDLE);
  require(start.is_timed() && end.is_timed(), CUDA_ERROR_INVALID_HANDLE);
  require(start.record != nullptr && end.record != nullptr, CUDA_ERROR_INVALID_HANDLE);
  const Work works[] = {start.record, end.record};
  if (!call.query(works)) return CUDA_ERROR_NOT_READY;
  *milliseconds =
      static_cast<float>(static_cast<double>(works[1]->completed_at - works[0]->completed_at) / 1e6);
  return CUDA_SUCCESS;
}

CUresult wait_for(Call &call, CUstream handle, CUevent event_handle, unsigned flags) {
  Stream &stream = call.stream(handle);
  require((flags & ~unsigned{CU_EVENT_WAIT_EXTERNAL}) == 0);
  Event &event = call.event(event_handle);
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

void serve_events(Service &service) {
  service.serve<"cuEventCreate", create>();
  service.serve<"cuEventDestroy", destroy>();
  service.serve<"cuEventRecord", record>();
  service.serve<"cuEventRecordWithFlags", record_with_flags>();
  service.serve<"cuEventQuery", query, When::anytime>();
  service.serve<"cuEventSynchronize", synchronize>();
  service.serve<"cuEventElapsedTime", elapsed>();
  service.serve<"cuStreamWaitEvent", wait_for>();
}

}  // namespace cushim::sim
