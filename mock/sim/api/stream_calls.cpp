// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "api/context_calls.hpp"
#include "api/launch_attributes.hpp"
#include "api/launch_options.hpp"
#include "commands/submit.hpp"
#include "graphs/capturing.hpp"

namespace cushim::sim {

PreparedCommand prepare(Call &call, Context &context, const HostFunction &command) {
  return {
      {.cost = call.costs(context).host_function, .on_host = [command] { command.function(command.data); }}};
}

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

// Returns a property of a stream.
template <auto property, class Value>
CUresult get(Call &call, CUstream handle, Value *value) {
  return store(value, [&] { return call.stream(handle).*property; });
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

// ---- Functions on the host ----

CUresult launch_host_function(Call &call, CUstream handle, CUhostFn function, void *data) {
  require(function != nullptr);
  Stream &stream = call.stream(handle);
  call.system.engine.start_host_thread();
  submit(call, stream, HostFunction{function, data});
  return CUDA_SUCCESS;
}

// Ignores the mode, which selects how the driver's thread waits for the function: it does not affect results.
CUresult launch_host_function_with_mode(Call &call, CUstream stream, CUhostFn function, void *data,
                                        unsigned mode) {
  require(mode <= 1);  // CU_HOST_TASK_SPINWAIT, since 13.1
  return launch_host_function(call, stream, function, data);
}

CUresult add_callback(Call &call, CUstream handle, CUstreamCallback callback, void *data, unsigned flags) {
  require(callback != nullptr && flags == 0);
  Stream &stream = call.stream(handle);
  call.system.engine.start_host_thread();
  call.enqueue(stream, {.cost = call.costs(*stream.context).host_function,
                        .on_host = [handle, callback, data] { callback(handle, CUDA_SUCCESS, data); }});
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

constinit const Entries entries_of_streams = {
    entry<"cuStreamCreate", create, When::anytime>,
    entry<"cuStreamCreateWithPriority", create_with_priority>,
    entry<"cuStreamDestroy", destroy>,
    entry<"cuStreamQuery", query>,
    entry<"cuStreamSynchronize", synchronize>,
    entry<"cuStreamGetPriority", get<&Stream::priority, int>>,
    entry<"cuStreamGetFlags", get<&Stream::flags, unsigned>>,
    entry<"cuStreamGetId", get<&Stream::id, unsigned long long>>,
    entry<"cuStreamGetCtx", get_context>,
#if CUDA_VERSION >= 12050
    entry<"cuStreamGetCtx", get_context_or_green>,
#endif
    entry<"cuStreamGetDevice", get_device>,
    entry<"cuStreamGetAttribute", get_attribute>,
    entry<"cuStreamSetAttribute", set_attribute>,
    entry<"cuStreamCopyAttributes", copy_attributes>,
    entry<"cuStreamAttachMemAsync", attach>,
    entry<"cuLaunchHostFunc_v10000", launch_host_function>,
    entry<"cuLaunchHostFunc_v13010", launch_host_function_with_mode>,
    entry<"cuStreamAddCallback", add_callback>,
};

}  // namespace cushim::sim
