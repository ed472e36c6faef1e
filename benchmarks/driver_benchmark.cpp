// SPDX-License-Identifier: Apache-2.0
// Measures the installed driver: opening it, looking up all entry points by dlsym and by cuGetProcAddress,
// loading it through cushim, cuInit, and the cheapest calls. Exits with 3 without a driver. Opens the driver
// in a new child process for each measurement except the calls.
#include <benchmark/benchmark.h>

#include <cstdio>

#include "child.hpp"
#include "summary.hpp"

namespace {

using cushim::bench::in_child;
using cushim::bench::seconds_of;

void *handle = nullptr;

double dlopen_alone() {
  return seconds_of([] { cushim::bench::open_library("libcuda.so.1"); });
}

double load_eagerly() {
  return seconds_of([] { benchmark::DoNotOptimize(cushim::load().driver); });
}

double call_first() {
  int version = 0;
  return seconds_of([&] { cushim::driver().cuDriverGetVersion(&version); });
}

double initialize() {
  cushim::load();
  return seconds_of([] { cushim::driver().cuInit(0); });
}

double look_up_by_dlsym() {
  handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return seconds_of([] {
    for (int slot = 0; slot < cushim_entry_count(); ++slot)
      benchmark::DoNotOptimize(dlsym(handle, cushim_entry(slot)->symbol));
  });
}

double look_up_by_version() {
  const cushim::Loaded loaded = cushim::load();
  const auto get = loaded->cuGetProcAddress_v2.get();
  return seconds_of([&] {
    for (int slot = 0; slot < cushim_entry_count(); ++slot) {
      const CushimEntryInfo *entry = cushim_entry(slot);
      void *function = nullptr;
      CUdriverProcAddressQueryResult status;
      get(entry->base, &function, entry->version, entry->thread[0] != '\0' ? 2 : 1, &status);
      benchmark::DoNotOptimize(function);
    }
  });
}

template <double (*measure)()>
void fresh(benchmark::State &state) {
  for (auto _ : state) state.SetIterationTime(in_child(measure, nullptr));
}

constexpr auto each_in_microseconds = cushim::bench::once_each<30, benchmark::kMicrosecond>;

BENCHMARK(fresh<dlopen_alone>)->Name("dlopen")->Apply(each_in_microseconds);
BENCHMARK(fresh<load_eagerly>)->Name("load()")->Apply(each_in_microseconds);
BENCHMARK(fresh<call_first>)->Name("first call, no load()")->Apply(each_in_microseconds);
BENCHMARK(fresh<look_up_by_dlsym>)->Name("all symbols by dlsym")->Apply(each_in_microseconds);
BENCHMARK(fresh<look_up_by_version>)->Name("all rows by cuGetProcAddress")->Apply(each_in_microseconds);
BENCHMARK(fresh<initialize>)->Name("cuInit")->Apply(each_in_microseconds);

// Opens the driver in this process, which children must not inherit: runs after all child measurements.
void call_get_version(benchmark::State &state) {
  int version = 0;
  for (auto _ : state) benchmark::DoNotOptimize(cushim::driver().cuDriverGetVersion(&version));
}
void call_get_current(benchmark::State &state) {
  cushim::driver().cuInit(0);
  CUcontext context = nullptr;
  for (auto _ : state) benchmark::DoNotOptimize(cushim::driver().cuCtxGetCurrent(&context));
}

}  // namespace

int main(int argc, char **argv) {
  if (in_child([] { return cushim::load() ? 1.0 : 0.0; }, nullptr) == 0.0) {
    std::fprintf(stderr, "driver_benchmark: there is no driver to measure; see cushim doctor\n");
    return 3;
  }
  cushim::bench::Summary opening;
  for (const char *name : {"dlopen", "load()", "first call, no load()", "all symbols by dlsym",
                           "all rows by cuGetProcAddress", "cuInit"})
    opening.value(name, name, 1, "us");
  if (const int failed = opening.run(argc, argv); failed != 0) return failed;
  benchmark::ClearRegisteredBenchmarks();
  benchmark::RegisterBenchmark("call cuDriverGetVersion", call_get_version);
  benchmark::RegisterBenchmark("call cuCtxGetCurrent", call_get_current);
  cushim::bench::Summary calling;
  for (const char *name : {"call cuDriverGetVersion", "call cuCtxGetCurrent"})
    calling.value(name, name, 1, "ns");
  return calling.run(argc, argv);
}
