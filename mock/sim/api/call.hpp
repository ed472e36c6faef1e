// SPDX-License-Identifier: Apache-2.0
// One driver call while it runs; the first argument of the functions that implement calls. The order of their
// checks is the real driver's: with several invalid arguments, it determines the error code.
#pragma once

#include <atomic>
#include <mutex>

#include "machine/system.hpp"

namespace cushim::sim {

// Thrown to end a call with an error code.
struct CallError {
  CUresult code;
};

[[noreturn, gnu::cold]] void fail(CUresult code);

// Throws CallError with `code` unless the condition holds.
inline void require(bool condition, CUresult code = CUDA_ERROR_INVALID_VALUE) {
  if (!condition) fail(code);
}

// Implements a call that returns one value: stores what read() returns. INVALID_VALUE if `out` is null, which
// is checked first.
template <class Value, class Read>
CUresult store(Value *out, Read read) {
  require(out != nullptr);
  *out = static_cast<Value>(read());
  return CUDA_SUCCESS;
}

// Throws the fault of the context if it has one.
inline void require_no_fault(const Context &context) {
  require(context.fault == CUDA_SUCCESS, context.fault);
}

// Returns the object. Throws the fault of its context if there is one.
template <class T>
T &require_healthy(T &object) {
  require_no_fault(*object.context);
  return object;
}

// Returns the content of a file; nothing if it cannot be read.
std::optional<std::string> read_file(const char *path);

// The checks of cuFuncSet..., cuKernelSet... and cuCtxSetCacheConfig and ...SharedMemConfig.
void check_cache_config(CUfunc_cache config);
void check_shared_config(CUsharedconfig config);

// True in a child of fork(), where the driver does not work, like the real one.
inline constinit std::atomic<bool> is_forked_child{false};

struct Call {
  static constexpr int kNoSlot = -1;

  // `slot`: of the entry point; kNoSlot: not a call of one.
  [[gnu::always_inline]] Call(System &system, const char *name, bool per_thread, int slot = kNoSlot)
      : system(system), lock(system.mutex, std::defer_lock), name(name), slot(slot), per_thread(per_thread) {
    // In a child of fork(), a thread that does not exist there may hold the lock; the child has one thread.
    if (!is_forked_child.load(std::memory_order_relaxed)) lock.lock();
  }

  System &system;
  Engine::Lock lock;
  const char *name;
  const int slot;
  bool per_thread;  // whether the null stream is the thread's per-thread stream

  bool has_device(CUdevice number) const {
    return number >= 0 && number < static_cast<int>(system.visible.size());
  }
  // Returns the device with this ordinal; else `otherwise`.
  Device &device(CUdevice number, CUresult otherwise = CUDA_ERROR_INVALID_DEVICE);
  // Returns the visible device with this UUID; null if there is none.
  Device *device_with(const CUuuid &uuid);

