// SPDX-License-Identifier: Apache-2.0
// References to contexts (ContextRef), and the current context for a scope (ScopedContext, RestoredContext).
//
// The driver keeps a stack of contexts for each thread. Most driver calls use the context on its top, the
// current context. ScopedContext and RestoredContext change the current context for a scope.
#pragma once

#include <cushim/detail/flags.hpp>
#include <cushim/detail/handle.hpp>
#include <cushim/device.hpp>

#include <optional>

namespace cushim {
inline namespace v1 {

// Flags of a context: how threads that wait in it wait, and other properties.
enum class ContextFlags : unsigned {
  none = 0,  // the driver chooses between spinning and yielding
  spin = CU_CTX_SCHED_SPIN,
  yield = CU_CTX_SCHED_YIELD,
  blocking_sync = CU_CTX_SCHED_BLOCKING_SYNC,
  map_host = CU_CTX_MAP_HOST,  // always on: flags() returns it for every context
  resize_local_memory_to_max = CU_CTX_LMEM_RESIZE_TO_MAX,
  sync_memops = 0x80,  // needs driver 12.1 or newer
};
constexpr bool is_flags(ContextFlags) { return true; }

// A limit of a context. Sizes are in bytes; the limits of the device runtime are counts.
enum class ContextLimit : int {
  stack_size = CU_LIMIT_STACK_SIZE,
  printf_fifo_size = CU_LIMIT_PRINTF_FIFO_SIZE,
  malloc_heap_size = CU_LIMIT_MALLOC_HEAP_SIZE,
  device_runtime_sync_depth = CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH,
  device_runtime_pending_launch_count = CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT,
  max_l2_fetch_granularity = CU_LIMIT_MAX_L2_FETCH_GRANULARITY,
  persisting_l2_cache_size = CU_LIMIT_PERSISTING_L2_CACHE_SIZE,
};

// The preferred division of on-chip memory between L1 cache and shared memory.
enum class CachePreference : int {
  none = CU_FUNC_CACHE_PREFER_NONE,
  shared = CU_FUNC_CACHE_PREFER_SHARED,
  l1 = CU_FUNC_CACHE_PREFER_L1,
  equal = CU_FUNC_CACHE_PREFER_EQUAL,
};

// The range of stream priorities. A lower number is a higher priority.
struct PriorityRange {
  int least;
  int greatest;
};

// Memory of a device in bytes.
struct MemoryInfo {
  std::size_t free;
  std::size_t total;
};

class ContextRef;

// The calls that ContextRef, PrimaryContext and Context have in common. Where the driver has a call only for
// the current context, the function makes this context current for the duration of that call: "push" in the
// lists of driver calls below is cuCtxPushCurrent, "pop" is cuCtxPopCurrent.
template <class Self>
class ContextCalls : public detail::NounBase<Self, CUcontext> {
 public:
  // Replaces the context on top of the calling thread's stack by this one. A null handle removes the context
  // on top and pushes none. Driver calls: cuCtxSetCurrent.
  void make_current(Where where = Where::current()) const {
    detail::check(this->driver().cuCtxSetCurrent(this->handle()), "cuCtxSetCurrent", where, this->self());
  }
  // Pushes this context onto the calling thread's stack. It is current until ContextRef::pop(). ScopedContext
  // pops in its destructor. Driver calls: cuCtxPushCurrent.
  void push(Where where = Where::current()) const {
    detail::check(this->driver().cuCtxPushCurrent(this->handle()), "cuCtxPushCurrent", where, this->self());
  }

  // Returns the context's device. Driver calls: push, cuCtxGetDevice, pop.
  Device device(Where where = Where::current()) const {
    return in_this(where, [&] {
      CUdevice device = 0;
      detail::check(this->driver().cuCtxGetDevice(&device), "cuCtxGetDevice", where, this->self());
      return Device::from_handle(device, this->driver());
    });
  }
  // Returns the flags that the context was created with, plus map_host. Driver calls: push, cuCtxGetFlags,
  // pop.
  ContextFlags flags(Where where = Where::current()) const {
    return in_this(where, [&] {
      unsigned flags = 0;
      detail::check(this->driver().cuCtxGetFlags(&flags), "cuCtxGetFlags", where, this->self());
      return static_cast<ContextFlags>(flags);
    });
  }
  // Returns whether this is its device's primary context, which the runtime API uses too. Driver calls: those
  // of device(), cuDevicePrimaryCtxGetState; if the primary context is active, also cuDevicePrimaryCtxRetain
  // and cuDevicePrimaryCtxRelease.
  bool is_primary(Where where = Where::current()) const;
  // Returns the API version of the context: 3020. Driver calls: cuCtxGetApiVersion.
  unsigned api_version(Where where = Where::current()) const {
    unsigned version = 0;
    detail::check(this->driver().cuCtxGetApiVersion(this->handle(), &version), "cuCtxGetApiVersion", where,
                  this->self());
    return version;
  }
  // Returns the context's id, which is unique in this process and never reused. Driver calls: cuCtxGetId.
  unsigned long long id(Where where = Where::current()) const {
    unsigned long long id = 0;
    detail::check(this->driver().cuCtxGetId(this->handle(), &id), "cuCtxGetId", where, this->self());
    return id;
  }
  // Returns a limit in the limit's unit (bytes or a count). Driver calls: push, cuCtxGetLimit, pop.
  std::size_t limit(ContextLimit which, Where where = Where::current()) const {
    return in_this(where, [&] {
      std::size_t value = 0;
      detail::check(this->driver().cuCtxGetLimit(&value, static_cast<CUlimit>(which)), "cuCtxGetLimit", where,
                    this->self(), detail::Argument{"limit", static_cast<int>(which)});
      return value;
    });
  }
  // Sets a limit; the driver may round it. Driver calls: push, cuCtxSetLimit, pop.
  void set_limit(ContextLimit which, std::size_t value, Where where = Where::current()) const {
    in_this(where, [&] {
      detail::check(this->driver().cuCtxSetLimit(static_cast<CUlimit>(which), value), "cuCtxSetLimit", where,
                    this->self(), detail::Argument{"limit", static_cast<int>(which)},
                    detail::Argument{"value", static_cast<long long>(value)});
    });
  }
  // Returns the preferred division between L1 cache and shared memory. Driver calls: push,
  // cuCtxGetCacheConfig, pop.
  CachePreference cache_preference(Where where = Where::current()) const {
    return in_this(where, [&] {
      CUfunc_cache preference = CU_FUNC_CACHE_PREFER_NONE;
      detail::check(this->driver().cuCtxGetCacheConfig(&preference), "cuCtxGetCacheConfig", where,
                    this->self());
      return static_cast<CachePreference>(preference);
    });
  }
  // Sets the preferred division between L1 cache and shared memory. Driver calls: push, cuCtxSetCacheConfig,
  // pop.
  void set_cache_preference(CachePreference preference, Where where = Where::current()) const {
    in_this(where, [&] {
      detail::check(this->driver().cuCtxSetCacheConfig(static_cast<CUfunc_cache>(preference)),
                    "cuCtxSetCacheConfig", where, this->self(),
                    detail::Argument{"preference", static_cast<int>(preference)});
    });
  }
  // Returns the range of stream priorities. Driver calls: push, cuCtxGetStreamPriorityRange, pop.
  PriorityRange stream_priorities(Where where = Where::current()) const {
    return in_this(where, [&] {
      PriorityRange range{};
      detail::check(this->driver().cuCtxGetStreamPriorityRange(&range.least, &range.greatest),
                    "cuCtxGetStreamPriorityRange", where, this->self());
      return range;
    });
  }
  // Returns the free and the total memory of the context's device in bytes. Driver calls: push, cuMemGetInfo,
  // pop.
  MemoryInfo memory(Where where = Where::current()) const {
    return in_this(where, [&] {
      MemoryInfo info{};
      detail::check(this->driver().cuMemGetInfo(&info.free, &info.total), "cuMemGetInfo", where,
                    this->self());
      return info;
    });
  }
  // Waits until all work in the context is done. Driver calls: push, cuCtxSynchronize, pop.
  void synchronize(Where where = Where::current()) const {
    in_this(where, [&] {
      detail::check(this->driver().cuCtxSynchronize(), "cuCtxSynchronize", where, this->self());
    });
  }

 protected:
  ContextCalls() = default;
  ContextCalls(const ContextCalls &) = default;
  ContextCalls &operator=(const ContextCalls &) = default;

 private:
  template <class Action>
  auto in_this(Where where, Action action) const;
};

// A reference to a context. Owns nothing.
class ContextRef : public detail::Reference<ContextCalls<ContextRef>> {
 public:
  // Empty.
  ContextRef() = default;

  // Returns the calling thread's current context; its handle is null if there is none.
  // Driver calls: cuCtxGetCurrent.
  static ContextRef current(Driver &driver = cushim::driver(), Where where = Where::current()) {
    CUcontext handle = nullptr;
    detail::check(driver.cuCtxGetCurrent(&handle), "cuCtxGetCurrent", where, detail::Through{&driver});
    return from_handle(handle, driver);
  }

  // Pops the calling thread's current context off its stack and returns it. Throws INVALID_CONTEXT if
  // the stack is empty. Driver calls: cuCtxPopCurrent.
  static ContextRef pop(Driver &driver = cushim::driver(), Where where = Where::current()) {
    CUcontext handle = nullptr;
    detail::check(driver.cuCtxPopCurrent(&handle), "cuCtxPopCurrent", where, detail::Through{&driver});
    return from_handle(handle, driver);
  }
};

// Returns "context 0x5c10", "no context" (the null handle) or "an empty context".
inline std::string to_text(const ContextRef &context) {
  if (!context.is_empty() && context.handle() == nullptr) return "no context";
  return detail::noun_text("context", context);
}

// Makes a context current for a scope: the constructor pushes it, the destructor pops it. Both must run on
// the same thread. Driver calls: cuCtxPushCurrent; at the end cuCtxPopCurrent.
class ScopedContext {
 public:
  explicit ScopedContext(ContextRef context, Where where = Where::current()) : context_(context) {
    detail::check(context.driver().cuCtxPushCurrent(context.handle()), "cuCtxPushCurrent", where, context);
  }
  ~ScopedContext() {
    if (context_.is_empty()) return;
    const ContextRef context = context_;
    detail::report(pop(), "cuCtxPopCurrent", context);
  }
  ScopedContext(const ScopedContext &) = delete;
  ScopedContext &operator=(const ScopedContext &) = delete;

  // Ends the scope now. Throws Error if that fails. Driver calls: cuCtxPopCurrent.
  void leave(Where where = Where::current()) {
    const ContextRef context = context_;
    detail::check(pop(), "cuCtxPopCurrent", where, context);
  }

 private:
  CUresult pop() noexcept {
    CUcontext popped = nullptr;
    return std::exchange(context_, ContextRef()).driver().cuCtxPopCurrent(&popped);
  }

  ContextRef context_;
};

// Saves the calling thread's current context, and makes it current again at the end of the scope. Driver
// calls: cuCtxGetCurrent; at the end cuCtxSetCurrent.
class RestoredContext {
 public:
  explicit RestoredContext(Driver &driver = cushim::driver(), Where where = Where::current())
      : before_(ContextRef::current(driver, where)) {}
  ~RestoredContext() {
    detail::report(before_.driver().cuCtxSetCurrent(before_.handle()), "cuCtxSetCurrent", before_);
  }
  RestoredContext(const RestoredContext &) = delete;
  RestoredContext &operator=(const RestoredContext &) = delete;

  // Returns the saved context. No driver call.
  ContextRef before() const noexcept { return before_; }

 private:
  ContextRef before_;
};

namespace detail {

// Makes the context current, calls the action, and returns its result.
template <class Action>
auto in_context(ContextRef context, Where where, Action action) {
  ScopedContext scope(context, where);
  if constexpr (std::is_void_v<decltype(action())>) {
    action();
    scope.leave(where);
  } else {
    auto result = action();
    scope.leave(where);
    return result;
  }
}

}  // namespace detail

template <class Self>
template <class Action>
auto ContextCalls<Self>::in_this(Where where, Action action) const {
  return detail::in_context(this->self(), where, action);
}

}  // namespace v1
}  // namespace cushim

#include <cushim/context.hpp>  // defines is_primary()
