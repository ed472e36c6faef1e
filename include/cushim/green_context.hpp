// SPDX-License-Identifier: Apache-2.0
// Green contexts: parts of a device's multiprocessors, with streams that use no others.
//
//   const auto parts = split_by_count(device_resource(device), 16);
//   const auto green = GreenContext::create(device, parts.groups);
//   const Stream stream = green.create_stream();
//
// Needs CUDA 12.4; streams and events of green contexts need CUDA 12.5.
#pragma once

#include <cushim/detail/handle.hpp>
#include <cushim/event.hpp>

#include <span>
#include <vector>

#if CUDA_VERSION >= 12040

namespace cushim {
inline namespace v1 {

// ---- Resources -------------------------------------------------------------------------------------

// Return all multiprocessors of a device, and those of a context. Driver calls: cuDeviceGetDevResource,
// cuCtxGetDevResource.
inline CUdevResource device_resource(Device device, Where where = Where::current()) {
  return detail::ask<CUdevResource>(device, "cuDeviceGetDevResource", where, [&](CUdevResource *out) {
    return device.driver().cuDeviceGetDevResource(device.handle(), out, CU_DEV_RESOURCE_TYPE_SM);
  });
}
inline CUdevResource context_resource(ContextRef context, Where where = Where::current()) {
  return detail::ask<CUdevResource>(context, "cuCtxGetDevResource", where, [&](CUdevResource *out) {
    return context.driver().cuCtxGetDevResource(context.handle(), out, CU_DEV_RESOURCE_TYPE_SM);
  });
}

// Groups of multiprocessors, and those that are left over.
struct ResourceGroups {
  std::vector<CUdevResource> groups;
  CUdevResource rest;
};

// Splits multiprocessors into as many groups as possible, of at least `count` multiprocessors each. Driver
// calls: cuDevSmResourceSplitByCount twice.
inline ResourceGroups split_by_count(const CUdevResource &resource, unsigned count,
                                     Driver &driver = cushim::driver(), Where where = Where::current()) {
  constexpr const char *routine = "cuDevSmResourceSplitByCount";
  unsigned number = 0;
  detail::check(driver.cuDevSmResourceSplitByCount(nullptr, &number, &resource, nullptr, 0, count), routine,
                where, detail::Through{&driver}, detail::Argument{"count", count});
  ResourceGroups made{std::vector<CUdevResource>(number), {}};
  detail::check(
      driver.cuDevSmResourceSplitByCount(made.groups.data(), &number, &resource, &made.rest, 0, count),
      routine, where, detail::Through{&driver}, detail::Argument{"count", count});
  return made;
}

// ---- Green contexts --------------------------------------------------------------------------------

inline namespace CUSHIM_DEFAULT_STREAM {

// The calls that GreenContextRef and GreenContext have in common.
template <class Self>
class GreenContextCalls : public detail::NounBase<Self, CUgreenCtx> {
 public:
  // Returns the context that is made current to work in this green context. Driver calls: cuCtxFromGreenCtx.
  ContextRef context(Where where = Where::current()) const {
    const auto handle = detail::ask<CUcontext>(
        this->self().ref(), "cuCtxFromGreenCtx", where,
        [this](CUcontext *out) { return this->driver().cuCtxFromGreenCtx(out, this->handle()); });
    return ContextRef::from_handle(handle, this->driver());
  }
  // Returns the multiprocessors. Driver calls: cuGreenCtxGetDevResource.
  CUdevResource resource(Where where = Where::current()) const {
    return detail::ask<CUdevResource>(
        this->self().ref(), "cuGreenCtxGetDevResource", where, [this](CUdevResource *out) {
          return this->driver().cuGreenCtxGetDevResource(this->handle(), out, CU_DEV_RESOURCE_TYPE_SM);
        });
  }
  // Returns the number of this green context, which is unique in the process. Needs a driver of CUDA 12.9.
  // Driver calls: cuGreenCtxGetId.
  unsigned long long id(Where where = Where::current()) const {
    return detail::ask<unsigned long long>(
        this->self().ref(), "cuGreenCtxGetId", where,
        [this](unsigned long long *out) { return this->driver().cuGreenCtxGetId(this->handle(), out); });
  }
  // Records an event after all work now in the green context. Driver calls: cuGreenCtxRecordEvent.
  void record(const EventRef &event, Where where = Where::current()) const {
    detail::call_with(this->self().ref(), event, {"cuGreenCtxRecordEvent", &Driver::cuGreenCtxRecordEvent},
                      where);
  }
  // Makes all later work in the green context wait for an event. Driver calls: cuGreenCtxWaitEvent.
  void wait(const EventRef &event, Where where = Where::current()) const {
    detail::call_with(this->self().ref(), event, {"cuGreenCtxWaitEvent", &Driver::cuGreenCtxWaitEvent},
                      where);
  }
  // Creates a stream, which does not wait for the default stream. Driver calls: cuGreenCtxStreamCreate; at
  // the end cuStreamDestroy.
  Stream create_stream(int priority = 0, Where where = Where::current()) const {
    const auto handle =
        detail::ask<CUstream>(this->self().ref(), "cuGreenCtxStreamCreate", where, [&](CUstream *out) {
          return this->driver().cuGreenCtxStreamCreate(out, this->handle(), CU_STREAM_NON_BLOCKING, priority);
        });
    return Stream::adopt(handle, this->driver());
  }

  static constexpr const char *kNoun = "green context";
  static constexpr detail::NamedCall kDestroy{"cuGreenCtxDestroy", &Driver::cuGreenCtxDestroy};
};

}  // namespace CUSHIM_DEFAULT_STREAM

inline namespace CUSHIM_DEFAULT_STREAM {

// A reference to a green context. Owns nothing.
using GreenContextRef = detail::HandleRef<GreenContextCalls>;

// Owns a green context. Its streams must be destroyed before it.
class GreenContext : public detail::Owner<GreenContext, GreenContextRef, GreenContextCalls> {
 public:
  // Creates a green context of these multiprocessors of a device, and retains its primary context. Needs no
  // current context. Driver calls: cuDevResourceGenerateDesc, cuGreenCtxCreate; at the end cuGreenCtxDestroy.
  static GreenContext create(Device device, std::span<const CUdevResource> resources,
                             Where where = Where::current()) {
    Driver &driver = device.driver();
    std::vector<CUdevResource> copies(resources.begin(), resources.end());  // the driver takes no const
    CUdevResourceDesc description{};
    detail::check(
        driver.cuDevResourceGenerateDesc(&description, copies.data(), static_cast<unsigned>(copies.size())),
        "cuDevResourceGenerateDesc", where, device);
    CUgreenCtx handle = nullptr;
    detail::check(driver.cuGreenCtxCreate(&handle, description, device.handle(), CU_GREEN_CTX_DEFAULT_STREAM),
                  "cuGreenCtxCreate", where, device);
    return GreenContext(handle, driver, 0);
  }

 private:
  using Owner::Owner;
};

// Returns the green context of a stream; empty if it has none. Driver calls: cuStreamGetGreenCtx.
inline GreenContextRef green_context_of(const StreamRef &stream, Where where = Where::current()) {
  const auto handle = detail::ask<CUgreenCtx>(stream, "cuStreamGetGreenCtx", where, [&](CUgreenCtx *out) {
    return stream.driver().cuStreamGetGreenCtx(stream.handle(), out);
  });
  return handle != nullptr ? GreenContextRef::from_handle(handle, stream.driver()) : GreenContextRef();
}

// Records an event after all work now in a context, and makes all later work in a context wait for one. Need
// CUDA 12.5. Driver calls: cuCtxRecordEvent, cuCtxWaitEvent.
inline void record(ContextRef context, const EventRef &event, Where where = Where::current()) {
  detail::require(event, "cuCtxRecordEvent", where);
  detail::check(context.driver().cuCtxRecordEvent(context.handle(), event.handle()), "cuCtxRecordEvent",
                where, context, event);
}
inline void wait(ContextRef context, const EventRef &event, Where where = Where::current()) {
  detail::require(event, "cuCtxWaitEvent", where);
  detail::check(context.driver().cuCtxWaitEvent(context.handle(), event.handle()), "cuCtxWaitEvent", where,
                context, event);
}

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace v1
}  // namespace cushim

#endif
