// SPDX-License-Identifier: Apache-2.0
// Contexts: ContextRef, ScopedContext, PrimaryContext, Context, and peer access between devices.
//
// The driver keeps a stack of contexts for each thread. Most driver calls use the context on its top, the
// current context. ScopedContext and RestoredContext change the current context for a scope.
#pragma once

#include <cushim/detail/flags.hpp>
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
    detail::check(this->driver().cuCtxSetCurrent(this->handle()), "cuCtxSetCurrent", where, self());
  }
  // Pushes this context onto the calling thread's stack. It is current until ContextRef::pop(). ScopedContext
  // pops in its destructor. Driver calls: cuCtxPushCurrent.
  void push(Where where = Where::current()) const {
    detail::check(this->driver().cuCtxPushCurrent(this->handle()), "cuCtxPushCurrent", where, self());
  }

  // Returns the context's device. Driver calls: push, cuCtxGetDevice, pop.
  Device device(Where where = Where::current()) const {
    return in_this(where, [&] {
      CUdevice device = 0;
      detail::check(this->driver().cuCtxGetDevice(&device), "cuCtxGetDevice", where, self());
      return Device::from_handle(device, this->driver());
    });
  }
  // Returns the flags that the context was created with, plus map_host. Driver calls: push, cuCtxGetFlags,
  // pop.
  ContextFlags flags(Where where = Where::current()) const {
    return in_this(where, [&] {
      unsigned flags = 0;
      detail::check(this->driver().cuCtxGetFlags(&flags), "cuCtxGetFlags", where, self());
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
                  self());
    return version;
  }
  // Returns the context's id, which is unique in this process and never reused. Driver calls: cuCtxGetId.
  unsigned long long id(Where where = Where::current()) const {
    unsigned long long id = 0;
    detail::check(this->driver().cuCtxGetId(this->handle(), &id), "cuCtxGetId", where, self());
    return id;
  }
  // Returns a limit in the limit's unit (bytes or a count). Driver calls: push, cuCtxGetLimit, pop.
  std::size_t limit(ContextLimit which, Where where = Where::current()) const {
    return in_this(where, [&] {
      std::size_t value = 0;
      detail::check(this->driver().cuCtxGetLimit(&value, static_cast<CUlimit>(which)), "cuCtxGetLimit", where,
                    self(), detail::Argument{"limit", static_cast<int>(which)});
      return value;
    });
  }
  // Sets a limit; the driver may round it. Driver calls: push, cuCtxSetLimit, pop.
  void set_limit(ContextLimit which, std::size_t value, Where where = Where::current()) const {
    in_this(where, [&] {
      detail::check(this->driver().cuCtxSetLimit(static_cast<CUlimit>(which), value), "cuCtxSetLimit", where,
                    self(), detail::Argument{"limit", static_cast<int>(which)},
                    detail::Argument{"value", static_cast<long long>(value)});
    });
  }
  // Returns the preferred division between L1 cache and shared memory. Driver calls: push,
  // cuCtxGetCacheConfig, pop.
  CachePreference cache_preference(Where where = Where::current()) const {
    return in_this(where, [&] {
      CUfunc_cache preference = CU_FUNC_CACHE_PREFER_NONE;
      detail::check(this->driver().cuCtxGetCacheConfig(&preference), "cuCtxGetCacheConfig", where, self());
      return static_cast<CachePreference>(preference);
    });
  }
  // Sets the preferred division between L1 cache and shared memory. Driver calls: push, cuCtxSetCacheConfig,
  // pop.
  void set_cache_preference(CachePreference preference, Where where = Where::current()) const {
    in_this(where, [&] {
      detail::check(this->driver().cuCtxSetCacheConfig(static_cast<CUfunc_cache>(preference)),
                    "cuCtxSetCacheConfig", where, self(),
                    detail::Argument{"preference", static_cast<int>(preference)});
    });
  }
  // Returns the range of stream priorities. Driver calls: push, cuCtxGetStreamPriorityRange, pop.
  PriorityRange stream_priorities(Where where = Where::current()) const {
    return in_this(where, [&] {
      PriorityRange range{};
      detail::check(this->driver().cuCtxGetStreamPriorityRange(&range.least, &range.greatest),
                    "cuCtxGetStreamPriorityRange", where, self());
      return range;
    });
  }
  // Returns the free and the total memory of the context's device in bytes. Driver calls: push, cuMemGetInfo,
  // pop.
  MemoryInfo memory(Where where = Where::current()) const {
    return in_this(where, [&] {
      MemoryInfo info{};
      detail::check(this->driver().cuMemGetInfo(&info.free, &info.total), "cuMemGetInfo", where, self());
      return info;
    });
  }
  // Waits until all work in the context is done. Driver calls: push, cuCtxSynchronize, pop.
  void synchronize(Where where = Where::current()) const {
    in_this(where,
            [&] { detail::check(this->driver().cuCtxSynchronize(), "cuCtxSynchronize", where, self()); });
  }

 protected:
  ContextCalls() = default;
  ContextCalls(const ContextCalls &) = default;
  ContextCalls &operator=(const ContextCalls &) = default;

 private:
  using detail::NounBase<Self, CUcontext>::self;
  template <class Action>
  auto in_this(Where where, Action action) const;
};

