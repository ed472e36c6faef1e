// SPDX-License-Identifier: Apache-2.0
// Waiting with a limit, for a driver that only has waiting without.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace cushim {
inline namespace v1 {
namespace detail {

// Asks is_done until it says yes (true) or the deadline has passed (false); asks at least once, and
// once more after the deadline. Gives the processor away in between: at first by yielding, then by
// naps that grow to a millisecond.
template <class Clock, class Duration, class IsDone>
bool poll_until(const std::chrono::time_point<Clock, Duration> &deadline, IsDone is_done) {
  using namespace std::chrono_literals;
  for (int attempt = 0;; ++attempt) {
    const bool is_late = Clock::now() >= deadline;
    if (is_done()) return true;
    if (is_late) return false;
    if (attempt < 100)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::min(10us * (attempt - 99), 1000us));
  }
}

// The deadline of a timeout that begins now; far timeouts do not overflow.
template <class Rep, class Period>
std::chrono::steady_clock::time_point deadline_after(std::chrono::duration<Rep, Period> timeout) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point now = Clock::now();
  if (timeout >= std::chrono::duration<double>(Clock::time_point::max() - now))
    return Clock::time_point::max();
  return now + std::chrono::ceil<Clock::duration>(timeout);
}

}  // namespace detail
}  // namespace v1
}  // namespace cushim
