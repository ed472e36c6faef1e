// SPDX-License-Identifier: Apache-2.0
#include <cushim/mock/mutex.hpp>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cushim::mock {
namespace {

void futex(std::atomic<int> &state, int operation, int value) noexcept {
  static_assert(sizeof state == sizeof(int) && std::atomic<int>::is_always_lock_free);
  syscall(SYS_futex, reinterpret_cast<int *>(&state), operation, value, nullptr, nullptr, 0);
}

}  // namespace

void Mutex::wait() noexcept {
  // A thread that has slept does not know whether others still sleep, so it assumes that they do.
  while (state_.exchange(kAwaited, std::memory_order_acquire) != kFree)
    futex(state_, FUTEX_WAIT_PRIVATE, kAwaited);
}

void Mutex::wake_one() noexcept { futex(state_, FUTEX_WAKE_PRIVATE, 1); }

}  // namespace cushim::mock
