// SPDX-License-Identifier: Apache-2.0
// Counts the threads of cushim itself, which make no driver calls and cannot end a wait of the program. The
// simulated driver ignores them when it checks whether another thread could end a wait, so it can detect a
// deadlock with certainty (docs/guide/simulator.md) although cushim or a test runner has threads.
#pragma once

#include <atomic>

namespace cushim::mock {

inline std::atomic<long> own_threads{0};

// Registers the current thread as such while it exists. A thread counts itself, so the count never exceeds
// the number of these threads. The count is that of one copy of cushim: a driver loaded from a library does
// not see it.
struct OwnThread {
  OwnThread() { ++own_threads; }
  ~OwnThread() { --own_threads; }
  OwnThread(const OwnThread &) = delete;
  OwnThread &operator=(const OwnThread &) = delete;
};

}  // namespace cushim::mock
