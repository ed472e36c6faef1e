// SPDX-License-Identifier: Apache-2.0
#include "api/call.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "graphs/capture_rules.hpp"
#include "graphs/capturing.hpp"

namespace cushim::sim {

void fail(CUresult code) { throw CallError{code}; }

Device &Call::device(CUdevice number, CUresult otherwise) {
  require(has_device(number), otherwise);
  return *system.visible[static_cast<std::size_t>(number)];
}

Device *Call::device_with(const CUuuid &uuid) {
  const auto is_it = [&](const Device *device) {
    return std::memcmp(&device->uuid, &uuid, sizeof uuid) == 0;
  };
  const auto found = std::ranges::find_if(system.visible, is_it);
  return found != system.visible.end() ? *found : nullptr;
}

void Call::fail_without_context() const {
  fail(system.engine.is_host_thread() ? CUDA_ERROR_NOT_PERMITTED : CUDA_ERROR_INVALID_CONTEXT);
}

void Call::require_no_destroyed_context() {
  const Context *const context = current();
  require(context == nullptr || context->is_alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

Context &Call::context(CUcontext handle) {
  const auto *const green = system.handles.find<GreenContext>(handle);
  Context *const context = green != nullptr ? green->primary : system.handles.find<Context>(handle);
  if (context == nullptr || (!context->is_alive && !context->is_primary)) {
    report_misuse(handle, Kind::context);
    fail(CUDA_ERROR_INVALID_CONTEXT);
  }
  return *context;
}

Stream &Call::legacy(Context &context) {
  if (context.legacy == nullptr) {
    context.legacy = std::make_unique<Stream>();
    context.legacy->context = &context;
    context.legacy->is_legacy = true;
    context.legacy->id = ++system.last_id;
  }
  return *context.legacy;
}

Stream &Call::per_thread_stream(Context &context) {
  const auto found = context.per_thread.find(thread().number);
  if (found != context.per_thread.end()) return *found->second;
  context.sweep_per_thread();
  auto stream = std::make_unique<Stream>();
  stream->context = &context;
  stream->thread = thread().life;
  stream->id = ++system.last_id;
  return *context.per_thread.emplace(thread().number, std::move(stream)).first->second;
}

void Call::require_valid_capture(CUstream handle) {
  if (system.captures.empty()) return;
  const bool is_per_thread = handle == CU_STREAM_PER_THREAD || (handle == nullptr && per_thread);
  if (is_per_thread && current() == nullptr) return;
  const Stream *const stream =
      is_per_thread ? &per_thread_stream(*current()) : system.handles.find<Stream>(handle);
  const bool is_valid = stream == nullptr || stream->capture == nullptr || stream->capture->capture->is_valid;
  require(is_valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

namespace {

// Throws the error that captures cause in a call with this stream, and invalidates the captures that it
// breaks.
void follow_capture_rule(Call &call, const Stream &stream) {
  const CaptureRule rule =
      call.slot != Call::kNoSlot ? capture_rule_of(static_cast<std::size_t>(call.slot)) : CaptureRule{};
  if (stream.capture == nullptr) {
    if (rule.when == Unsafe::in_other_streams) require_no_strict_capture(call);
    return;
  }
  if (rule.stream == InCapture::unsupported) refuse_in_capture(stream);
  const bool is_valid = rule.stream == InCapture::ignored || stream.capture->capture->is_valid;
  require(is_valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

Stream &find_stream(Call &call, CUstream handle) {
  if (handle == CU_STREAM_LEGACY || (handle == nullptr && !call.per_thread)) {
    Stream &stream = call.legacy(call.context());
    if (!call.system.captures.empty()) require_no_blocking_capture(call.system, *stream.context);
    return stream;
  }
  if (handle == nullptr || handle == CU_STREAM_PER_THREAD) return call.per_thread_stream(call.context());
  Stream *const stream = call.system.handles.find<Stream>(handle);
  if (stream == nullptr) {
    call.report_misuse(handle, Kind::stream);
    fail(CUDA_ERROR_INVALID_HANDLE);
  }
  require(stream->context->is_alive && call.is_green_alive(stream->green), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  return *stream;
}

[[gnu::always_inline]] inline Event &find_event(Call &call, CUevent handle) {
  Event *const event = call.system.handles.find<Event>(handle);
  if (event == nullptr) [[unlikely]] {
    call.report_misuse(handle, Kind::event);
    fail(CUDA_ERROR_INVALID_HANDLE);
  }
  return *event;
}

}  // namespace

Stream &Call::stream(CUstream handle) { return require_healthy(captured_stream(handle)); }

Stream &Call::captured_stream(CUstream handle) {
  Stream &stream = find_stream(*this, handle);
  if (stream.capture == nullptr) require_healthy(stream);
  if (!system.captures.empty()) [[unlikely]]
    follow_capture_rule(*this, stream);
  return stream;
}

Event &Call::event(CUevent handle) { return require_healthy(find_event(*this, handle)); }

Event &Call::event_despite_fault(CUevent handle) { return find_event(*this, handle); }

Work Call::work_of(Event &event) {
  if (event.shared == nullptr) return event.record;
  const SharedEvent::Record last = event.shared->last();
  if (event.shared->is_complete(last.number)) {
    system.engine.advance_to(event.shared->completed_at());
    return nullptr;
  }
  if (event.record_number != last.number) {
    Work work = event.record = system.sharing.await(event.shared, last);
    event.record_number = last.number;
    system.engine.start(lock, work);
    return work;
  }
  return event.record;
}

Array &Call::array(CUarray handle, CUresult otherwise) {
  return require_healthy(array_despite_fault(handle, otherwise));
}

Array &Call::array_despite_fault(CUarray handle, CUresult otherwise) {
  Array *const array = system.handles.find<Array>(handle);
  if (array == nullptr || !array->is_usable()) {
    report_misuse(handle, Kind::array);
    fail(otherwise);
  }
  return *array;
}

Pool &Call::pool(CUmemoryPool handle) { return object<Pool>(handle, CUDA_ERROR_INVALID_VALUE); }

PhysicalHandle &Call::physical_handle(CUmemGenericAllocationHandle handle) {
  const auto *const wanted = reinterpret_cast<const void *>(static_cast<std::uintptr_t>(handle));
  return object<PhysicalHandle>(wanted, CUDA_ERROR_INVALID_VALUE);
}

Module &Call::module(CUmodule handle) { return require_healthy(object<Module>(handle)); }
Function &Call::function(CUfunction handle) {
  Function &function = object<Function>(handle);
  require_healthy(*function.module);
  return function;
}
Link &Call::link(CUlinkState handle) { return object<Link>(handle); }
#if CUDA_VERSION >= 12000
Library &Call::library(CUlibrary handle) { return object<Library>(handle); }
Kernel &Call::kernel(CUkernel handle) { return object<Kernel>(handle); }
#endif

Function &Call::function_or_kernel(CUfunction handle) {
  Kernel *const kernel = system.handles.find<Kernel>(handle);
  return kernel != nullptr ? function_of_kernel(*kernel, context()) : function(handle);
}

void Call::wait_to_load(Context &context) {
  wait(context.works());
  require(context.is_alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

Module &Call::module_of(Library &library, Context &context) {
  const auto find = [&] {
    const auto made = library.modules.find(&context);
    return made != library.modules.end() ? made->second : nullptr;
  };
  if (Module *const made = find()) return *made;
  const std::uintptr_t handle = library.handle;
  wait_to_load(context);
  object<Library>(reinterpret_cast<const void *>(handle));  // it may have been unloaded meanwhile
  if (Module *const made = find()) return *made;            // made by another thread meanwhile
  LoadError error;
  Module *const module = make_module(system, context, library.code, error);
  if (module == nullptr) {
    if (!error.log.empty()) system.engine.report(std::string(name) + ": " + error.log);
    fail(error.code);
  }
  module->library = &library;
  library.modules.emplace(&context, module);
  return *module;
}

Function &Call::function_of_kernel(Kernel &kernel, Context &context) {
  Module &module = module_of(*kernel.library, context);
  const bool is_known = module.functions.contains(kernel.name);
  Function &function = *function_of(system, module, kernel.name);
  if (!is_known) {
    function.set = kernel.set[context.device->index];
    function.cache = kernel.cache[context.device->index];
  }
  return function;
}

Work Call::add(Stream &stream, Operation &&operation, Order order) {
  if (stream.capture != nullptr) [[unlikely]]
    refuse_in_capture(stream);
  Context &context = *stream.context;
  operation.name = operation.name[0] != '\0' ? operation.name : name;
  operation.stream = stream.id;
  operation.owner = &context;
  if (stream.is_legacy)
    for (const Work &work : works_of(stream)) operation.come_after(work);
  else
    operation.come_after(stream.tail);
  if (order == Order::of_the_legacy_stream_too && stream.is_blocking() && context.legacy != nullptr)
    operation.come_after(context.legacy->tail);
  context.awaited.put_before(operation);
  if (stream.green != 0) [[unlikely]] {
    const auto *const green = system.handles.find<GreenContext>(reinterpret_cast<const void *>(stream.green));
    if (green != nullptr) green->awaited.put_before(operation);
  }
  system.engine.spend(costs(context).call);
  return stream.tail = system.engine.add(std::move(operation));
}

std::vector<Work> Call::works_of(Stream &stream) {
  std::vector<Work> works{stream.tail};
  if (!stream.is_legacy) return works;
  const auto add = [&](const Stream &other) {
    if (other.is_blocking() && !is_complete(other.tail)) works.push_back(other.tail);
  };
  for (const Stream *other : stream.context->streams) add(*other);
  for (const auto &[thread, other] : stream.context->per_thread) add(*other);
  for (const Context::PendingTail &left : stream.context->pending_tails)
    if (left.is_blocking && !is_complete(left.tail)) works.push_back(left.tail);
  return works;
}

void Call::require_room(const Device &device, std::size_t size) {
  require(Memory::has_room(device, size), CUDA_ERROR_OUT_OF_MEMORY);
  const std::size_t in_use = system.memory.allocated(device);
  const bool is_forbidden =
      system.faults != nullptr && system.faults->forbids(device.index, in_use + size, name);
  require(!is_forbidden, CUDA_ERROR_OUT_OF_MEMORY);
}

bool Call::allows(const Device &device, std::size_t size) {
  const std::size_t in_use = system.memory.allocated(device);
  return system.faults == nullptr || !system.faults->forbids(device.index, in_use + size, name);
}

Allocation *Call::allocate(Device &device, std::size_t size, Memory::Owner owner) {
  if (!allows(device, size)) return nullptr;
  Allocation *const made = system.memory.allocate(device, size, owner);
  return made == nullptr && system.trim_pools() ? system.memory.allocate(device, size, owner) : made;
}

Allocation *Call::allocate_array(Context &context, const CUDA_ARRAY3D_DESCRIPTOR &shape, std::size_t bytes) {
  if (is_sparse(shape) || is_deferred(shape)) return nullptr;
  Allocation *const allocation = allocate(*context.device, bytes, Memory::owner_of(context, true));
  require(allocation != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
  allocation->context = &context;
  allocation->is_of_array = true;
  return allocation;
}

void Call::wait(std::span<const Work> works) {
  const auto observed = system.observed_by_wait(works);
  require(system.engine.wait(lock, works, name), CUDA_ERROR_LAUNCH_TIMEOUT);
  system.observe(observed);
  for (const Work &work : works)
    if (work != nullptr) require(work->fault == CUDA_SUCCESS, work->fault);
}

std::vector<Work> Call::works_of(const Allocation &allocation) {
  std::vector<Work> works = allocation.users;
  if (allocation.context != nullptr)
    for (Work &work : allocation.context->works()) works.push_back(std::move(work));
  return works;
}

void Call::release(Allocation &allocation, CUresult otherwise) {
  const std::vector<Work> works = works_of(allocation);
  const auto found = [this, base = allocation.base, id = allocation.id] {
    return system.memory.find(base, id);
  };
  allocation.is_ending = true;
  try {
    wait(works);
  } catch (...) {
    if (Allocation *const kept = found()) kept->is_ending = false;
    throw;
  }
  // The wait released the lock, so the allocation may be gone.
  Allocation *const ended = found();
  require(ended != nullptr, otherwise);
  system.release(*ended);
}

CUresult Call::end(Context &context) {
  std::vector<Work> works = context.works();
  system.memory.for_each([&](const Allocation &allocation) {
    if (allocation.context == &context)
      works.insert(works.end(), allocation.users.begin(), allocation.users.end());
  });
  const auto kept = context.entries;  // another call may destroy the context while this one waits
  const unsigned long ending = context.ending = ++system.last_ending;
  context.is_alive = false;
  try {
    // Faults of the work are ignored.
    require(system.engine.wait(lock, works, name), CUDA_ERROR_LAUNCH_TIMEOUT);
  } catch (...) {
    if (context.ending == ending) context.revive();
    throw;
  }
  const CUresult fault = context.fault;
  if (context.ending == ending) system.destroy_context(context);
  return fault;
}

std::shared_ptr<ShareTable> Call::open_table(const ShareHandle &handle, CUresult code) {
  using Answer = Sharing::Opened::Answer;
  auto opened = system.sharing.open(handle);
  require(opened.answer != Answer::own, CUDA_ERROR_INVALID_CONTEXT);
  if (opened.answer == Answer::refused)
    std::fprintf(stderr, "cushim[sim]: %s: the handle cannot be opened: %s\n", name, opened.reason.c_str());
  if (opened.answer == Answer::limited) {
    report_limit(name, opened.error);
    fail(CUDA_ERROR_OUT_OF_MEMORY);
  }
  require(opened.answer == Answer::opened, code);
  return std::move(opened.table);
}

void Call::report_misuse(const void *handle, Kind wanted) {
  if (handle == nullptr) return;  // the real driver handles null itself
  ++system.misuses;
  std::fprintf(stderr, "cushim[sim]: %s: the %s %p %s; the real driver's behaviour is undefined\n", name,
               name_of(wanted), handle, system.handles.reason_not_found(handle, wanted).c_str());
  if (!system.handles.was_made(handle) || std::exchange(system.has_recommended_checker, true)) return;
  std::fprintf(stderr, "cushim[sim]: %s reports where handles are created and destroyed\n",
               system.options.is_library ? "CUSHIM_CHECK=misuse" : "check::Misuse");
}

}  // namespace cushim::sim
