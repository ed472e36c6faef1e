// SPDX-License-Identifier: Apache-2.0
// Entry points for events that are shared between processes (CUipcEventHandle).
#include <bit>
#include <cerrno>

#include "api/service.hpp"

namespace cushim::sim {
namespace {

CUresult get_handle(Call &call, CUipcEventHandle *out, CUevent handle) {
  require(out != nullptr && handle != nullptr);
  call.context();
  Event &event = call.event(handle);
  require(event.is_interprocess(), CUDA_ERROR_INVALID_HANDLE);
  require(event.shared == nullptr || !event.shared->is_imported(), CUDA_ERROR_INVALID_HANDLE);
  if (event.shared == nullptr) {
    const auto table = call.system.sharing.own();
    if (table == nullptr) {
      report_limit(call.name, errno);
      fail(CUDA_ERROR_OUT_OF_MEMORY);
    }
    auto shared = SharedEvent::make(table);
    require(shared != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
    call.system.engine.work_in_background();
    if (event.record != nullptr) {
      event.record_number = shared->record();
      const auto complete = [shared, number = event.record_number](Time at) { shared->complete(number, at); };
      if (event.record->is_complete())
        complete(event.record->completed_at);
      else
        event.record->call_on_complete(complete);
    }
    event.shared = std::move(shared);
  }
  *out = std::bit_cast<CUipcEventHandle>(event.shared->handle());
  return CUDA_SUCCESS;
}

CUresult open(Call &call, CUevent *out, CUipcEventHandle raw) {
  require(out != nullptr);
  Context &context = call.context();
  const auto handle = std::bit_cast<ShareHandle>(raw);
  require(handle.is(ShareHandle::Kind::event), CUDA_ERROR_MAP_FAILED);
  auto shared = SharedEvent::open(call.open_table(handle, CUDA_ERROR_MAP_FAILED), handle);
  require(shared != nullptr, CUDA_ERROR_MAP_FAILED);
  auto event = std::make_unique<Event>();
  event->context = &context;
  event->flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
  event->shared = std::move(shared);
  event->join(context.objects);
  call.system.engine.work_in_background();
  *out = reinterpret_cast<CUevent>(call.system.handles.add(std::move(event)).handle);
  return CUDA_SUCCESS;
}

}  // namespace

void serve_ipc_events(Service &service) {
  service.serve<"cuIpcGetEventHandle", get_handle>();
  service.serve<"cuIpcOpenEventHandle", open>();
}

}  // namespace cushim::sim
