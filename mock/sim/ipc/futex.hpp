// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>

namespace cushim::sim {

// Futexes in memory that processes share.

inline void wake_all(std::atomic<std::uint32_t> &word) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Sleeps while the word has this value, until it is woken up. Returns false after the time limit.
inline bool sleep_while(std::atomic<std::uint32_t> &word, std::uint32_t value,
                        std::chrono::milliseconds limit) noexcept {
  const timespec time{static_cast<time_t>(limit.count() / 1000),
                      static_cast<long>(limit.count() % 1000 * 1000000)};
  return syscall(SYS_futex, &word, FUTEX_WAIT, value, &time, nullptr, 0) == 0 || errno != ETIMEDOUT;
}

}  // namespace cushim::sim
