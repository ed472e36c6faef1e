// SPDX-License-Identifier: Apache-2.0
// Measures the launch of an empty kernel, registered and as PTX, on the simulated driver and, if there is a
// GPU, on the real driver in the same run. Measures the load and unload of 1,000 and of 10,000 modules, and
// by how much the process grows meanwhile, and the memory of threads of a kernel that wait for each other.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <cushim/driver.hpp>
#include <cushim/sim/machine.hpp>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

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
    cushim::bench::enter(driver());
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

// Returns this number in /proc/self/status, in bytes.
double status_bytes(std::string_view name) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;)
    if (word == name) {
      double kibibytes = 0;
      file >> kibibytes;
      return kibibytes * 1024;
    }
  return 0;
}

// The argument is the number of modules. Half of it is loaded and unloaded before the memory is measured
// first.
void modules(benchmark::State &state) {
  const Running running(Kernel::ptx);
  const auto load_and_unload = [](std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) need(driver().cuModuleUnload(Running::load()));
  };
  load_and_unload(state.range(0) / 2);
  const double before = status_bytes("VmRSS:");
  for (auto _ : state) load_and_unload(state.range(0));
  const auto count = static_cast<double>(state.iterations() * state.range(0));
  state.counters["module"] =
      benchmark::Counter(count, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["growth"] = status_bytes("VmRSS:") - before;
}
BENCHMARK(modules)->Arg(1'000)->Arg(10'000)->Iterations(1)->Unit(benchmark::kMillisecond);

// The argument is the number of threads. Each waits until all have counted themselves, so all are resident at
// a time.
void resident_threads(benchmark::State &state) {
  constexpr unsigned kBlock = 256;
  const Running running(Kernel::ptx);
  CUmodule module = nullptr;
  CUfunction meet = nullptr;
  CUdeviceptr count = 0;
  auto threads = static_cast<unsigned>(state.range(0));
  need(driver().cuModuleLoadData(&module, R"(
.version 7.8
.target sm_70
.address_size 64
.visible .entry meet(.param .u64 count, .param .u32 threads) {
  .reg .pred %p;
  .reg .b64 %d;
  .reg .b32 %r<4>;
  ld.param.u64 %d, [count];
  ld.param.u32 %r1, [threads];
  atom.global.add.u32 %r2, [%d], 1;
again:
  ld.volatile.global.u32 %r3, [%d];
  setp.lt.u32 %p, %r3, %r1;
  @%p bra again;
  ret;
})"));
  need(driver().cuModuleGetFunction(&meet, module, "meet"));
  need(driver().cuMemAlloc(&count, sizeof(unsigned)));
  void *parameters[] = {&count, &threads};
  for (auto _ : state) {
    need(driver().cuMemsetD32(count, 0, 1));
    malloc_trim(0);                               // returns what the launch before used
    std::ofstream("/proc/self/clear_refs") << 5;  // VmHWM begins anew
    const double before = status_bytes("VmHWM:");
    need(
        driver().cuLaunchKernel(meet, threads / kBlock, 1, 1, kBlock, 1, 1, 0, nullptr, parameters, nullptr));
    need(driver().cuCtxSynchronize());
    state.counters["bytes of a thread"] = (status_bytes("VmHWM:") - before) / threads;
  }
  need(driver().cuMemFree(count));
  need(driver().cuModuleUnload(module));
}
BENCHMARK(resident_threads)
    ->Arg(1'024)
    ->Arg(16'384)
    ->Arg(262'144)
    ->Arg(1'048'576)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

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
