// SPDX-License-Identifier: Apache-2.0
#include "api/service.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include <cushim/detail/process_end.hpp>

namespace cushim::sim {

namespace {

// ---- Entry points that are not implemented ----

template <class Signature>
class NotImplemented;

template <class... Arguments>
class NotImplemented<CUresult(Arguments...)> final : public mock::Receiver<CUresult(Arguments...)> {
 public:
  NotImplemented(System &system, int slot) : system_(system), slot_(slot) {}
  CUresult receive(Arguments...) override {
    try {
      system_.report_not_implemented(slot_);
      log_error(system_, static_cast<std::size_t>(slot_), CUDA_ERROR_NOT_SUPPORTED);
      return CUDA_ERROR_NOT_SUPPORTED;
    } catch (...) {
      return error_of_exception();
    }
  }

 private:
  System &system_;
  const int slot_;
};

template <class Signature>
std::unique_ptr<mock::AnyReceiver> make_not_implemented(System &system, int slot) {
  // Not make_unique, here and in serve(): instantiating it for every type takes half of the compile time.
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

namespace {

std::atomic<pid_t> initialized_by{0};

}  // namespace

void note_initialization() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { is_forked_child = true; });
  static_cast<void>(registered);
  initialized_by = getpid();
}

pid_t initialized_process() noexcept { return initialized_by; }

void end_with_process() {
  static const int registered = std::atexit([] { is_over = true; });
  static_cast<void>(registered);
}

CUresult error_of_exception() noexcept {
  try {
    throw;
  } catch (const CallError &error) {
    return error.code;
  } catch (const std::bad_alloc &) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::length_error &) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::system_error &) {
    return CUDA_ERROR_OPERATING_SYSTEM;
  } catch (...) {
    return CUDA_ERROR_UNKNOWN;
  }
}

void log_error(System &system, std::size_t slot, CUresult code) noexcept {
  if (code == CUDA_ERROR_NOT_READY || is_forked_child.load(std::memory_order_relaxed)) return;
  system.errors.add(cushim::detail::symbols[slot].data(), code);
}

Service::Service() {
#define CUSHIM_GROUP(name, since)      \
  if constexpr (CUDA_VERSION >= since) \
    for (const auto register_entry : entries_of_##name) register_entry(*this);
#include "api/groups.inc"
}

void Service::fail_served_twice(int slot) {
  throw std::logic_error(std::string(cushim::detail::symbols[slot]) + " has two implementations");
}

const Service &Service::all() {
  static const Service all;
  return all;
}

std::unique_ptr<mock::AnyReceiver> Service::make(System &system, int slot) {
  const Make make = all().makers_[slot];
  return make != nullptr ? make(system, slot) : kNotImplemented[slot](system, slot);
}

}  // namespace cushim::sim
