// SPDX-License-Identifier: Apache-2.0
#include "service.hpp"

#include <pthread.h>

#include <atomic>
#include <cstdlib>

namespace cushim::sim {

namespace {

// ---- What is not implemented ----

template <class Signature>
class NotImplemented;

template <class... Arguments>
class NotImplemented<CUresult(Arguments...)> final : public mock::Receiver<CUresult(Arguments...)> {
 public:
  NotImplemented(System &system, int slot) : system_(system), slot_(slot) {}
  CUresult receive(Arguments...) override {
    system_.report_not_implemented(slot_);
    return CUDA_ERROR_NOT_SUPPORTED;
  }

 private:
  System &system_;
  const int slot_;
};

template <class Signature>
std::unique_ptr<mock::AnyReceiver> make_not_implemented(System &system, int slot) {
  // No make_unique, here and where a row is served: an owner of each type is half of the time of compiling.
  return std::unique_ptr<mock::AnyReceiver>(new NotImplemented<Signature>(system, slot));
}

constexpr std::unique_ptr<mock::AnyReceiver> (*kNotImplemented[])(System &, int) = {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  &make_not_implemented<CUresult parameters>,
#define CUSHIM_ENTRY_UNTYPED(slot, symbol, base, version, thread, parameters, arguments) nullptr,
#include <cushim/entry_points.inc>
    // clang-format on
};

}  // namespace

void note_forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { is_forked_child = true; });
  static_cast<void>(registered);
}

bool is_after_fork() noexcept { return is_forked_child; }

void end_with_process() {
  static const int registered = std::atexit([] { is_over = true; });
  static_cast<void>(registered);
}

Service::Service() {
  serve_initialization(*this);
  serve_lookup(*this);
  serve_errors(*this);
  serve_devices(*this);
  serve_contexts(*this);
  serve_primary_contexts(*this);
  serve_streams(*this);
  serve_events(*this);
  serve_host_functions(*this);
  serve_memory_operations(*this);
  serve_device_memory(*this);
  serve_host_memory(*this);
  serve_managed_memory(*this);
  serve_pointers(*this);
  serve_copies(*this);
  serve_box_copies(*this);
  serve_sets(*this);
  serve_arrays(*this);
  serve_mipmapped_arrays(*this);
  serve_array_copies(*this);
  serve_pools(*this);
  serve_peers(*this);
  serve_ipc_memory(*this);
  serve_ipc_events(*this);
}

const Service &Service::all() {
  static const Service all;
  return all;
}

std::unique_ptr<mock::AnyReceiver> Service::make(System &system, int slot) {
  const Make make = all().makers_[slot];
  return make != nullptr ? make(system) : kNotImplemented[slot](system, slot);
}

}  // namespace cushim::sim
