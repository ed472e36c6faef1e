// SPDX-License-Identifier: Apache-2.0
// Calls an observer before and after every call of a driver, by a hook on each entry point.
#pragma once

#include <cushim/mock/hook.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace cushim::trace {

class CallObserver {
 public:
  CallObserver() = default;
  CallObserver(const CallObserver &) = delete;
  CallObserver &operator=(const CallObserver &) = delete;

  // Called before the driver. `words` are the arguments, each in whole words. Returns a number for end().
  virtual std::uint64_t begin(int slot, std::span<const std::uint64_t> words) = 0;
  // Called on the same thread after the driver returned.
  virtual void end(std::uint64_t begin, int slot, std::span<const std::uint64_t> words, CUresult result) = 0;

 protected:
  ~CallObserver() = default;
};

// Observes all entry points whose types the CUDA headers have, until the hooks are destroyed. Skips calls
// that are made inside an observed call on the same thread, such as those of checkers and of the observer
// itself: they are not the program's. Throws as mock::DriverSlot::over().
std::vector<hook::Hook> observe(Driver &driver, CallObserver &observer);

}  // namespace cushim::trace
