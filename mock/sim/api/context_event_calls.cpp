// SPDX-License-Identifier: Apache-2.0
// Events that record the work of all streams of a context, and contexts whose later work waits for an event.
#include "api/event_calls.hpp"
#include "api/service.hpp"
#include "graphs/capturing.hpp"

#if CUDA_VERSION >= 12040

namespace cushim::sim {
namespace {

// A context or a green context, by the handle of either.
struct Target {
  Context &context;
  GreenContext *green = nullptr;

  bool has(const Stream &stream) const { return green == nullptr || stream.green == green->handle; }
};

Target target_of(Call &call, const void *handle) {
  auto *const green = call.system.handles.find<GreenContext>(handle);
  Context &context =
      call.context(reinterpret_cast<CUcontext>(const_cast<void *>(handle)));  // for a green one its primary
  require(context.is_alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  require_no_fault(context);
  return {context, green};
}

// For a green context, captures of its own streams only: measured on an H200, driver 580.
void require_no_capture_of(Call &call, const Target &target) {
  require_no_capture(call.system, target.context, target.green != nullptr ? target.green->handle : 0);
}

// The record is in no stream: later work does not wait for it.
template <class Handle>
CUresult record(Call &call, Handle handle, CUevent event_handle) {
  const Target target = target_of(call, handle);
  Context &context = target.context;
  Event &event = call.event(event_handle);
  require_no_capture_of(call, target);
  require(event.context == &context, CUDA_ERROR_INVALID_HANDLE);
  event.captured.reset();
  Operation operation = record_operation(call, event);
  operation.name = call.name;
  operation.owner = &context;
  for (const Stream *stream : context.streams)
    if (target.has(*stream)) operation.come_after(stream->tail);
  if (target.green == nullptr) {
    for (const auto &[thread, stream] : context.per_thread) operation.come_after(stream->tail);
    for (const Context::PendingTail &left : context.pending_tails) operation.come_after(left.tail);
    if (context.legacy != nullptr) operation.come_after(context.legacy->tail);
  }
  call.system.engine.spend(call.costs(context).call);
  std::erase_if(context.pending_tails, [](const auto &left) { return is_complete(left.tail); });
  context.pending_tails.reserve(context.pending_tails.size() + 1);
  const Work work = event.record = call.system.engine.add(std::move(operation));
  context.pending_tails.push_back({work, false});
  call.start(work);
  return CUDA_SUCCESS;
}

// An idle stream stays idle: only later work waits. Measured on an H200, driver 580.
template <class Handle>
CUresult wait(Call &call, Handle handle, CUevent event_handle) {
  const Target target = target_of(call, handle);
  Event &event = call.event(event_handle);
  if (event.captured != nullptr) require(is_active(call.system, *event.captured->capture));
  require_no_capture_of(call, target);
  require(event.captured == nullptr, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);  // not measured
  AwaitedEvents &awaited = target.green != nullptr ? target.green->awaited : target.context.awaited;
  awaited.add(call.work_of(event));
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_context_events = {
    entry<"cuCtxRecordEvent", record<CUcontext>>,
    entry<"cuCtxWaitEvent", wait<CUcontext>>,
    entry<"cuGreenCtxRecordEvent", record<CUgreenCtx>>,
    entry<"cuGreenCtxWaitEvent", wait<CUgreenCtx>>,
};

}  // namespace cushim::sim

#endif
