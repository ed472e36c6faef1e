// SPDX-License-Identifier: Apache-2.0
// Measures graphs of the simulated driver: the time per node for capture, instantiation, launch, update,
// clone and destruction of graphs with 1,000 and 100,000 nodes, in one run. Times are processor times of all
// threads.
#include <benchmark/benchmark.h>

#include <cushim/driver.hpp>
#include <cushim/sim/machine.hpp>

#include <functional>
#include <string>
#include <vector>

#include "need.hpp"
#include "summary.hpp"

namespace {

using namespace cushim;
using namespace cushim::bench;
using namespace cushim::sim;

constexpr std::size_t kLittle = 1'000, kMuch = 100'000;
constexpr std::size_t kForks = 8;  // streams of a fork

struct Running {
  Running() : machine({.schedule = Schedule::eager}), scope(machine.driver()), forks(kForks) {
    CUmodule module = nullptr;
    enter(driver());
    need(driver().cuMemAlloc(&memory, 1 << 20));
    need(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    need(driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (CUstream &fork : forks) need(driver().cuStreamCreate(&fork, CU_STREAM_NON_BLOCKING));
    machine.kernel("empty", [](const cushim::sim::Launch &) {});
    need(driver().cuModuleLoadData(&module, ".version 7.8\n.target sm_52\n.visible .entry empty() { ret; }"));
    need(driver().cuModuleGetFunction(&kernel, module, "empty"));
  }
  Machine machine;
  ScopedDriver scope;
  CUstream stream = nullptr;
  std::vector<CUstream> forks;
  CUevent event = nullptr;
  CUdeviceptr memory = 0;
  CUfunction kernel = nullptr;
};

// ---- Work of a graph ----

void set(const Running &running, CUstream stream) {
  need(driver().cuMemsetD8Async(running.memory, 1, 16, stream));
}
void launch_kernel(const Running &running, CUstream stream) {
  need(driver().cuLaunchKernel(running.kernel, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
}

template <void (*submit)(const Running &running, CUstream stream)>
void chain(const Running &running, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) submit(running, running.stream);
}

// Repeats: submits one node to the stream, then one that depends on it to each of kForks streams, and lets
// the stream wait for these.
void fork_and_join(const Running &running, std::size_t count) {
  for (std::size_t i = 0; i < count; i += kForks + 1) {
    set(running, running.stream);
    need(driver().cuEventRecord(running.event, running.stream));
    for (const CUstream fork : running.forks) {
      need(driver().cuStreamWaitEvent(fork, running.event, 0));
      set(running, fork);
    }
    for (const CUstream fork : running.forks) {
      need(driver().cuEventRecord(running.event, fork));
      need(driver().cuStreamWaitEvent(running.stream, running.event, 0));
    }
  }
}

using Submit = void (*)(const Running &running, std::size_t count);

CUgraph capture(const Running &running, Submit submit, std::size_t count) {
  CUgraph graph = nullptr;
  need(driver().cuStreamBeginCapture(running.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  submit(running, count);
  need(driver().cuStreamEndCapture(running.stream, &graph));
  return graph;
}

// Makes a chain of empty nodes. They cannot be captured from a stream.
CUgraph add_empty_nodes(const Running &, std::size_t count) {
  CUgraph graph = nullptr;
  CUgraphNode last = nullptr;
  need(driver().cuGraphCreate(&graph, 0));
  for (std::size_t i = 0; i < count; ++i) {
    CUgraphNode added = nullptr;
    need(driver().cuGraphAddEmptyNode(&added, graph, &last, i == 0 ? 0 : 1));
    last = added;
  }
  return graph;
}

// ---- Measurements ----

enum class Part { creation, instantiation, launch, update, clone, destruction };
constexpr Part kParts[] = {Part::creation, Part::instantiation, Part::launch,
                           Part::update,   Part::clone,         Part::destruction};

struct Times {
  double creation, instantiation, launch, update, clone, destruction;
  double of(Part part) const {
    const double all[] = {creation, instantiation, launch, update, clone, destruction};
    return all[static_cast<int>(part)];
  }
};

using Make = std::function<CUgraph(const Running &, std::size_t count)>;

// Measures each part of a graph's life. The launch time includes the wait for the end of its work.
Times use_graph(const Running &running, const Make &make, std::size_t count) {
  Times times{};
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  times.creation = processor_seconds_of([&] { graph = make(running, count); });
  times.instantiation =
      processor_seconds_of([&] { need(driver().cuGraphInstantiateWithFlags(&executable, graph, 0)); });
  times.launch = processor_seconds_of([&] {
    need(driver().cuGraphLaunch(executable, running.stream));
    need(driver().cuStreamSynchronize(running.stream));
  });
  times.update = processor_seconds_of([&] {
    CUgraphExecUpdateResultInfo info = {};
    need(driver().cuGraphExecUpdate(executable, graph, &info));
  });
  CUgraph copy = nullptr;
  times.clone = processor_seconds_of([&] { need(driver().cuGraphClone(&copy, graph)); });
  need(driver().cuGraphDestroy(copy));
  times.destruction = processor_seconds_of([&] {
    need(driver().cuGraphExecDestroy(executable));
    need(driver().cuGraphDestroy(graph));
  });
  return times;
}

// Does not time the first round, in which the kernel clears pages that are new to the process.
void nodes(benchmark::State &state, const Make &make, Part part) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const Running running;
  use_graph(running, make, count);
  for (auto _ : state)
    state.SetIterationTime(use_graph(running, make, count).of(part) / static_cast<double>(count));
}

}  // namespace

int main(int argc, char **argv) {
  const auto captured = [](Submit submit) -> Make {
    return [submit](const Running &running, std::size_t count) { return capture(running, submit, count); };
  };
  const struct {
    const char *name, *creation;
    Make make;
  } graphs[] = {{"memset chain", "capture", captured(chain<set>)},
                {"kernel chain", "capture", captured(chain<launch_kernel>)},
                {"memset forks", "capture", captured(fork_and_join)},
                {"empty chain", "creation", add_empty_nodes}};
  cushim::bench::Summary summary;
  for (const auto &[graph, creation, make] : graphs)
    for (const Part part : kParts) {
      const char *const parts[] = {creation, "instantiation", "launch", "update", "clone", "destruction"};
      const std::string name = std::string(graph) + ", " + parts[static_cast<int>(part)];
      for (const std::size_t count : {kLittle, kMuch})
        benchmark::RegisterBenchmark((name + ", " + std::to_string(count)).c_str(), nodes, make, part)
            ->Arg(static_cast<std::int64_t>(count))
            ->UseManualTime()
            ->Iterations(count == kLittle ? 100 : 1);
      summary.compare(name, name + ", " + std::to_string(kMuch), name + ", " + std::to_string(kLittle));
    }
  return summary.run(argc, argv);
}
