// SPDX-License-Identifier: Apache-2.0
// Contexts: the one that is current, a device's primary one, owned ones, and access between peers.
//
// The driver keeps a stack of contexts for each thread; most calls act in its top, the current
// context. ScopedContext and RestoredContext change it for a scope.
#pragma once

#include <cushim/detail/flags.hpp>
#include <cushim/device.hpp>

namespace cushim {
inline namespace v1 {

enum class ContextFlags : unsigned {
  none = 0,  // waiting threads spin or yield, as the driver thinks best
  spin = CU_CTX_SCHED_SPIN,
  yield = CU_CTX_SCHED_YIELD,
  blocking_sync = CU_CTX_SCHED_BLOCKING_SYNC,
  map_host = CU_CTX_MAP_HOST,  // always on; reads back
  resize_local_memory_to_max = CU_CTX_LMEM_RESIZE_TO_MAX,
  sync_memops = 0x80,  // drivers of 12.1 and newer
};
constexpr bool is_flags(ContextFlags) { return true; }

enum class ContextLimit : int {
  stack_size = CU_LIMIT_STACK_SIZE,
  printf_fifo_size = CU_LIMIT_PRINTF_FIFO_SIZE,
  malloc_heap_size = CU_LIMIT_MALLOC_HEAP_SIZE,
  device_runtime_sync_depth = CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH,
  device_runtime_pending_launch_count = CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT,
  max_l2_fetch_granularity = CU_LIMIT_MAX_L2_FETCH_GRANULARITY,
  persisting_l2_cache_size = CU_LIMIT_PERSISTING_L2_CACHE_SIZE,
};

enum class CachePreference : int {
  none = CU_FUNC_CACHE_PREFER_NONE,
  shared = CU_FUNC_CACHE_PREFER_SHARED,
  l1 = CU_FUNC_CACHE_PREFER_L1,
  equal = CU_FUNC_CACHE_PREFER_EQUAL,
};

// What streams may ask for; lower numbers are more urgent.
struct PriorityRange {
  int least;
  int greatest;
};

struct MemoryInfo {
  std::size_t free;
  std::size_t total;
};

// A context, by handle. Owns nothing. What the driver offers only for the current context makes the
// context current for the duration of the call: cuCtxPushCurrent before, cuCtxPopCurrent after.
class ContextRef : public detail::Reference<CUcontext> {
 public:
  ContextRef() = default;

  static ContextRef from_handle(CUcontext handle, Driver &driver = cushim::driver()) noexcept {
    return ContextRef(handle, driver);
  }

  // The calling thread's current context; its handle is null if there is none.
  // Driver calls: cuCtxGetCurrent.
  static ContextRef current(Driver &driver = cushim::driver(), Where where = Where::current()) {
    CUcontext handle = nullptr;
    detail::check(driver.cuCtxGetCurrent(&handle), "cuCtxGetCurrent", where, detail::Through{&driver});
    return ContextRef(handle, driver);
  }

  // Makes this the calling thread's current context, in place of the one on top of its stack; a null
  // handle only takes that away. Driver calls: cuCtxSetCurrent.
  void make_current(Where where = Where::current()) const {
    detail::check(driver().cuCtxSetCurrent(handle()), "cuCtxSetCurrent", where, *this);
  }

  // Driver calls: push, cuCtxGetDevice, pop.
  Device device(Where where = Where::current()) const;
  // Driver calls: push, cuCtxGetFlags, pop.
  ContextFlags flags(Where where = Where::current()) const;
  // Driver calls: cuCtxGetApiVersion.
  unsigned api_version(Where where = Where::current()) const {
    unsigned version = 0;
    detail::check(driver().cuCtxGetApiVersion(handle(), &version), "cuCtxGetApiVersion", where, *this);
    return version;
  }
  // A number that no other context of this process had or will have. Driver calls: cuCtxGetId.
  unsigned long long id(Where where = Where::current()) const {
    unsigned long long id = 0;
    detail::check(driver().cuCtxGetId(handle(), &id), "cuCtxGetId", where, *this);
    return id;
  }
  // Driver calls: push, cuCtxGetLimit, pop.
  std::size_t limit(ContextLimit which, Where where = Where::current()) const;
  // Driver calls: push, cuCtxSetLimit, pop.
  void set_limit(ContextLimit which, std::size_t value, Where where = Where::current()) const;
  // Driver calls: push, cuCtxGetCacheConfig, pop.
  CachePreference cache_preference(Where where = Where::current()) const;
  // Driver calls: push, cuCtxSetCacheConfig, pop.
  void set_cache_preference(CachePreference preference, Where where = Where::current()) const;
  // Driver calls: push, cuCtxGetStreamPriorityRange, pop.
  PriorityRange stream_priorities(Where where = Where::current()) const;
  // Free and total memory of the context's device. Driver calls: push, cuMemGetInfo, pop.
  MemoryInfo memory(Where where = Where::current()) const;
  // Waits for all work in the context. Driver calls: push, cuCtxSynchronize, pop.
  void synchronize(Where where = Where::current()) const;

  // "context 0x5c10", "no context" (the null handle), "an empty context"
  friend std::string in_words(const ContextRef &context) {
    if (!context.is_empty() && context.handle() == nullptr) return "no context";
    return detail::noun_in_words("context", context);
  }

 protected:
  ContextRef(CUcontext handle, Driver &driver) noexcept : Reference(handle, driver) {}
};

// Makes a context current for a scope: pushed at the beginning, popped at the end, which must be on
// the same thread. Driver calls: cuCtxPushCurrent; cuCtxPopCurrent.
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

  // Ends the scope now, and throws if that fails.
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

// Remembers the current context and sets it again at the end of the scope, whatever was set in
// between. Driver calls: cuCtxGetCurrent; cuCtxSetCurrent.
class RestoredContext {
 public:
  explicit RestoredContext(Driver &driver = cushim::driver(), Where where = Where::current())
      : before_(ContextRef::current(driver, where)) {}
  ~RestoredContext() {
    detail::report(before_.driver().cuCtxSetCurrent(before_.handle()), "cuCtxSetCurrent", before_);
  }
  RestoredContext(const RestoredContext &) = delete;
  RestoredContext &operator=(const RestoredContext &) = delete;

  // What is going to be current again.
  ContextRef before() const noexcept { return before_; }

 private:
  ContextRef before_;
};

namespace detail {

// What `action` returns, done with the context current.
template <class Action>
auto in_context(ContextRef context, Where where, Action action) {
  ScopedContext scope(context, where);
  auto result = action();
  scope.leave(where);
  return result;
}

}  // namespace detail

inline Device ContextRef::device(Where where) const {
  return detail::in_context(*this, where, [&] {
    CUdevice device = 0;
    detail::check(driver().cuCtxGetDevice(&device), "cuCtxGetDevice", where, *this);
    return Device::from_handle(device, driver());
  });
}

inline ContextFlags ContextRef::flags(Where where) const {
  return detail::in_context(*this, where, [&] {
    unsigned flags = 0;
    detail::check(driver().cuCtxGetFlags(&flags), "cuCtxGetFlags", where, *this);
    return static_cast<ContextFlags>(flags);
  });
}

inline std::size_t ContextRef::limit(ContextLimit which, Where where) const {
  return detail::in_context(*this, where, [&] {
    std::size_t value = 0;
    detail::check(driver().cuCtxGetLimit(&value, static_cast<CUlimit>(which)), "cuCtxGetLimit", where, *this,
                  detail::Argument{"limit", static_cast<int>(which)});
    return value;
  });
}

inline void ContextRef::set_limit(ContextLimit which, std::size_t value, Where where) const {
  ScopedContext scope(*this, where);
  detail::check(driver().cuCtxSetLimit(static_cast<CUlimit>(which), value), "cuCtxSetLimit", where, *this,
                detail::Argument{"limit", static_cast<int>(which)},
                detail::Argument{"value", static_cast<long long>(value)});
  scope.leave(where);
}

inline CachePreference ContextRef::cache_preference(Where where) const {
  return detail::in_context(*this, where, [&] {
    CUfunc_cache preference = CU_FUNC_CACHE_PREFER_NONE;
    detail::check(driver().cuCtxGetCacheConfig(&preference), "cuCtxGetCacheConfig", where, *this);
    return static_cast<CachePreference>(preference);
  });
}

inline void ContextRef::set_cache_preference(CachePreference preference, Where where) const {
  ScopedContext scope(*this, where);
  detail::check(driver().cuCtxSetCacheConfig(static_cast<CUfunc_cache>(preference)), "cuCtxSetCacheConfig",
                where, *this, detail::Argument{"preference", static_cast<int>(preference)});
  scope.leave(where);
}

inline PriorityRange ContextRef::stream_priorities(Where where) const {
  return detail::in_context(*this, where, [&] {
    PriorityRange range{};
    detail::check(driver().cuCtxGetStreamPriorityRange(&range.least, &range.greatest),
                  "cuCtxGetStreamPriorityRange", where, *this);
    return range;
  });
}

inline MemoryInfo ContextRef::memory(Where where) const {
  return detail::in_context(*this, where, [&] {
    MemoryInfo info{};
    detail::check(driver().cuMemGetInfo(&info.free, &info.total), "cuMemGetInfo", where, *this);
    return info;
  });
}

inline void ContextRef::synchronize(Where where) const {
  ScopedContext scope(*this, where);
  detail::check(driver().cuCtxSynchronize(), "cuCtxSynchronize", where, *this);
  scope.leave(where);
}

// Holds a device's primary context: the one that the runtime API uses too. The driver counts the
// holders; with the last one the context ends. Not made current by this.
class PrimaryContext : public ContextRef {
 public:
  // Empty.
  PrimaryContext() = default;

  // Driver calls: cuDevicePrimaryCtxRetain; at the end cuDevicePrimaryCtxRelease.
  static PrimaryContext retain(Device device, Where where = Where::current()) {
    CUcontext handle = nullptr;
    detail::check(device.driver().cuDevicePrimaryCtxRetain(&handle, device.handle()),
                  "cuDevicePrimaryCtxRetain", where, device);
    return PrimaryContext(handle, device);
  }

  PrimaryContext(PrimaryContext &&other) noexcept : ContextRef(other), device_(other.device_) {
    other.forget();
  }
  PrimaryContext &operator=(PrimaryContext &&other) noexcept {
    PrimaryContext(std::move(other)).swap(*this);
    return *this;
  }
  ~PrimaryContext() {
    if (!is_empty()) detail::report(release_device(device_), "cuDevicePrimaryCtxRelease", device_);
  }

  void swap(PrimaryContext &other) noexcept {
    std::swap(static_cast<ContextRef &>(*this), static_cast<ContextRef &>(other));
    std::swap(device_, other.device_);
  }
  friend void swap(PrimaryContext &left, PrimaryContext &right) noexcept { left.swap(right); }

  // Gives the context up now, and throws if that fails. Again does nothing.
  // Driver calls: cuDevicePrimaryCtxRelease.
  void close(Where where = Where::current()) {
    if (is_empty()) return;
    const Device device = device_;
    forget();
    detail::check(release_device(device), "cuDevicePrimaryCtxRelease", where, device);
  }

  // Known without a driver call.
  Device device() const noexcept { return device_; }

  // Sets the flags that a device's primary context has or will have.
  // Driver calls: cuDevicePrimaryCtxSetFlags.
  static void set_flags(Device device, ContextFlags flags, Where where = Where::current()) {
    detail::check(device.driver().cuDevicePrimaryCtxSetFlags(device.handle(), detail::number(flags)),
                  "cuDevicePrimaryCtxSetFlags", where, device,
                  detail::Argument{"flags", detail::number(flags)});
  }

  struct State {
    ContextFlags flags;
    bool is_active;
  };
  // Driver calls: cuDevicePrimaryCtxGetState.
  static State state(Device device, Where where = Where::current()) {
    unsigned flags = 0;
    int active = 0;
    detail::check(device.driver().cuDevicePrimaryCtxGetState(device.handle(), &flags, &active),
                  "cuDevicePrimaryCtxGetState", where, device);
    return {static_cast<ContextFlags>(flags), active != 0};
  }

  // Ends everything in a device's primary context, whoever holds it. Driver calls:
  // cuDevicePrimaryCtxReset.
  static void reset(Device device, Where where = Where::current()) {
    detail::check(device.driver().cuDevicePrimaryCtxReset(device.handle()), "cuDevicePrimaryCtxReset", where,
                  device);
  }

 private:
  PrimaryContext(CUcontext handle, Device device) noexcept
      : ContextRef(handle, device.driver()), device_(device) {}

  static CUresult release_device(Device device) noexcept {
    return device.driver().cuDevicePrimaryCtxRelease(device.handle());
  }
  void forget() noexcept {
    take();
    device_ = Device();
  }

  Device device_;
};

// Owns a context of its own on a device.
class Context : public ContextRef {
 public:
  // Empty.
  Context() = default;

  // Creates a context; the calling thread's current context stays what it was. Driver calls:
  // cuCtxCreate_v2 (whatever ABI the headers prefer: every driver has it) and cuCtxPopCurrent, since
  // the driver makes a new context current; at the end cuCtxDestroy.
  static Context create(Device device, ContextFlags flags = ContextFlags::none,
                        Where where = Where::current()) {
    CUcontext handle = nullptr;
    detail::check(device.driver().cuCtxCreate_v2(&handle, detail::number(flags), device.handle()),
                  "cuCtxCreate", where, device, detail::Argument{"flags", detail::number(flags)});
    Context context(handle, device.driver());
    CUcontext popped = nullptr;
    detail::check(context.driver().cuCtxPopCurrent(&popped), "cuCtxPopCurrent", where, ContextRef(context));
    return context;
  }

  // Owns a context that was made elsewhere. No driver call.
  static Context adopt(CUcontext handle, Driver &driver = cushim::driver()) noexcept {
    return Context(handle, driver);
  }

  Context(Context &&other) noexcept : ContextRef(other) { other.take(); }
  Context &operator=(Context &&other) noexcept {
    Context(std::move(other)).swap(*this);
    return *this;
  }
  ~Context() {
    if (!is_empty()) detail::report(driver().cuCtxDestroy(handle()), "cuCtxDestroy", ContextRef(*this));
  }

  void swap(Context &other) noexcept {
    std::swap(static_cast<ContextRef &>(*this), static_cast<ContextRef &>(other));
  }
  friend void swap(Context &left, Context &right) noexcept { left.swap(right); }

  // Destroys now, and throws if that fails. Again does nothing. Driver calls: cuCtxDestroy.
  void close(Where where = Where::current()) {
    if (is_empty()) return;
    const ContextRef context(*this);
    take();
    detail::check(context.driver().cuCtxDestroy(context.handle()), "cuCtxDestroy", where, context);
  }

  // Gives the handle to the caller, who destroys it. Empty afterwards. No driver call.
  [[nodiscard]] CUcontext release() noexcept { return take(); }

 private:
  Context(CUcontext handle, Driver &driver) noexcept : ContextRef(handle, driver) {}
};

// Lets one context use the memory of another's device for a scope.
// Driver calls: push, cuCtxEnablePeerAccess, pop; at the end push, cuCtxDisablePeerAccess, pop.
class PeerAccess {
 public:
  PeerAccess(ContextRef from, ContextRef to, Where where = Where::current()) : from_(from), to_(to) {
    ScopedContext scope(from, where);
    detail::check(from.driver().cuCtxEnablePeerAccess(to.handle(), 0), "cuCtxEnablePeerAccess", where, from,
                  to);
    try {
      scope.leave(where);
    } catch (...) {
      detail::report(from.driver().cuCtxDisablePeerAccess(to.handle()), "cuCtxDisablePeerAccess", from, to);
      throw;
    }
  }
  ~PeerAccess() {
    Driver &driver = from_.driver();
    const CUresult pushed = driver.cuCtxPushCurrent(from_.handle());
    detail::report(pushed, "cuCtxPushCurrent", from_);
    if (pushed != CUDA_SUCCESS) return;
    detail::report(driver.cuCtxDisablePeerAccess(to_.handle()), "cuCtxDisablePeerAccess", from_, to_);
    CUcontext popped = nullptr;
    detail::report(driver.cuCtxPopCurrent(&popped), "cuCtxPopCurrent", from_);
  }
  PeerAccess(const PeerAccess &) = delete;
  PeerAccess &operator=(const PeerAccess &) = delete;

 private:
  ContextRef from_;
  ContextRef to_;
};

}  // namespace v1
}  // namespace cushim
