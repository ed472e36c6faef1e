// SPDX-License-Identifier: Apache-2.0
// Compares a call through the drop-in library with the same call through the PLT, with one and with eleven
// arguments, in ten code placements. Also checks that a hook on another entry point adds no cost.
#include <benchmark/benchmark.h>
#include <cuda.h>

#include <cushim/driver.hpp>
#include <cushim/mock/hook.hpp>

#include "summary.hpp"

extern "C" {
// Defined in fake/linked.c.
CUresult linked_event_query(CUevent);
CUresult linked_launch_kernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                              unsigned, CUstream, void **, void **);
}

namespace {

#define CUSHIM_ONE(function) function(nullptr)
#define CUSHIM_ELEVEN(function) function(nullptr, 1, 2, 3, 4, 5, 6, 7, nullptr, nullptr, nullptr)

#define CUSHIM_MEASURE(id, name, setup, bytes, call)           \
  __attribute__((noinline)) void id(benchmark::State &state) { \
    setup;                                                     \
    asm volatile(".skip " #bytes ", 0x90");                    \
    for (auto _ : state) benchmark::DoNotOptimize(call);       \
  }                                                            \
  BENCHMARK(id)->Name(name);

cushim::hook::Hook hook_elsewhere() {
  return cushim::hook::before<&cuCtxSynchronize>(cushim::current_driver(), [] {});
}

#define CUSHIM_PLACEMENT(index, bytes)                                                                   \
  CUSHIM_MEASURE(one_linked_##index, "1 argument/PLT/" #index, , bytes, CUSHIM_ONE(linked_event_query))  \
  CUSHIM_MEASURE(one_##index, "1 argument/drop-in/" #index, , bytes, CUSHIM_ONE(cuEventQuery))           \
  CUSHIM_MEASURE(one_hooked_##index, "1 argument/hook elsewhere/" #index,                                \
                 const auto hook = hook_elsewhere(), bytes, CUSHIM_ONE(cuEventQuery))                    \
  CUSHIM_MEASURE(eleven_linked_##index, "11 arguments/PLT/" #index, , bytes,                             \
                 CUSHIM_ELEVEN(linked_launch_kernel))                                                    \
  CUSHIM_MEASURE(eleven_##index, "11 arguments/drop-in/" #index, , bytes, CUSHIM_ELEVEN(cuLaunchKernel)) \
  CUSHIM_MEASURE(eleven_hooked_##index, "11 arguments/hook elsewhere/" #index,                           \
                 const auto hook = hook_elsewhere(), bytes, CUSHIM_ELEVEN(cuLaunchKernel))
#include "placements.inc"

}  // namespace

int main(int argc, char **argv) {
  cushim::load();
  if (cuEventQuery(nullptr) != CUDA_SUCCESS) {
    std::fprintf(stderr, "the fake driver was not found\n");
    return 1;
  }
  cushim::bench::Summary summary;
  for (const std::string arguments : {"1 argument", "11 arguments"})
    for (const char *index : {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}) {
      summary.compare(arguments + ", drop-in : PLT", arguments + "/drop-in/" + index,
                      arguments + "/PLT/" + index);
      summary.compare(arguments + ", hook on another entry : none", arguments + "/hook elsewhere/" + index,
                      arguments + "/drop-in/" + index);
    }
  return summary.run(argc, argv);
}