// A reference to a context. Owns nothing.
class ContextRef : public ContextCalls<ContextRef> {
 public:
  // Empty.
  ContextRef() = default;

  // Returns a reference to a raw context of this driver. No driver call.
  static ContextRef from_handle(CUcontext handle, Driver &driver = cushim::driver()) noexcept {
    return ContextRef(handle, driver);
  }

  // Returns the calling thread's current context; its handle is null if there is none.
  // Driver calls: cuCtxGetCurrent.
  static ContextRef current(Driver &driver = cushim::driver(), Where where = Where::current()) {
    CUcontext handle = nullptr;
    detail::check(driver.cuCtxGetCurrent(&handle), "cuCtxGetCurrent", where, detail::Through{&driver});
    return ContextRef(handle, driver);
  }

  // Pops the calling thread's current context off its stack and returns it. Throws INVALID_CONTEXT if
  // the stack is empty. Driver calls: cuCtxPopCurrent.
  static ContextRef pop(Driver &driver = cushim::driver(), Where where = Where::current()) {
    CUcontext handle = nullptr;
    detail::check(driver.cuCtxPopCurrent(&handle), "cuCtxPopCurrent", where, detail::Through{&driver});
    return ContextRef(handle, driver);
  }

  // Returns this. No driver call.
  const ContextRef &ref() const noexcept { return *this; }

 private:
  template <class, class>
  friend class detail::NounBase;
  ContextRef(CUcontext handle, Driver &driver) noexcept : bound_(handle, driver) {}

  detail::Bound<CUcontext> bound_;
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
  return detail::in_context(self(), where, action);
}

// Retains a device's primary context, which the runtime API uses too. The driver counts the retains and
// destroys the context when the last one is released. Does not make the context current.
class PrimaryContext : public ContextCalls<PrimaryContext> {
 public:
  // Empty.
  PrimaryContext() = default;

  // Retains a device's primary context. Driver calls: cuDevicePrimaryCtxRetain; at the end
  // cuDevicePrimaryCtxRelease.
  static PrimaryContext retain(Device device, Where where = Where::current()) {
    CUcontext handle = nullptr;
    detail::check(device.driver().cuDevicePrimaryCtxRetain(&handle, device.handle()),
                  "cuDevicePrimaryCtxRetain", where, device);
    return PrimaryContext(handle, device);
  }

  PrimaryContext(PrimaryContext &&other) noexcept
      : context_(std::exchange(other.context_, {})), device_(std::exchange(other.device_, {})) {}
  PrimaryContext &operator=(PrimaryContext &&other) noexcept {
    PrimaryContext(std::move(other)).swap(*this);
    return *this;
  }
  ~PrimaryContext() {
    if (!is_empty()) detail::report(release_device(device_), "cuDevicePrimaryCtxRelease", device_);
  }

