// SPDX-License-Identifier: Apache-2.0
// What calls cost with checkers switched on, beside the same calls of the simulated driver without. The names
// tell which: none, leaks, misuse, leaks,misuse,
// hazards.
#include <benchmark/benchmark.h>

#include <cushim/check/checkers.hpp>
#include <cushim/driver.hpp>
#include <cushim/sim/machine.hpp>

#include <stdexcept>
#include <string>

namespace {

using cushim::driver;

void need(CUresult code) {
  if (code != CUDA_SUCCESS) throw std::runtime_error("a call answered " + std::to_string(code));
}

struct Checked {
  explicit Checked(const std::string &words) : checkers(machine.driver(), words) {
    CUcontext context = nullptr;
    need(driver().cuInit(0));
    need(driver().cuDevicePrimaryCtxRetain(&context, 0));
    need(driver().cuCtxSetCurrent(context));
    need(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    need(driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    need(driver().cuMemAlloc(&memory, 4096));
  }
  cushim::sim::Machine machine{{.schedule = cushim::sim::Schedule::eager}};
  cushim::ScopedDriver scope{machine.driver()};
  cushim::check::Checkers checkers;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUdeviceptr memory = 0;
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

void context_get_current(benchmark::State &state, const std::string &words) {
  const Checked on(words);
  CUcontext context = nullptr;
  for (auto _ : state) benchmark::DoNotOptimize(driver().cuCtxGetCurrent(&context));
}

using Body = void (*)(benchmark::State &, const std::string &);
constexpr std::pair<const char *, Body> kBodies[] = {
    {"event_query", event_query},
    {"event_record", event_record},
    {"event_create_and_destroy", event_create_and_destroy},
    {"memory_allocate_and_free", memory_allocate_and_free},
    {"memory_set", memory_set},
    {"context_get_current", context_get_current},
};

}  // namespace

int main(int argc, char **argv) {
  for (const auto &[name, body] : kBodies)
    for (const std::string words : {"", "leaks", "misuse", "leaks,misuse", "hazards", "deadlock"})
      benchmark::RegisterBenchmark((std::string(name) + "/" + (words.empty() ? "none" : words)).c_str(), body,
                                   words);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
