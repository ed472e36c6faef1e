// SPDX-License-Identifier: Apache-2.0
// One call of the driver while it runs. The functions that answer calls take it as first argument. The
// order of their checks is the real driver's: where two things are wrong, it decides what is answered.
#pragma once

#include "system.hpp"

namespace cushim::sim {

// Ends a call with this answer.
struct Refusal {
  CUresult code;
};

[[noreturn, gnu::cold]] void refuse(CUresult code);

// The call is answered CUDA_ERROR_INVALID_VALUE, or code, unless the condition holds.
inline void require(bool condition, CUresult code = CUDA_ERROR_INVALID_VALUE) {
  if (!condition) refuse(code);
}

struct Call {
  Call(System &system, const char *name, bool per_thread)
      : system(system), lock(system.mutex), name(name), per_thread(per_thread) {}

  System &system;
  Engine::Lock lock;
  const char *name;
  bool per_thread;  // whether the null stream means the thread's own

  // The device with this number; else INVALID_DEVICE.
  Device &device(CUdevice number);

  // The current context. Without one: INVALID_CONTEXT; if it has been destroyed: CONTEXT_IS_DESTROYED.
  Context &context() {
    Context &context = current_or_ended();
    require(context.is_alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    require(context.fault == CUDA_SUCCESS, context.fault);
    return context;
  }
  // The same, also if it has been destroyed: what little is answered then. Measured, driver 580.
  Context &current_or_ended() {
    Context *const context = current();
    require(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
    return *context;
  }
  // For calls that need no current context: if there is one and it has been destroyed, CONTEXT_IS_DESTROYED.
  void require_no_ended_context();
  // The same, but null if there is none.
  Context *current() { return thread().stack.empty() ? nullptr : thread().stack.back(); }
  Context &context(CUcontext handle);  // else INVALID_CONTEXT
  Stream &stream(CUstream handle);     // else INVALID_HANDLE; the null stream is one of the current context
  Stream &legacy(Context &context);
  Stream &per_thread_stream(Context &context);
  Event &event(CUevent handle);  // else INVALID_HANDLE
  // What must be complete for the event to be; null if it is. Also what another process recorded.
  Work work_of(Event &event);
  Array &array(CUarray handle, CUresult otherwise = CUDA_ERROR_INVALID_HANDLE);
  Pool &pool(CUmemoryPool handle);

  Thread &thread() { return system.thread(); }
  const Costs &costs(const Context &context) { return context.device->profile.costs; }

  // Puts an operation into a stream. A blocking stream comes after the legacy stream, too, but for what the
  // driver does without putting work into the stream. Then it is to be started; the lock may be given back
  // meanwhile, so what was found before may be gone.
  enum class Order { of_the_stream, of_the_legacy_stream_too };
  Work add(Stream &stream, Operation &&operation, Order order = Order::of_the_legacy_stream_too);
  void start(const Work &work) { system.engine.start(lock, work); }
  void enqueue(Stream &stream, Operation &&operation, Order order = Order::of_the_legacy_stream_too) {
    start(add(stream, std::move(operation), order));
  }
  // What must be complete for all that is in the stream to be complete.
  std::vector<Work> works_of(Stream &stream);

  // Memory of a device; null if it is out, or a fault rule says so.
  Allocation *allocate(Device &device, std::size_t size);

  // Until all are complete. LAUNCH_TIMEOUT if that can never be; the context's fault if it has one.
  void wait(std::span<const Work> works);
  void wait(const Work &work) { wait(std::span(&work, 1)); }
  // Waits for all that may use the memory: it is about to go.
  void wait_for_users(const Allocation &allocation);
  // The same for all memory and streams of a context.
  void wait_for_users(const Context &context);
  bool query(std::span<const Work> works) { return system.engine.query(lock, works); }
  bool query(const Work &work) {
    if (is_complete(work)) {
      if (work != nullptr) system.engine.advance_to(work->completed_at);
      return true;
    }
    // Whoever has it may go while the lock is given back.
    const Work kept = work;  // NOLINT(performance-unnecessary-copy-initialization)
    return query(std::span(&kept, 1));
  }

  // What the process has exported that made the handle. This process itself: INVALID_CONTEXT; if it is no
  // more, or cannot be reached, which is said: code.
  std::shared_ptr<ShareTable> open_table(const ShareHandle &handle, CUresult code);

  // Says on stderr that the program did what is undefined on the real driver.
  void report_misuse(const void *handle, Kind wanted);
};

}  // namespace cushim::sim
