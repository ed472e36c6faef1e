// SPDX-License-Identifier: Apache-2.0
// Classes that own contexts: PrimaryContext, Context; and peer access between devices.
#pragma once

#include <cushim/context_ref.hpp>

namespace cushim {
inline namespace v1 {

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
  // Returns the flags of a device's primary context, and whether it is retained. Driver calls:
  // cuDevicePrimaryCtxGetState.
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

  // Creates a context and leaves it on the calling thread's context stack. It is current until
  // ContextRef::pop() or until it is destroyed. Driver calls: cuCtxCreate_v2; at the end cuCtxDestroy.
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

}  // namespace v1
}  // namespace cushim
