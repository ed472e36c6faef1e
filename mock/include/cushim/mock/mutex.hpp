// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/single_threaded.h>

#include <atomic>

namespace cushim {
inline namespace v1 {
namespace mock {

// A lock that each driver call takes, for nanoseconds, and finds free as a rule: that is a few instructions
// here and no call, of which none is atomic while the process has one thread, as in the C library's. To be
// used as std::mutex is.
class Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex &) = delete;
  Mutex &operator=(const Mutex &) = delete;

  void lock() noexcept {
    if (!try_lock()) wait();
  }
  bool try_lock() noexcept {
    int expected = kFree;
    if (!__libc_single_threaded)
      return state_.compare_exchange_strong(expected, kTaken, std::memory_order_acquire,
                                            std::memory_order_relaxed);
    if (state_.load(std::memory_order_relaxed) != kFree) return false;
    state_.store(kTaken, std::memory_order_relaxed);
    return true;
  }
  void unlock() noexcept {
    if (__libc_single_threaded)
      state_.store(kFree, std::memory_order_relaxed);
    else if (state_.exchange(kFree, std::memory_order_release) == kAwaited)
      wake_one();
  }

 private:
  // Awaited: taken, and perhaps somebody sleeps.
  static constexpr int kFree = 0, kTaken = 1, kAwaited = 2;

  [[gnu::cold]] void wait() noexcept;
  [[gnu::cold]] void wake_one() noexcept;

  std::atomic<int> state_{kFree};
};

}  // namespace mock
}  // namespace v1
}  // namespace cushim