  void swap(PrimaryContext &other) noexcept {
    std::swap(context_, other.context_);
    std::swap(device_, other.device_);
  }
  friend void swap(PrimaryContext &left, PrimaryContext &right) noexcept { left.swap(right); }

  // Releases the context now. Throws Error if that fails. Does nothing if this is empty. Driver calls:
  // cuDevicePrimaryCtxRelease.
  void close(Where where = Where::current()) {
    if (is_empty()) return;
    const Device device = std::exchange(device_, {});
    context_ = {};
    detail::check(release_device(device), "cuDevicePrimaryCtxRelease", where, device);
  }

  // Returns this context as a reference, which must not outlive it. No driver call.
  const ContextRef &ref() const noexcept { return context_; }
  operator const ContextRef &() const noexcept { return context_; }

  // Returns the device that the context was retained on. No driver call.
  Device device() const noexcept { return device_; }
  // Returns whether this is not empty. No driver call.
  bool is_primary() const noexcept { return !is_empty(); }

  // Sets the flags of a device's primary context, whether it is active or not. Driver calls:
  // cuDevicePrimaryCtxSetFlags.
  static void set_flags(Device device, ContextFlags flags, Where where = Where::current()) {
    detail::check(device.driver().cuDevicePrimaryCtxSetFlags(device.handle(), detail::number(flags)),
                  "cuDevicePrimaryCtxSetFlags", where, device,
                  detail::Argument{"flags", detail::number(flags)});
  }

  // The flags of a primary context, and whether it is retained.
  struct State {
    ContextFlags flags;
    bool is_active;
  };
  // Returns flags and state of a device's primary context. Driver calls: cuDevicePrimaryCtxGetState.
  static State state(Device device, Where where = Where::current()) {
    unsigned flags = 0;
    int active = 0;
    detail::check(device.driver().cuDevicePrimaryCtxGetState(device.handle(), &flags, &active),
                  "cuDevicePrimaryCtxGetState", where, device);
    return {static_cast<ContextFlags>(flags), active != 0};
  }

  // Destroys all objects in a device's primary context, even if other code has retained it. Driver calls:
  // cuDevicePrimaryCtxReset.
  static void reset(Device device, Where where = Where::current()) {
    detail::check(device.driver().cuDevicePrimaryCtxReset(device.handle()), "cuDevicePrimaryCtxReset", where,
                  device);
  }

 private:
  PrimaryContext(CUcontext handle, Device device) noexcept
      : context_(ContextRef::from_handle(handle, device.driver())), device_(device) {}

  static CUresult release_device(Device device) noexcept {
    return device.driver().cuDevicePrimaryCtxRelease(device.handle());
  }

  ContextRef context_;
  Device device_;
};

template <class Self>
bool ContextCalls<Self>::is_primary(Where where) const {
  const Device device = this->self().device(where);
  if (!PrimaryContext::state(device, where).is_active) return false;
  PrimaryContext primary = PrimaryContext::retain(device, where);
  const bool is_this = primary.handle() == this->handle();
  primary.close(where);
  return is_this;
}

// Owns a context that was created with cuCtxCreate.
class Context : public ContextCalls<Context> {
 public:
  // Empty.
  Context() = default;

  // Creates a context. The calling thread's current context does not change. Driver calls: cuCtxCreate_v2
  // (under all headers, because every driver has it), and cuCtxPopCurrent, because the driver makes a new
  // context current; at the end cuCtxDestroy.
  static Context create(Device device, ContextFlags flags = ContextFlags::none,
                        Where where = Where::current()) {
    Context context = create_and_push(device, flags, where);
    CUcontext popped = nullptr;
    detail::check(context.driver().cuCtxPopCurrent(&popped), "cuCtxPopCurrent", where, context.ref());
    return context;
  }

  // Creates a context and leaves it on the calling thread's stack. It is current until ContextRef::pop() or
  // until it is destroyed. Driver calls: cuCtxCreate_v2; at the end cuCtxDestroy.
  static Context create_and_push(Device device, ContextFlags flags = ContextFlags::none,
                                 Where where = Where::current()) {
    CUcontext handle = nullptr;
    detail::check(device.driver().cuCtxCreate_v2(&handle, detail::number(flags), device.handle()),
                  "cuCtxCreate", where, device, detail::Argument{"flags", detail::number(flags)});
    return Context(handle, device.driver());
  }

