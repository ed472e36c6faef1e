// SPDX-License-Identifier: Apache-2.0
// Per-thread data that stays usable while thread-local objects are destroyed: programs call the driver from
// the destructors of those.
#pragma once

#include <pthread.h>

#include <utility>

namespace cushim::check {

// Returns the thread's T, created on first use. A pthread key destroys it: destructors of keys run after
// those of all thread-local objects, and again if one of them creates a new value.
template <class T>
T &of_thread() {
  thread_local T *own = nullptr;
  static const pthread_key_t end = [] {
    pthread_key_t key{};
    pthread_key_create(&key, [](void *) { delete std::exchange(own, nullptr); });
    return key;
  }();
  if (own == nullptr) {
    own = new T;
    pthread_setspecific(end, own);
  }
  return *own;
}

}  // namespace cushim::check
