// SPDX-License-Identifier: Apache-2.0
// Measures the cost of calls with checkers enabled, next to the same calls of the simulated driver without
// checkers. The benchmark name contains the checkers: none, leaks, misuse, leaks,misuse, hazards, deadlock.
// With the suffix /two_threads the process has a second, sleeping thread, which makes locks and reference
// counts slower.
#include <benchmark/benchmark.h>

#include <cushim/check/checkers.hpp>
#include <cushim/driver.hpp>
#include <cushim/sim/machine.hpp>

#include <string>

#include "need.hpp"
#include "two_threads.hpp"

namespace {

using cushim::driver;
using cushim::bench::need;

struct Checked {
  explicit Checked(const std::string &words) : checkers(machine.driver(), words) {
    cushim::bench::enter(driver());
    need(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    need(driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    need(driver().cuMemAlloc(&memory, 4096));
    need(driver().cuMemAlloc(&other, 4096));
    need(driver().cuMemAllocHost(&pinned, 4096));
  }
  cushim::sim::Machine machine{{.schedule = cushim::sim::Schedule::eager}};
  cushim::ScopedDriver scope{machine.driver()};
  cushim::check::Checkers checkers;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUdeviceptr memory = 0, other = 0;
  void *pinned = nullptr;
};

void event_query(benchmark::State &state, const std::string &words) {
  const Checked on(words);
  for (auto _ : state) benchmark::DoNotOptimize(driver().cuEventQuery(on.event));
}

void event_record(benchmark::State &state, const std::string &words) {
  const Checked on(words);
  for (auto _ : state) benchmark::DoNotOptimize(driver().cuEventRecord(on.event, on.stream));
}

void event_create_and_destroy(benchmark::State &state, const std::string &words) {
  const Checked on(words);
  for (auto _ : state) {
    CUevent event = nullptr;
    driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
    benchmark::DoNotOptimize(driver().cuEventDestroy(event));
  }
}

void stream_query(benchmark::State &state, const std::string &words) {
  const Checked on(words);
  for (auto _ : state) benchmark::DoNotOptimize(driver().cuStreamQuery(on.stream));
}

void stream_wait_event(benchmark::State &state, const std::string &words) {
  const Checked on(words);
  need(driver().cuEventRecord(on.event, on.stream));
  for (auto _ : state) benchmark::DoNotOptimize(driver().cuStreamWaitEvent(on.stream, on.event, 0));
}

void stream_synchronize(benchmark::State &state, const std::string &words) {
  const Checked on(words);
  for (auto _ : state) benchmark::DoNotOptimize(driver().cuStreamSynchronize(on.stream));
}

void memory_allocate_and_free(benchmark::State &state, const std::string &words) {
  const Checked on(words);
  for (auto _ : state) {
    CUdeviceptr memory = 0;
    driver().cuMemAlloc(&memory, 4096);
    benchmark::DoNotOptimize(driver().cuMemFree(memory));
  }
}

void memory_set(benchmark::State &state, const std::string &words) {
  const Checked on(words);
  for (auto _ : state) benchmark::DoNotOptimize(driver().cuMemsetD8Async(on.memory, 0, 64, on.stream));
}

void memory_copy(benchmark::State &state, const std::string &words) {
  const Checked on(words);
  for (auto _ : state)
    benchmark::DoNotOptimize(driver().cuMemcpyDtoDAsync(on.other, on.memory, 4096, on.stream));
}

void memory_copy_from_pinned(benchmark::State &state, const std::string &words, std::size_t size) {
  const Checked on(words);
  for (auto _ : state)
    benchmark::DoNotOptimize(driver().cuMemcpyHtoDAsync(on.memory, on.pinned, size, on.stream));
}
void memory_copy_from_pinned_64(benchmark::State &state, const std::string &words) {
  memory_copy_from_pinned(state, words, 64);
}
void memory_copy_from_pinned_4096(benchmark::State &state, const std::string &words) {
  memory_copy_from_pinned(state, words, 4096);
}

void context_get_current(benchmark::State &state, const std::string &words) {
  const Checked on(words);
  CUcontext context = nullptr;
  for (auto _ : state) benchmark::DoNotOptimize(driver().cuCtxGetCurrent(&context));
}

using Body = void (*)(benchmark::State &, const std::string &);
constexpr std::pair<const char *, Body> kBodies[] = {
    {"event_query", event_query},
    {"stream_query", stream_query},
    {"event_record", event_record},
    {"stream_wait_event", stream_wait_event},
    {"stream_synchronize", stream_synchronize},
    {"event_create_and_destroy", event_create_and_destroy},
    {"memory_allocate_and_free", memory_allocate_and_free},
    {"memory_set", memory_set},
    {"memory_copy", memory_copy},
    {"memory_copy_from_pinned_64", memory_copy_from_pinned_64},
    {"memory_copy_from_pinned_4096", memory_copy_from_pinned_4096},
    {"context_get_current", context_get_current},
};

}  // namespace

int main(int argc, char **argv) {
  const std::string checkers[] = {"", "leaks", "misuse", "leaks,misuse", "hazards", "deadlock"};
  for (const bool two_threads : {false, true})
    for (const auto &[name, body] : kBodies)
      for (const std::string &words : checkers) {
        const std::string title = std::string(name) + "/" + (words.empty() ? "none" : words);
        if (two_threads)
          benchmark::RegisterBenchmark((title + "/two_threads").c_str(),
                                       cushim::bench::in_two_threads<const std::string &>, body, words);
        else
          benchmark::RegisterBenchmark(title.c_str(), body, words);
      }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
