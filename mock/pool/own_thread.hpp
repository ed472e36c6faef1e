// SPDX-License-Identifier: Apache-2.0
// Threads of cushim itself, which end no wait of the program's: whoever asks whether another thread could
// leaves them out.
#pragma once

#include <atomic>

namespace cushim {
inline namespace v1 {
namespace mock {

inline std::atomic<long> own_threads{0};

// Lives on such a thread. A thread counts itself, so there are never fewer of them than counted.
struct OwnThread {
  OwnThread() { ++own_threads; }
  ~OwnThread() { --own_threads; }
  OwnThread(const OwnThread &) = delete;
  OwnThread &operator=(const OwnThread &) = delete;
};

}  // namespace mock
}  // namespace v1
}  // namespace cushim
