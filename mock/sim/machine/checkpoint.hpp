// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>

namespace cushim::sim {

// The checkpoint state of the process. A checkpoint takes nothing away from the process, so a restore has
// nothing to give back. Only calls that hold the machine's lock change the state.
class Checkpoint {
 public:
  enum class State { running, locked, checkpointed };

  State state() const noexcept { return state_.load(std::memory_order_acquire); }
  void set(State state) noexcept {
    process_ = getpid();
    state_.store(state, std::memory_order_release);
    if (state == State::running) state_.notify_all();
  }
  // Returns at once in a child of fork(), which no call would unlock.
  [[gnu::always_inline]] void wait_until_unlocked() const noexcept {
    if (state() != State::running) [[unlikely]]
      wait();
  }

 private:
  [[gnu::cold]] void wait() const noexcept {
    for (State now = state(); now != State::running && process_ == getpid(); now = state())
      state_.wait(now, std::memory_order_acquire);
  }

  std::atomic<State> state_{State::running};
  std::atomic<pid_t> process_{0};  // that changed the state
};

}  // namespace cushim::sim
