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

// Runs a benchmark in a process with a second, sleeping thread. The C library omits atomic instructions in
// locks and reference counts while a process has one thread, and may not return to that mode: run
// single-threaded benchmarks first.
template <class... Arguments>
void in_two_threads(benchmark::State &state, void (*body)(benchmark::State &, Arguments...),
                    Arguments... arguments) {
  start_second_thread();
  body(state, arguments...);
}

}  // namespace cushim::bench