  // Takes ownership of an existing context. No driver call.
  static Context adopt(CUcontext handle, Driver &driver = cushim::driver()) noexcept {
    return Context(handle, driver);
  }

  Context(Context &&other) noexcept : context_(std::exchange(other.context_, {})) {}
  Context &operator=(Context &&other) noexcept {
    Context(std::move(other)).swap(*this);
    return *this;
  }
  ~Context() {
    if (!is_empty()) detail::report(driver().cuCtxDestroy(handle()), "cuCtxDestroy", ref());
  }

  void swap(Context &other) noexcept { std::swap(context_, other.context_); }
  friend void swap(Context &left, Context &right) noexcept { left.swap(right); }

  // Destroys the context now. Throws Error if that fails. Does nothing if this is empty. Driver calls:
  // cuCtxDestroy.
  void close(Where where = Where::current()) {
    if (is_empty()) return;
    const ContextRef context = std::exchange(context_, {});
    detail::check(context.driver().cuCtxDestroy(context.handle()), "cuCtxDestroy", where, context);
  }

  // Returns the handle, which the caller must destroy, and becomes empty. No driver call.
  [[nodiscard]] CUcontext release() noexcept { return std::exchange(context_, {}).handle(); }

  // Returns this context as a reference, which must not outlive it. No driver call.
  const ContextRef &ref() const noexcept { return context_; }
  operator const ContextRef &() const noexcept { return context_; }

 private:
  Context(CUcontext handle, Driver &driver) noexcept : context_(ContextRef::from_handle(handle, driver)) {}

  ContextRef context_;
};

// Gives one context access to the memory of a peer context for a scope. Driver calls: push,
// cuCtxEnablePeerAccess, pop; at the end push, cuCtxDisablePeerAccess, pop.
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

namespace detail {

// The context in which an object was created, if the caller named it. It is stored because the driver has no
// query for it for some kinds of objects. Retains a device's primary context until the object is destroyed.
class HomeContext {
 public:
  // No context named: the object was created in the current context.
  HomeContext() = default;
  explicit HomeContext(ContextRef context) noexcept : context_(context) {}
  explicit HomeContext(PrimaryContext primary) noexcept
      : context_(primary.ref()), primary_(std::move(primary)) {}
  HomeContext(HomeContext &&other) noexcept
      : context_(std::exchange(other.context_, ContextRef())), primary_(std::move(other.primary_)) {}
  HomeContext &operator=(HomeContext &&other) noexcept {
    context_ = std::exchange(other.context_, ContextRef());
    primary_ = std::move(other.primary_);
    return *this;
  }

  // Returns the context; empty if the caller named none.
  ContextRef ref() const noexcept { return context_; }
  std::optional<ContextRef> context() const noexcept {
    return context_.is_empty() ? std::nullopt : std::optional(context_);
  }
  // Returns the context's device. Driver calls: none if a device was given at creation, else push,
  // cuCtxGetDevice, pop.
  std::optional<Device> device(Where where) const {
    if (!primary_.is_empty()) return primary_.device();
    if (!context_.is_empty()) return context_.device(where);
    return std::nullopt;
  }
  // Releases a retained primary context. Throws Error if that fails.
  void close(Where where) { primary_.close(where); }

 private:
  ContextRef context_;
  PrimaryContext primary_;
};

// Creates objects in a context or on a device. Owner::set_home() is private in each owner.
struct Creation {
  template <class Create>
  static auto in(ContextRef context, Where where, Create create) {
    auto made = in_context(context, where, create);
    made.set_home(HomeContext(context));
    return made;
  }
  template <class Create>
  static auto on(Device device, Where where, Create create) {
    PrimaryContext primary = PrimaryContext::retain(device, where);
    auto made = in_context(primary.ref(), where, create);
    made.set_home(HomeContext(std::move(primary)));
    return made;
  }
};

}  // namespace detail
}  // namespace v1
}  // namespace cushim