  // Returns the current context. INVALID_CONTEXT without one; CONTEXT_IS_DESTROYED if it has been destroyed.
  Context &context() {
    Context &context = current_or_destroyed();
    require(context.is_alive && is_green_alive(thread().stack.green()), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    require_no_fault(context);
    return context;
  }
  // Returns whether a green context has not been destroyed; true for 0, which names none.
  bool is_green_alive(std::uintptr_t green) const {
    return green == 0 || system.handles.find<GreenContext>(reinterpret_cast<const void *>(green)) != nullptr;
  }
  // Returns the current context even if it has been destroyed, for the few calls that still work then.
  // Measured, driver 580.
  Context &current_or_destroyed() {
    Context *const context = current();
    if (context == nullptr) fail_without_context();
    return *context;
  }
  // Throws NOT_PERMITTED in a host function, else INVALID_CONTEXT.
  [[noreturn, gnu::cold]] void fail_without_context() const;
  // Throws CONTEXT_IS_DESTROYED if the current context has been destroyed. For calls that need no current
  // context.
  void require_no_destroyed_context();
  // Returns the current context, destroyed or not; null without one.
  Context *current() { return thread().stack.empty() ? nullptr : thread().stack.back(); }
  // Returns the context with this handle, for a green context its primary context; else INVALID_CONTEXT, also
  // if it is being destroyed.
  Context &context(CUcontext handle);
  Stream &stream(CUstream handle);  // else INVALID_HANDLE; null is a stream of the current context
  // As stream(), and a captured stream also in a context with a fault: for calls about captures. Measured,
  // driver 580.
  Stream &captured_stream(CUstream handle);
  // Throws STREAM_CAPTURE_INVALIDATED if the stream is in an invalid capture. Other errors of the handle are
  // not found.
  void require_valid_capture(CUstream handle);
  // Returns the stream of an asynchronous copy: stream(), but CONTEXT_IS_DESTROYED comes first.
  Stream &stream_of_copy(CUstream handle) {
    require_no_destroyed_context();
    return stream(handle);
  }
  Stream &legacy(Context &context);
  Stream &per_thread_stream(Context &context);
  Event &event(CUevent handle);  // else INVALID_HANDLE
  // As event(), also in a context with a fault: for nodes of graphs. Measured, driver 580.
  Event &event_despite_fault(CUevent handle);
  // Returns the work that must complete before the event does, including a record by another process; null or
  // complete work if the event is complete.
  Work work_of(Event &event);
  Array &array(CUarray handle, CUresult otherwise = CUDA_ERROR_INVALID_HANDLE);
  // As array(), also in a context with a fault.
  Array &array_despite_fault(CUarray handle, CUresult otherwise = CUDA_ERROR_INVALID_HANDLE);
  Pool &pool(CUmemoryPool handle);
  // Physical memory and multicast objects; else INVALID_VALUE.
  PhysicalHandle &physical_handle(CUmemGenericAllocationHandle handle);
  // Objects of modules and libraries; each lookup: else INVALID_HANDLE.
  Module &module(CUmodule handle);
  Function &function(CUfunction handle);
  // Accepts a function or a kernel handle; for a kernel, returns its function in the current context.
  Function &function_or_kernel(CUfunction handle);
  Link &link(CUlinkState handle);
#if CUDA_VERSION >= 12000
  Library &library(CUlibrary handle);
  Kernel &kernel(CUkernel handle);
#endif
  // Waits until the context has no pending work, before code is loaded into it. Measured, driver 580.
  void wait_to_load(Context &context);
  // Return the module of a library in a context, and the function of a kernel there; created on first use.
  Module &module_of(Library &library, Context &context);
  Function &function_of_kernel(Kernel &kernel, Context &context);

  Thread &thread() { return system.thread(); }
  const Costs &costs(const Context &context) { return context.device->profile.costs; }

  // Adds an operation to a stream; start() must follow. An operation in a blocking stream also follows the
  // legacy stream, except when the driver acts without adding work to the stream. start() may release the
  // lock, so objects found earlier may be destroyed by then.
  enum class Order { of_the_stream, of_the_legacy_stream_too };
  Work add(Stream &stream, Operation &&operation, Order order = Order::of_the_legacy_stream_too);
  void start(const Work &work) { system.engine.start(lock, work); }
  void enqueue(Stream &stream, Operation &&operation, Order order = Order::of_the_legacy_stream_too) {
    start(add(stream, std::move(operation), order));
  }
  // Returns the work that must complete before everything in the stream is complete.
  std::vector<Work> works_of(Stream &stream);
  // Returns the work that must complete before the memory is released: its users, and all work of its
  // context.
  static std::vector<Work> works_of(const Allocation &allocation);

  // Refuses with OUT_OF_MEMORY if the device has no memory for `size` more bytes in blocks of their own, or
  // if a fault rule forbids it.
  void require_room(const Device &device, std::size_t size);
  // Returns whether no fault rule forbids `size` more bytes of a device's memory.
  bool allows(const Device &device, std::size_t size);
  // Allocates device memory; null if out of memory or if a fault rule forbids it.
  Allocation *allocate(Device &device, std::size_t size, Memory::Owner owner = 0);
  // Allocates the memory of an array in a context; else OUT_OF_MEMORY. Returns null for sparse and deferred
  // arrays: their memory is mapped later.
  Allocation *allocate_array(Context &context, const CUDA_ARRAY3D_DESCRIPTOR &shape, std::size_t bytes);

  // Waits until all works are complete. LAUNCH_TIMEOUT if that is impossible; a work's fault if it has one.
  void wait(std::span<const Work> works);
  void wait(const Work &work) { wait(std::span(&work, 1)); }
  // Waits for all work that may use the memory, and releases it. New work is refused from the start of the
  // wait. If the wait fails, the memory stays allocated. Fails with `otherwise` if the memory is freed with
  // its context meanwhile.
  void release(Allocation &allocation, CUresult otherwise = CUDA_ERROR_INVALID_VALUE);
  // Waits for all work in a context and on its memory, and destroys the context. New work is refused from the
  // start of the wait. If the wait fails, the context stays alive; so does a primary context that is retained
  // during the wait. Returns the context's fault.
  CUresult end(Context &context);
  // Returns whether the work is complete. Memory pools observe completed frees by waits only, not by queries.
  // Measured, driver 580.
  bool query(std::span<const Work> works) { return system.engine.query(lock, works); }
  bool query(const Work &work) {
    if (is_complete(work)) {
      if (work != nullptr) system.engine.advance_to(work->completed_at);
      return true;
    }
    // The owner of `work` may be destroyed while the lock is released.
    const Work kept = work;  // NOLINT(performance-unnecessary-copy-initialization)
    return query(std::span(&kept, 1));
  }

  // Opens the exports of the process that made the handle. INVALID_CONTEXT if that is this process; `code` if
  // it has ended or cannot be reached (the latter is reported on stderr); OUT_OF_MEMORY at a limit of either
  // process (reported on stderr).
  std::shared_ptr<ShareTable> open_table(const ShareHandle &handle, CUresult code);

  // Returns the live object of a handle; else `otherwise`.
  template <class T>
  T &object(const void *handle, CUresult otherwise = CUDA_ERROR_INVALID_HANDLE) {
    T *const found = system.handles.find<T>(handle);
    if (found == nullptr) {
      report_misuse(handle, T::kKind);
      fail(otherwise);
    }
    return *found;
  }

  // Reports on stderr that the program did something that is undefined on the real driver.
  void report_misuse(const void *handle, Kind wanted);
};

}  // namespace cushim::sim
