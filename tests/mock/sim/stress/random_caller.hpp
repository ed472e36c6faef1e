// SPDX-License-Identifier: Apache-2.0
// A thread of a stress test: random numbers, results, and the current context.
#pragma once

#include <map>
#include <random>
#include <vector>

#include "world.hpp"

namespace stress {

using cushim::Driver;
using cushim::driver;

class RandomCaller {
 protected:
  RandomCaller(World &world, unsigned long seed) : world_(world), random_(seed) {}

  static const Driver &d() { return driver(); }
  std::uint64_t random() { return random_(); }

  // Counts a call. If the context has been destroyed, enters another one.
  bool check(CUresult code) {
    count(code);
    if (code == CUDA_ERROR_CONTEXT_IS_DESTROYED || code == CUDA_ERROR_INVALID_CONTEXT) enter();
    return code == CUDA_SUCCESS;
  }
  void enter() {
    const std::uint64_t context = world_.contexts.any(random());
    const bool is_other = context != 0 && random() % 2 == 0;
    count(d().cuCtxSetCurrent(is_other ? handle_of<CUcontext>(context) : world_.primary));
  }

  // Shares a new object with the other threads, and destroys the one that it replaces.
  template <class Handle, class Slots, class Destroy>
  void share(Handle made, Slots &slots, Destroy destroy) {
    if (const std::uint64_t replaced = slots.put(random(), number_of(made)); replaced != 0)
      check(destroy(handle_of<Handle>(replaced)));
  }

  template <class Self>
  using Action = void (Self::*)();
  // Makes calls until all threads together have made enough.
  template <class Self, std::size_t count>
  static void make_calls(Self &self, const Action<Self> (&actions)[count]) {
    while (self.world_.made < self.world_.calls) (self.*actions[self.random() % count])();
  }
  void add_results() {
    const std::lock_guard lock(world_.mutex);
    for (const auto &[code, count] : results_) world_.answers[code] += count;
  }

  World &world_;

 private:
  void count(CUresult code) {
    ++world_.made;
    ++results_[code];
  }

  std::mt19937_64 random_;
  std::map<int, unsigned long> results_;
};

}  // namespace stress
