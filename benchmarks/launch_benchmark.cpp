// SPDX-License-Identifier: Apache-2.0
// Measures the launch of an empty kernel, registered and as PTX, on the simulated driver and, if there is a
// GPU, on the real driver in the same run. Measures the load and unload of 1,000 and of 10,000 modules, and
// by how much the process grows meanwhile.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cushim/driver.hpp>
#include <cushim/sim/machine.hpp>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "need.hpp"
#include "summary.hpp"

namespace {

using cushim::driver;
using cushim::bench::need;
using cushim::sim::Machine;

// The real driver, if there is one with a GPU. Open until the process exits, because its threads run until
// then.
cushim::Driver *real_driver() {
  static const cushim::Loaded loaded = cushim::Driver::load();
  static const bool has_device = [] {
    int count = 0;
    return loaded && (*loaded).cuInit(0) == CUDA_SUCCESS &&
           (*loaded).cuDeviceGetCount(&count) == CUDA_SUCCESS && count > 0;
  }();
  return has_device ? &*loaded : nullptr;
}

enum class Kernel { registered, ptx, on_real_driver };

// A current context, a stream and a module with an empty kernel.
class Running {
 public:
  explicit Running(Kernel kernel)
      : machine_(kernel != Kernel::on_real_driver ? std::make_unique<Machine>(cushim::sim::Options{
                                                        .schedule = cushim::sim::Schedule::eager})
                                                  : nullptr),
        scope_(machine_ != nullptr ? machine_->driver() : *real_driver()) {
    if (kernel == Kernel::registered) machine_->kernel("empty", [](const cushim::sim::Launch &) {});
    CUcontext context = nullptr;
    need(driver().cuInit(0));
    need(driver().cuDevicePrimaryCtxRetain(&context, 0));
    need(driver().cuCtxSetCurrent(context));
    need(driver().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    module_ = load();
    need(driver().cuModuleGetFunction(&function_, module_, "empty"));
  }
  ~Running() {
    driver().cuModuleUnload(module_);
    driver().cuStreamDestroy(stream_);
    driver().cuDevicePrimaryCtxRelease(0);
  }

  static CUmodule load() {
    CUmodule module = nullptr;
    need(driver().cuModuleLoadData(&module, ".version 7.8\n.target sm_52\n.visible .entry empty() { ret; }"));
    return module;
  }

  void launch() { need(driver().cuLaunchKernel(function_, 1, 1, 1, 1, 1, 1, 0, stream_, nullptr, nullptr)); }
  void synchronize() { need(driver().cuStreamSynchronize(stream_)); }

 private:
  std::unique_ptr<Machine> machine_;
  cushim::ScopedDriver scope_;
  CUstream stream_ = nullptr;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
};

// Only the calls are measured, not the synchronization after each 100 of them: with more unfinished launches,
// a call of the real driver waits for the GPU.
void launch(benchmark::State &state, Kernel kernel) {
  constexpr int kLaunches = 100;
  Running running(kernel);
  running.launch();
  running.synchronize();
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kLaunches; ++i) running.launch();
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
                           kLaunches);
    running.synchronize();
  }
}

double resident_bytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// The argument is the number of modules. Half of it is loaded and unloaded before the memory is measured
// first.
void modules(benchmark::State &state) {
  const Running running(Kernel::ptx);
  const auto load_and_unload = [](std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) need(driver().cuModuleUnload(Running::load()));
  };
  load_and_unload(state.range(0) / 2);
  const double before = resident_bytes();
  for (auto _ : state) load_and_unload(state.range(0));
  const auto count = static_cast<double>(state.iterations() * state.range(0));
  state.counters["module"] =
      benchmark::Counter(count, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["growth"] = resident_bytes() - before;
}
BENCHMARK(modules)->Arg(1'000)->Arg(10'000)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace

int main(int argc, char **argv) {
  const auto add = [](const char *name, Kernel kernel) {
    benchmark::RegisterBenchmark(name, launch, kernel)->UseManualTime();
  };
  add("launch/registered", Kernel::registered);
  add("launch/PTX", Kernel::ptx);
  cushim::bench::Summary summary;
  if (real_driver() != nullptr) {
    add("launch/real", Kernel::on_real_driver);
    summary.compare("launch, registered : real driver", "launch/registered", "launch/real");
    summary.compare("launch, PTX : real driver", "launch/PTX", "launch/real");
  } else {
    std::printf("Measures the simulated driver only: no driver with a GPU was found.\n");
  }
  return summary.run(argc, argv);
}
