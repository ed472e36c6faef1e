// SPDX-License-Identifier: Apache-2.0
// The context in which an object was created, and the creation of objects in a context or on a device.
#pragma once

#include <cushim/context.hpp>

#include <optional>

namespace cushim {
inline namespace v1 {
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

  // Runs release() with this context current, and returns the first error. `routine` is the driver call of
  // release(); if push or pop fails, it is set to that call. Driver calls: push, those of release(), pop; if
  // the caller named no context, those of release() alone.
  template <class Release>
  CUresult run(Release release, const char *&routine) const noexcept {
    if (context_.is_empty()) return release();
    Driver &driver = context_.driver();
    if (const CUresult pushed = driver.cuCtxPushCurrent(context_.handle()); pushed != CUDA_SUCCESS) {
      routine = "cuCtxPushCurrent";
      return pushed;
    }
    const CUresult released = release();
    CUcontext popped = nullptr;
    const CUresult pop = driver.cuCtxPopCurrent(&popped);
    if (released != CUDA_SUCCESS || pop == CUDA_SUCCESS) return released;
    routine = "cuCtxPopCurrent";
    return pop;
  }

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
