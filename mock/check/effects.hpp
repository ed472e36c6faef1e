// SPDX-License-Identifier: Apache-2.0
// What each call does to streams, events and memory: one table by base name, for all ABIs and per-thread
// variants of a call alike.
#pragma once

#include "hazard_model.hpp"
#include "watch.hpp"

namespace cushim::check {

// A call that has succeeded, or is about to be made.
class Doing {
 public:
  Doing(HazardModel &model, Driver &driver, const WatchedCall &call)
      : model(model), driver_(driver), call_(call) {}

  HazardModel &model;

  std::size_t count() const noexcept { return call_.arguments.size(); }
  std::uint64_t argument(std::size_t index) const { return call_.arguments[index].bits; }
  // What the call wrote where this argument points.
  std::uint64_t written(std::size_t index) const { return call_.arguments[index].written(); }
  template <class T>
  const T *pointed(std::size_t index) const {
    return reinterpret_cast<const T *>(argument(index));
  }
  template <class T>
  T handle(std::size_t index) const {
    return reinterpret_cast<T>(argument(index));
  }

  StreamRef stream(CUstream handle) const;
  StreamRef stream(std::size_t index) const { return stream(handle<CUstream>(index)); }
  StreamRef last_stream() const { return stream(count() - 1); }
  StreamRef null_stream() const { return stream(CUstream{}); }
  ContextKey current() const;
  // Where and by what memory is used.
  Access access() const {
    return {.moment = {}, .place = Place::of_call(), .entry = static_cast<Entry>(call_.slot)};
  }
  // Of memory that another call made; 0 if it cannot be told.
  std::uint64_t size_of(std::uint64_t address) const;

 private:
  Driver &driver_;
  const WatchedCall &call_;
};

struct Effect {
  const char *base;
  // Before the call: ends what the call destroys, and says what the host knows to be done when it succeeds.
  void (*before)(Doing &doing, Clock &host_learns) = nullptr;
  // When it has succeeded.
  void (*after)(Doing &doing) = nullptr;
  bool is_for_any_result = false;
  // Waits for what the host then knows to be done, and for nothing else: if that is known, it does not wait.
  bool only_waits = false;
};

// Null if the call does nothing of that kind, or can never succeed: the ABIs with device addresses of 32
// bits.
const Effect *effect_of(int slot);

// Which of the program's threads this is.
unsigned long number_of_thread() noexcept;

// The stream as a call of this row names it.
StreamRef stream_ref(Driver &driver, int slot, CUstream handle);

}  // namespace cushim::check
