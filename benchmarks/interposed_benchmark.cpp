// SPDX-License-Identifier: Apache-2.0
// Measures calls through cushim's libcuda.so.1 in front of another driver, here the fake one, compared with
// calls of that driver. CUSHIM_REPORT, CUSHIM_CHECK and CUSHIM_TRACE apply, so their cost can be measured
// too.
#include <benchmark/benchmark.h>
#include <cuda.h>
#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "summary.hpp"

namespace {

template <class Function>
Function *find(const char *library, const char *symbol) {
  void *const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void *const function = handle != nullptr ? dlsym(handle, symbol) : nullptr;
  if (function == nullptr) throw std::runtime_error(std::string(library) + ": no " + symbol);
  return reinterpret_cast<Function *>(function);
}

using Query = CUresult(CUevent);
using Launch = CUresult(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        CUstream, void **, void **);

template <const char *const &library>
void one_argument(benchmark::State &state) {
  Query *const query = find<Query>(library, "cuEventQuery");
  for (auto _ : state) benchmark::DoNotOptimize(query(nullptr));
}

template <const char *const &library>
void eleven_arguments(benchmark::State &state) {
  Launch *const launch = find<Launch>(library, "cuLaunchKernel");
  for (auto _ : state)
    benchmark::DoNotOptimize(launch(nullptr, 1, 2, 3, 4, 5, 6, 7, nullptr, nullptr, nullptr));
}

const char *const fake = CUSHIM_FAKE_LIBRARY;
const char *const interposed = CUSHIM_SIM_LIBRARY;

BENCHMARK(one_argument<fake>)->Name("1 argument/driver");
BENCHMARK(one_argument<interposed>)->Name("1 argument/interposed");
BENCHMARK(eleven_arguments<fake>)->Name("11 arguments/driver");
BENCHMARK(eleven_arguments<interposed>)->Name("11 arguments/interposed");

}  // namespace

int main(int argc, char **argv) {
  setenv("CUSHIM_DRIVER", fake, 1);
  cushim::bench::Summary summary;
  for (const std::string arguments : {"1 argument", "11 arguments"})
    summary.difference(arguments + ", interposed", arguments + "/interposed", arguments + "/driver", "ns");
  return summary.run(argc, argv);
}
