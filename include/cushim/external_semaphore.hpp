// SPDX-License-Identifier: Apache-2.0
// Semaphores of other interfaces, such as Vulkan, that streams signal and wait for.
//
//   const auto done = ExternalSemaphore::import_timeline(descriptor);
//   done.wait(stream, 1);
//   done.signal(stream, 2);
//
// A test makes the descriptor with sim::ExternalSemaphore on the simulated driver.
#pragma once

#include <cushim/detail/handle.hpp>
#include <cushim/stream.hpp>

#include <cstdint>

namespace cushim {
inline namespace v1 {
inline namespace CUSHIM_DEFAULT_STREAM {

// The calls that ExternalSemaphoreRef and ExternalSemaphore have in common.
template <class Self>
class ExternalSemaphoreCalls : public detail::NounBase<Self, CUexternalSemaphore> {
 public:
  // Signals the semaphore after the work now in the stream: sets a timeline semaphore to the value, which a
  // binary one ignores. Driver calls: cuSignalExternalSemaphoresAsync.
  void signal(const StreamRef &stream, std::uint64_t value = 1, Where where = Where::current()) const {
    run<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS>(
        stream, value, {"cuSignalExternalSemaphoresAsync", &Driver::cuSignalExternalSemaphoresAsync}, where);
  }
  // Makes later work in the stream wait until a timeline semaphore has reached the value, or until a binary
  // one is signaled, which the wait resets. Driver calls: cuWaitExternalSemaphoresAsync.
  void wait(const StreamRef &stream, std::uint64_t value = 1, Where where = Where::current()) const {
    run<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS>(
        stream, value, {"cuWaitExternalSemaphoresAsync", &Driver::cuWaitExternalSemaphoresAsync}, where);
  }

  static constexpr const char *kNoun = "external semaphore";
  static constexpr detail::NamedCall kDestroy{"cuDestroyExternalSemaphore",
                                              &Driver::cuDestroyExternalSemaphore};

 private:
  template <class Parameters>
  using Call =
      detail::NamedCall<CUresult(const CUexternalSemaphore *, const Parameters *, unsigned, CUstream)>;

  template <class Parameters>
  void run(const StreamRef &stream, std::uint64_t value, Call<Parameters> call, Where where) const {
    detail::require(this->self().ref(), call.name, where);
    Parameters parameters{};
    parameters.params.fence.value = value;
    const CUexternalSemaphore handle = this->handle();
    detail::check(call(stream.driver(), &handle, &parameters, 1u, stream.handle()), call.name, where, stream,
                  this->self().ref());
  }
};

}  // namespace CUSHIM_DEFAULT_STREAM

inline namespace CUSHIM_DEFAULT_STREAM {

// A reference to an external semaphore. Owns nothing.
using ExternalSemaphoreRef = detail::HandleRef<ExternalSemaphoreCalls>;

// Owns an external semaphore. Its signals and waits must be complete before it is destroyed.
class ExternalSemaphore
    : public detail::Owner<ExternalSemaphore, ExternalSemaphoreRef, ExternalSemaphoreCalls> {
 public:
  // Imports a binary semaphore, which Vulkan exports as VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT, in
  // the current context. The driver owns the descriptor afterwards; if this throws, the caller does. Driver
  // calls: cuImportExternalSemaphore; at the end cuDestroyExternalSemaphore.
  static ExternalSemaphore import_binary(int descriptor, Driver &driver = cushim::driver(),
                                         Where where = Where::current()) {
    return import(CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD, descriptor, driver, where);
  }
  // Imports a timeline semaphore. Otherwise as above.
  static ExternalSemaphore import_timeline(int descriptor, Driver &driver = cushim::driver(),
                                           Where where = Where::current()) {
    return import(CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD, descriptor, driver, where);
  }
  // Import a semaphore in a given context. Driver calls: push, as above, pop.
  static ExternalSemaphore import_binary(ContextRef context, int descriptor, Where where = Where::current()) {
    return detail::Creation::in(context, where,
                                [&] { return import_binary(descriptor, context.driver(), where); });
  }
  static ExternalSemaphore import_timeline(ContextRef context, int descriptor,
                                           Where where = Where::current()) {
    return detail::Creation::in(context, where,
                                [&] { return import_timeline(descriptor, context.driver(), where); });
  }
  // Import a semaphore in a device's primary context, which the import retains until it is destroyed. Driver
  // calls: cuDevicePrimaryCtxRetain, push, as above, pop; at the end also cuDevicePrimaryCtxRelease.
  static ExternalSemaphore import_binary(Device device, int descriptor, Where where = Where::current()) {
    return detail::Creation::on(device, where,
                                [&] { return import_binary(descriptor, device.driver(), where); });
  }
  static ExternalSemaphore import_timeline(Device device, int descriptor, Where where = Where::current()) {
    return detail::Creation::on(device, where,
                                [&] { return import_timeline(descriptor, device.driver(), where); });
  }

 private:
  using Owner::Owner;

  static ExternalSemaphore import(CUexternalSemaphoreHandleType type, int descriptor, Driver &driver,
                                  Where where) {
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description{};
    description.type = type;
    description.handle.fd = descriptor;
    CUexternalSemaphore handle = nullptr;
    detail::check(driver.cuImportExternalSemaphore(&handle, &description), "cuImportExternalSemaphore", where,
                  detail::Through{&driver}, detail::Argument{"descriptor", descriptor});
    return ExternalSemaphore(handle, driver, 0);
  }
};

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace v1
}  // namespace cushim
