// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>  // glibc 2.32
#endif

#include <atomic>
#include <mutex>

namespace cushim::mock {

// A mutex for locks that each driver call takes for some nanoseconds and usually finds free. Uncontended,
// it takes a few inline instructions; none of them is atomic while the process has one thread, as in the C
// library. Use it like std::mutex.
class Mutex {
 public:
  void lock() noexcept {
    if (!try_lock()) wait();
  }
  bool try_lock() noexcept {
    int expected = kFree;
    if (!has_one_thread())
      return state_.compare_exchange_strong(expected, kTaken, std::memory_order_acquire,
                                            std::memory_order_relaxed);
    if (state_.load(std::memory_order_relaxed) != kFree) return false;
    state_.store(kTaken, std::memory_order_relaxed);
    return true;
  }
  void unlock() noexcept {
    if (has_one_thread())
      state_.store(kFree, std::memory_order_relaxed);
    else if (state_.exchange(kFree, std::memory_order_release) == kAwaited)
      wake_one();
  }

 private:
  // kAwaited: locked, and threads may be waiting.
  static constexpr int kFree = 0, kTaken = 1, kAwaited = 2;

  // Returns whether the process is known to have only one thread.
  static bool has_one_thread() noexcept {
#if __has_include(<sys/single_threaded.h>)
    return __libc_single_threaded;
#else
    return false;
#endif
  }

  [[gnu::cold]] void wait() noexcept;
  [[gnu::cold]] void wake_one() noexcept;

  std::atomic<int> state_{kFree};
};

// Holds a mutex during its life, as std::unique_lock does, whose functions GCC does not inline.
class MutexLock {
 public:
  [[gnu::always_inline]] explicit MutexLock(Mutex &mutex) noexcept : MutexLock(mutex, std::defer_lock) {
    lock();
  }
  MutexLock(Mutex &mutex, std::defer_lock_t) noexcept : mutex_(mutex) {}  // does not take the mutex
  MutexLock(const MutexLock &) = delete;
  MutexLock &operator=(const MutexLock &) = delete;
  [[gnu::always_inline]] ~MutexLock() {
    if (is_held_) mutex_.unlock();
  }

  [[gnu::always_inline]] void lock() noexcept {
    mutex_.lock();
    is_held_ = true;
  }
  [[gnu::always_inline]] void unlock() noexcept {
    is_held_ = false;
    mutex_.unlock();
  }
  bool owns_lock() const noexcept { return is_held_; }

 private:
  Mutex &mutex_;
  bool is_held_ = false;
};

}  // namespace cushim::mock
