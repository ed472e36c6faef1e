// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace cushim::bench {

inline void start_second_thread() {
  static const std::jthread sleeper([](const std::stop_token &stop) {
    std::mutex mutex;
    std::condition_variable_any ended;
    std::unique_lock lock(mutex);
    ended.wait(lock, stop, [] { return false; });
  });
}

// A benchmark in a process that has a second thread, which sleeps. The C library's locks and counts need no
// atomic instruction while a process has one thread, and need not go back to that: what is measured in one
// thread comes first.
template <class... Arguments>
void in_two_threads(benchmark::State &state, void (*body)(benchmark::State &, Arguments...),
                    Arguments... arguments) {
  start_second_thread();
  body(state, arguments...);
}

}  // namespace cushim::bench
