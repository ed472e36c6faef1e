// SPDX-License-Identifier: Apache-2.0
// Clocks for recorders.
#pragma once

#include <chrono>
#include <cstdint>

namespace cushim::trace {

inline std::int64_t monotonic() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Reads a counter that advances at a constant rate on all processors. Takes less time than the monotonic
// clock.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t count;
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  return static_cast<std::uint64_t>(monotonic());
#endif
}

}  // namespace cushim::trace
