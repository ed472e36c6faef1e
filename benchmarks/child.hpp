// SPDX-License-Identifier: Apache-2.0
// Runs each measurement in a new child process, because a process opens its driver and binds each call only
// once.
#pragma once

#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cushim/driver.hpp>

#include <chrono>
#include <cstdlib>

namespace cushim::bench {

double seconds_of(auto &&work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline void open_library(const char *name) {
  if (dlopen(name, RTLD_NOW | RTLD_LOCAL) == nullptr) std::abort();
}

// Writes to each page of the default driver's table. Relocation wrote them at program start, but fork() makes
// them copy-on-write again: the measurement would have page faults that a program without fork() does not
// have.
inline void own_the_table() {
  volatile char *table = reinterpret_cast<volatile char *>(cushim_default_driver());
  for (std::size_t byte = 0; byte < sizeof(CushimDriver); byte += 1024) table[byte] = table[byte];
}

// Returns the seconds that the child measured. The parent must not have opened the driver. The child first
// opens and loads the library warm_up, if not null, so that the measurement does not include the page faults
// of the library's code.
inline double in_child(double (*measure)(), const char *warm_up = "libfake_warm_up.so") {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    if (warm_up != nullptr) {
      open_library(warm_up);
      if (!cushim::load({.library = warm_up})) _exit(1);
    }
    own_the_table();
    const double seconds = measure();
    _exit(write(ends[1], &seconds, sizeof seconds) == sizeof seconds ? 0 : 1);
  }
  close(ends[1]);
  double seconds = 0;
  if (read(ends[0], &seconds, sizeof seconds) != sizeof seconds) std::abort();
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return seconds;
}

// For Benchmark::Apply(): runs the benchmark, which measures by itself, once in each of these repetitions.
template <int repetitions, benchmark::TimeUnit unit>
void once_each(benchmark::internal::Benchmark *one) {
  one->UseManualTime()->Iterations(1)->Repetitions(repetitions)->Unit(unit);
}

}  // namespace cushim::bench
