// SPDX-License-Identifier: Apache-2.0
#include "api/context_calls.hpp"
#include "graphs/capturing.hpp"
#include "memory/rounding.hpp"

#include <algorithm>

namespace cushim::sim {

namespace {

constexpr unsigned kSchedule = CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD | CU_CTX_BLOCKING_SYNC;
constexpr int kLimits = 10;  // as of CUDA 13
// 0x20 to 0x80 are the flags for coredumps and synchronous memory operations (CUDA 12.1).
constexpr unsigned kKnown = kSchedule | CU_CTX_MAP_HOST | CU_CTX_LMEM_RESIZE_TO_MAX | 0x20u | 0x40u | 0x80u;

CUcontext handle_of(const Context &context) { return reinterpret_cast<CUcontext>(context.handle); }

CUresult create(Call &call, CUcontext *out, unsigned flags, CUdevice number) {
  Device &device = call.device(number);
  require(out != nullptr);
  require(are_context_flags(flags));
  require(device.fault == CUDA_SUCCESS, device.fault);
  auto &stack = call.thread().stack;
  stack.reserve(stack.size() + 1);  // throws before the context is created
  Context &context = call.system.make_context(device, flags_read_back(flags));
  stack.push_back(&context);
  *out = handle_of(context);
  return CUDA_SUCCESS;
}

CUresult create_with_affinity(Call &call, CUcontext *out, CUexecAffinityParam *, int count, unsigned flags,
                              CUdevice number) {
  require(out != nullptr);
  require(count == 0, CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);  // needs MPS
  return create(call, out, flags, number);
}

#if CUDA_VERSION >= 12050
CUresult create_with_parameters(Call &call, CUcontext *out, CUctxCreateParams *parameters, unsigned flags,
                                CUdevice number) {
  if (parameters != nullptr && parameters->numExecAffinityParams != 0)
    return create_with_affinity(call, out, nullptr, 1, flags, number);
  require(parameters == nullptr || parameters->cigParams == nullptr, CUDA_ERROR_NOT_SUPPORTED);
  return create(call, out, flags, number);
}
#endif

CUresult destroy(Call &call, CUcontext handle) {
  require(handle != nullptr);
  Context &context = call.context(handle);
  require(!context.is_primary, CUDA_ERROR_INVALID_CONTEXT);
  const CUresult fault = call.end(context);
  auto &stack = call.thread().stack;
  if (!stack.empty() && stack.back() == &context) stack.pop_back();
  return fault;
}

// Returns the handle of a green context; 0 for other handles.
std::uintptr_t green_handle(Call &call, CUcontext handle) {
  const auto *const green = call.system.handles.find<GreenContext>(handle);
  return green != nullptr ? green->handle : 0;
}

CUresult push(Call &call, CUcontext handle) {
  require(handle != nullptr);
  call.thread().stack.push_back(&call.context(handle), green_handle(call, handle));
  return CUDA_SUCCESS;
}

CUresult pop(Call &call, CUcontext *out) {
  auto &stack = call.thread().stack;
  require(!stack.empty(), CUDA_ERROR_INVALID_CONTEXT);
  if (out != nullptr) *out = reinterpret_cast<CUcontext>(stack.current_handle());
  stack.pop_back();
  return CUDA_SUCCESS;
}

CUresult set_current(Call &call, CUcontext handle) {
  auto &stack = call.thread().stack;
  Context *const context = handle != nullptr ? &call.context(handle) : nullptr;
  if (!stack.empty()) stack.pop_back();
  if (context != nullptr) stack.push_back(context, green_handle(call, handle));
  return CUDA_SUCCESS;
}

CUresult get_current(Call &call, CUcontext *out) {
  return store(out, [&] { return reinterpret_cast<CUcontext>(call.thread().stack.current_handle()); });
}

CUresult get_device_of(Call &call, CUdevice *device, CUcontext handle) {
  return store(device, [&] {
    const Context &context = handle == nullptr ? call.current_or_destroyed() : call.context(handle);
    return context.device->ordinal;
  });
}

CUresult get_device(Call &call, CUdevice *device) { return get_device_of(call, device, nullptr); }

CUresult get_flags(Call &call, unsigned *flags) {
  require(flags != nullptr);
  const Context &context = call.current_or_destroyed();
  // The primary context always reports that it maps host memory; cuDevicePrimaryCtxGetState does not.
  // Measured, driver 580.
  *flags = context.flags | (context.is_primary ? unsigned{CU_CTX_MAP_HOST} : 0);
  return CUDA_SUCCESS;
}

CUresult set_flags(Call &call, unsigned flags) {
  Context &context = call.context();
  require(are_context_flags(flags));
  context.flags = flags_read_back(flags);
  if (context.is_primary) context.device->primary_flags = context.flags;
  return CUDA_SUCCESS;
}

CUresult get_id(Call &call, CUcontext handle, unsigned long long *id) {
  require(id != nullptr);
  const Context &context = handle == nullptr ? call.context() : call.context(handle);
  require(context.is_alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  *id = context.id;
  return CUDA_SUCCESS;
}

CUresult wait_for(Call &call, Context &context) {
  require_no_capture(call.system, context);
  const auto kept = context.entries;  // another call may destroy the context while this one waits
  call.wait(context.works());
  call.system.observe_complete(context);
  return CUDA_SUCCESS;
}

// A green context waits for its own streams.
CUresult wait_for_green(Call &call, std::uintptr_t green, Context &context) {
  require_no_capture(call.system, context);
  std::vector<Work> works;
  for (Stream *const stream : context.streams)
    if (stream->green == green) std::ranges::copy(call.works_of(*stream), std::back_inserter(works));
  call.wait(works);
  return CUDA_SUCCESS;
}

CUresult synchronize(Call &call) {
  // Captures are checked before the fault: measured, driver 580.
  const std::uintptr_t green = call.thread().stack.green();
  if (const Context *const current = call.current(); current != nullptr && green == 0)
    require_no_capture(call.system, *current);
  Context &context = call.context();
  return green != 0 ? wait_for_green(call, green, context) : wait_for(call, context);
}

CUresult synchronize_of(Call &call, CUcontext handle) {
  Context &context = handle == nullptr ? call.context() : call.context(handle);
  require(context.is_alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  if (const std::uintptr_t green = green_handle(call, handle)) return wait_for_green(call, green, context);
  return wait_for(call, context);
}

CUresult get_api_version(Call &call, CUcontext handle, unsigned *version) {
  const Context &context = handle == nullptr ? call.context() : call.context(handle);
  require(context.is_alive, CUDA_ERROR_INVALID_CONTEXT);
  require(version != nullptr);
  *version = context.api_version;
  return CUDA_SUCCESS;
}

CUresult get_priority_range(Call &call, int *least, int *greatest) {
  const Profile &profile = call.context().device->profile;
  if (least != nullptr) *least = profile.least_priority;
  if (greatest != nullptr) *greatest = profile.greatest_priority;
  return CUDA_SUCCESS;
}

// ---- Limits and preferences ----

// Returns the position of a limit in the limits of a context. UNSUPPORTED_LIMIT if the context lacks it,
// INVALID_VALUE if it is unknown.
template <class Limits>
auto find_limit(Limits &limits, CUlimit limit) {
  const int number = static_cast<int>(limit);
  const auto found = limits.find(number);
  require(found != limits.end(),
          number >= 0 && number < kLimits ? CUDA_ERROR_UNSUPPORTED_LIMIT : CUDA_ERROR_INVALID_VALUE);
  return found;
}

CUresult get_limit(Call &call, std::size_t *value, CUlimit limit) {
  const Context &context = call.context();
  require(value != nullptr);
  const auto place = find_limit(context.limits, limit);
  *value = place->second;
  return CUDA_SUCCESS;
}

// Returns the value that a limit takes when the program sets `wish`. Measured, driver 580 on an H200, except
// the largest stack size, which is from the programming guide (local memory per thread).
std::size_t granted(const Context &context, int limit, std::size_t now, std::size_t wish) {
  const auto attribute = [&](CUdevice_attribute which) {
    return static_cast<std::size_t>(context.device->attribute(which));
  };
  switch (limit) {
    case CU_LIMIT_STACK_SIZE:
      require(wish <= 512 << 10);
      // The stacks are reallocated only if their rounded size changes; otherwise the limit reads back
      // unrounded.
      return rounded_up(wish, 16) != rounded_up(now, 16) ? rounded_up(wish, 16) : wish;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
      return std::max<std::size_t>(512 << 10, rounded_up(wish, 256));
    case CU_LIMIT_MALLOC_HEAP_SIZE:
      return std::max<std::size_t>(4 << 20, rounded_up(wish, 64 << 10));
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
      return std::max<std::size_t>(32, wish);
    case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
      require(wish <= 128);
      return wish;
    case CU_LIMIT_PERSISTING_L2_CACHE_SIZE: {
      require(wish <= attribute(CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE));
      const std::size_t way = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE) / 16;
      return way != 0 ? rounded_up(wish, way) : wish;
    }
    default:  // limits of programs that share a device with graphics
      fail(CUDA_ERROR_NOT_PERMITTED);
  }
}

CUresult set_limit(Call &call, CUlimit limit, std::size_t value) {
  Context &context = call.context();
  const auto place = find_limit(context.limits, limit);
  place->second = granted(context, place->first, place->second, value);
  return CUDA_SUCCESS;
}

// Returns a setting of the current context.
template <auto setting, class Value>
CUresult get(Call &call, Value *value) {
  const Context &context = call.context();
  require(value != nullptr);
  *value = context.*setting;
  return CUDA_SUCCESS;
}

CUresult set_cache_config(Call &call, CUfunc_cache config) {
  Context &context = call.context();
  check_cache_config(config);
  context.cache_config = config;
  return CUDA_SUCCESS;
}

// Devices since Kepler have a fixed bank width and ignore the setting.
CUresult set_shared_config(Call &call, CUsharedconfig config) {
  call.context();
  check_shared_config(config);
  return CUDA_SUCCESS;
}

CUresult reset_persisting_cache(Call &call) {
  call.context();
  return CUDA_SUCCESS;
}

// ---- The reference count of the first releases ----

CUresult detach(Call &call, CUcontext handle) {
  call.context(handle);
  return destroy(call, handle);
}

CUresult attach(Call &call, CUcontext *out, unsigned flags) {
  const Context &context = call.context();
  require(out != nullptr && flags == 0);
  *out = handle_of(context);
  return CUDA_SUCCESS;
}

}  // namespace

unsigned flags_read_back(unsigned flags) noexcept {
  return (flags & 0x40u) != 0 ? (flags & ~0x40u) | 0x20u : flags;
}

bool are_context_flags(unsigned flags) noexcept {
  const unsigned schedule = flags & kSchedule;
  return (flags & ~kKnown) == 0 && (schedule & (schedule - 1)) == 0;
}

constinit const Entries entries_of_contexts = {
    // Creates a context with 32-bit addresses, unknown to a 64-bit process. Measured, driver 580.
    entries_with_result<CUDA_ERROR_OUT_OF_MEMORY, "cuCtxCreate_v2000">,
    entry<"cuCtxCreate_v3020", create>,
    entry<"cuCtxCreate", create_with_affinity>,
#if CUDA_VERSION >= 12050
    entry<"cuCtxCreate", create_with_parameters>,
#endif
    entry<"cuCtxDestroy", destroy>,
    entry<"cuCtxPushCurrent", push>,
    entry<"cuCtxPopCurrent", pop>,
    entry<"cuCtxSetCurrent", set_current>,
    entry<"cuCtxGetCurrent", get_current>,
    entry<"cuCtxGetDevice", get_device>,
    entry<"cuCtxGetDevice", get_device_of>,
    entry<"cuCtxGetFlags", get_flags>,
    entry<"cuCtxSetFlags", set_flags>,
    entry<"cuCtxGetId", get_id>,
    entry<"cuCtxSynchronize", synchronize>,
    entry<"cuCtxSynchronize", synchronize_of>,
    entry<"cuCtxGetApiVersion", get_api_version>,
    entry<"cuCtxGetStreamPriorityRange", get_priority_range>,
    entry<"cuCtxGetLimit", get_limit>,
    entry<"cuCtxSetLimit", set_limit>,
    entry<"cuCtxGetCacheConfig", get<&Context::cache_config, CUfunc_cache>>,
    entry<"cuCtxSetCacheConfig", set_cache_config>,
    entry<"cuCtxGetSharedMemConfig", get<&Context::shared_config, CUsharedconfig>>,
    entry<"cuCtxSetSharedMemConfig", set_shared_config>,
    entry<"cuCtxResetPersistingL2Cache", reset_persisting_cache>,
    entry<"cuCtxAttach", attach>,
    entry<"cuCtxDetach", detach>,
};

}  // namespace cushim::sim
