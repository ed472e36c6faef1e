// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "api/context_calls.hpp"
#include "api/launch_attributes.hpp"
#include "api/launch_options.hpp"
#include "graphs/capturing.hpp"

namespace cushim::sim {
namespace {

CUresult create_with_priority(Call &call, CUstream *out, unsigned flags, int priority) {
  require(out != nullptr && (flags & ~unsigned{CU_STREAM_NON_BLOCKING}) == 0);
  Context &context = call.context();
  Stream &made = make_stream(call, context, flags, priority);
  made.green = call.thread().stack.green();
  *out = reinterpret_cast<CUstream>(made.handle);
  return CUDA_SUCCESS;
}

CUresult create(Call &call, CUstream *out, unsigned flags) {
  // Both are checked before the driver's state.
  require(out != nullptr);
  require((flags & ~unsigned{CU_STREAM_NON_BLOCKING}) == 0);
  require_admitted(call);
  return create_with_priority(call, out, flags, 0);
}

// Returns immediately; the stream's pending work continues.
CUresult destroy(Call &call, CUstream handle) {
  require(handle != nullptr, CUDA_ERROR_INVALID_HANDLE);
  if (handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) call.context();
  require(handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD, CUDA_ERROR_INVALID_HANDLE);
  Stream &stream = call.stream(handle);
  leave_capture(call.system, stream);
  stream.context->remove_stream(stream);
  call.system.handles.erase(stream, call.name);
  return CUDA_SUCCESS;
}

CUresult query(Call &call, CUstream handle) {
  Stream &stream = call.stream(handle);
  const bool is_idle = stream.is_legacy ? call.query(call.works_of(stream)) : call.query(stream.tail);
  return is_idle ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult synchronize(Call &call, CUstream handle) {
  call.wait(call.works_of(call.stream(handle)));
  return CUDA_SUCCESS;
}

CUresult get_priority(Call &call, CUstream handle, int *priority) {
  require(priority != nullptr);
  *priority = call.stream(handle).priority;
  return CUDA_SUCCESS;
}

CUresult get_flags(Call &call, CUstream handle, unsigned *flags) {
  require(flags != nullptr);
  *flags = call.stream(handle).flags;
  return CUDA_SUCCESS;
}

CUresult get_id(Call &call, CUstream handle, unsigned long long *id) {
  require(id != nullptr);
  *id = call.stream(handle).id;
  return CUDA_SUCCESS;
}

CUresult get_context(Call &call, CUstream handle, CUcontext *context) {
  require(context != nullptr);
  const Stream &stream = call.stream(handle);
  const std::uintptr_t green = green_of_stream(call, handle);
  *context = reinterpret_cast<CUcontext>(green != 0 ? green : stream.context->handle);
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12050
CUresult get_context_or_green(Call &call, CUstream handle, CUcontext *context, CUgreenCtx *green) {
  require(context != nullptr || green != nullptr);
  Context &of_stream = *call.stream(handle).context;
  if (context != nullptr) *context = reinterpret_cast<CUcontext>(of_stream.handle);
  if (green != nullptr) *green = reinterpret_cast<CUgreenCtx>(green_of_stream(call, handle));
  return CUDA_SUCCESS;
}
#endif

CUresult get_device(Call &call, CUstream handle, CUdevice *device) {
  require(device != nullptr);
  *device = call.stream(handle).context->device->ordinal;
  return CUDA_SUCCESS;
}

// ---- Attributes ----

CUresult get_attribute(Call &call, CUstream handle, CUstreamAttrID id, CUstreamAttrValue *value) {
  const Stream &stream = call.stream(handle);
  require(value != nullptr);
  const int number = static_cast<int>(id);
  const auto set = stream.attributes.find(number);
  switch (number) {
    case launch_attribute::access_policy_window:
    case launch_attribute::synchronization_policy:
    case launch_attribute::memory_domain_map:
    case launch_attribute::memory_domain: {
      const CUstreamAttrValue found =
          set != stream.attributes.end() ? set->second : launch_attribute::initial_value(number);
      std::memcpy(value, &found, launch_attribute::size_of(number));
      return CUDA_SUCCESS;
    }
    case launch_attribute::priority:
      std::memcpy(value, &stream.priority, sizeof stream.priority);
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult set_attribute(Call &call, CUstream handle, CUstreamAttrID id, const CUstreamAttrValue *value) {
  Stream &stream = call.stream(handle);
  require(value != nullptr);
  int number = 0;
  std::memcpy(&number, value, sizeof number);
  switch (static_cast<int>(id)) {
    case launch_attribute::synchronization_policy:
      require(number >= CU_SYNC_POLICY_AUTO && number <= CU_SYNC_POLICY_BLOCKING_SYNC);
      break;
    case launch_attribute::memory_domain:
      require(number == 0 || number == 1);  // measured on an H200, driver 580
      break;
    case launch_attribute::memory_domain_map:
      check_domains(*value);
      break;
    case launch_attribute::access_policy_window:
      break;
    case launch_attribute::priority:
      stream.priority = launch_attribute::clamped_priority(*stream.context->device, number);
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  stream.attributes[static_cast<int>(id)] = *value;
  return CUDA_SUCCESS;
}

CUresult copy_attributes(Call &call, CUstream to, CUstream from) {
  Stream &target = call.stream(to);
  const Stream &source = call.stream(from);
  require(target.context == source.context);
  target.attributes = source.attributes;
  target.priority = source.priority;
  return CUDA_SUCCESS;
}

CUresult attach(Call &call, CUstream handle, CUdeviceptr address, std::size_t size, unsigned flags) {
  Stream &stream = call.stream(handle);
  require(flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST || flags == CU_MEM_ATTACH_SINGLE);
  const Allocation *const allocation = call.system.memory.find(address);
  require(allocation != nullptr && allocation->kind == MemoryKind::managed && allocation->base == address);
  require(size == 0 || size == allocation->size);
  // Accepts CU_STREAM_LEGACY. Measured on an H200, driver 580.
  require(flags != CU_MEM_ATTACH_SINGLE || handle != nullptr);
  call.enqueue(stream, {});
  return CUDA_SUCCESS;
}

}  // namespace

Stream &make_stream(Call &call, Context &context, unsigned flags, int priority) {
  auto stream = std::make_unique<Stream>();
  stream->context = &context;
  stream->id = ++call.system.last_id;
  stream->flags = flags;
  stream->priority = launch_attribute::clamped_priority(*context.device, priority);
  call.system.handles.reserve(1);
  Stream &made = call.system.handles.add(std::move(stream));
  context.add_stream(made);
  return made;
}

std::uintptr_t green_of_stream(Call &call, CUstream handle) {
  const Stream &stream = call.stream(handle);
  return stream.is_legacy || handle == nullptr ? call.thread().stack.green() : stream.green;
}

void serve_streams(Service &service) {
  service.serve<"cuStreamCreate", create, When::anytime>();
  service.serve<"cuStreamCreateWithPriority", create_with_priority>();
  service.serve<"cuStreamDestroy", destroy>();
  service.serve<"cuStreamQuery", query>();
  service.serve<"cuStreamSynchronize", synchronize>();
  service.serve<"cuStreamGetPriority", get_priority>();
  service.serve<"cuStreamGetFlags", get_flags>();
  service.serve<"cuStreamGetId", get_id>();
  service.serve<"cuStreamGetCtx", get_context>();
#if CUDA_VERSION >= 12050
  service.serve<"cuStreamGetCtx", get_context_or_green>();
#endif
  service.serve<"cuStreamGetDevice", get_device>();
  service.serve<"cuStreamGetAttribute", get_attribute>();
  service.serve<"cuStreamSetAttribute", set_attribute>();
  service.serve<"cuStreamCopyAttributes", copy_attributes>();
  service.serve<"cuStreamAttachMemAsync", attach>();
}

}  // namespace cushim::sim
