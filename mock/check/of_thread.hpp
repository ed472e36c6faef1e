// SPDX-License-Identifier: Apache-2.0
// What each thread has of its own, also while its thread-local objects are destroyed: programs call the
// driver from their destructors.
#pragma once

#include <pthread.h>

#include <utility>

namespace cushim::check {

// Made when it is first asked for. Ends with a key of pthreads: their destructors run after those of all
// thread-local objects, and again if one of them makes a new value.
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
