// SPDX-License-Identifier: Apache-2.0
// Threads that make no driver calls and end no wait of the program's: whoever asks whether another thread
// could leaves them out. So the simulated driver can tell a deadlock for certain (docs/simulator.md) where
// cushim, or what tests are run by, has a thread of its own.
#pragma once

#include <atomic>

namespace cushim {
inline namespace v1 {
namespace mock {

inline std::atomic<long> own_threads{0};

// Lives on such a thread. A thread counts itself, so there are never fewer of them than counted. They are
// those of one copy of cushim: a driver that is loaded from a library does not know of them.
struct OwnThread {
  OwnThread() { ++own_threads; }
  ~OwnThread() { --own_threads; }
  OwnThread(const OwnThread &) = delete;
  OwnThread &operator=(const OwnThread &) = delete;
};

}  // namespace mock
}  // namespace v1
}  // namespace cushim
