// SPDX-License-Identifier: Apache-2.0
// Measures calls of the simulated driver among 1,000 and among more objects. Prints the processor time of one
// call, and the ratio of both.
#pragma once

#include <cushim/driver.hpp>
#include <cushim/exact.hpp>
#include <cushim/sim/machine.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "need.hpp"

namespace cushim::bench {

// A machine with a current context, a stream and memory.
struct Running {
  static CUmemPoolProps device_memory() {
    CUmemPoolProps made = {};
    made.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    made.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    return made;
  }

  Running() : machine({.schedule = sim::Schedule::eager}), scope(machine.driver()) {
    enter(driver());
    need(driver().cuCtxGetCurrent(&context));
    need(driver().cuMemAlloc(&memory, 1 << 20));
    need(driver().cuMemAlloc(&other, 1 << 20));
    need(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    need(driver().cuGraphCreate(&graph, 0));
    need(driver().cuMemPoolCreate(&pool, &properties));
  }
  sim::Machine machine;
  ScopedDriver scope;
  CUdeviceptr memory = 0, other = 0;
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUcontext context = nullptr;
  CUmemPoolProps properties = device_memory();  // of `pool`
  CUmemoryPool pool = nullptr;
  std::vector<CUgraphNode> nodes;
  std::vector<CUdeviceptr> addresses;
  CUmemGenericAllocationHandle mapped = 0;  // physical memory of all mappings
};

using Work = std::function<void(Running &running, std::size_t count)>;
struct Phase {
  const char *name;
  Work work;
};

struct Life {
  const char *name;
  std::vector<Phase> phases;
  std::size_t many = 100'000;  // objects
};

// Returns the seconds of each phase.
inline std::vector<double> run(const Life &life, std::size_t count) {
  Running running;
  std::vector<double> seconds;
  for (const Phase &phase : life.phases)
    seconds.push_back(processor_seconds_of([&] { phase.work(running, count); }));
  return seconds;
}

// Returns the least nanoseconds per object of several rounds.
inline std::vector<double> measure(const Life &life, std::size_t count, int rounds) {
  std::vector<double> least(life.phases.size(), 1e30);
  for (int i = 0; i < rounds; ++i) {
    const std::vector<double> seconds = run(life, count);
    for (std::size_t phase = 0; phase < least.size(); ++phase)
      least[phase] = std::min(least[phase], seconds[phase] * 1e9 / static_cast<double>(count));
  }
  return least;
}

// Measures the lives whose name contains the first argument; all without arguments.
inline int measure_all(std::span<const Life> lives, int argc, char **argv) {
  for (const Life &life : lives) {
    if (argc > 1 && std::strstr(life.name, argv[1]) == nullptr) continue;
    const std::vector<double> few = measure(life, 1'000, 5), many = measure(life, life.many, 2);
    for (std::size_t i = 0; i < few.size(); ++i) {
      std::printf("%-40s %-22s %9.0f ns %9.0f ns  %6.2f\n", life.name, life.phases[i].name, few[i], many[i],
                  many[i] / few[i]);
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace cushim::bench
