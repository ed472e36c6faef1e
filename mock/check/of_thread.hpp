// SPDX-License-Identifier: Apache-2.0
// What each thread has of its own, also while its thread-local objects are destroyed: programs call the
// driver from their destructors.
#pragma once

#include <utility>

namespace cushim::check {

// Made when it is first asked for, and again if that is after the end of the thread's objects.
template <class T>
T &of_thread() {
  thread_local T *own = nullptr;
  struct End {
    ~End() { delete std::exchange(own, nullptr); }
  };
  if (own == nullptr) {
    own = new T;
    thread_local const End end;
    static_cast<void>(&end);
  }
  return *own;
}

}  // namespace cushim::check
