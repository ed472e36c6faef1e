// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace cushim::sim {

// The checkpoint state of the process. A checkpoint takes nothing away from the process, so a restore has
// nothing to give back. Only calls that hold the machine's lock change the state.
class Checkpoint {
 public:
  enum class State { running, locked, checkpointed };

  State state() const noexcept { return state_.load(std::memory_order_relaxed); }
  void set(State state) noexcept {
    state_.store(state, std::memory_order_relaxed);
    if (state == State::running) state_.notify_all();
  }
  void wait_until_unlocked() const noexcept {
    for (State now = state(); now != State::running; now = state())
      [[unlikely]] state_.wait(now, std::memory_order_relaxed);
  }

 private:
  std::atomic<State> state_{State::running};
};

}  // namespace cushim::sim
