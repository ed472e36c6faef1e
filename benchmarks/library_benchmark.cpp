// SPDX-License-Identifier: Apache-2.0
// Measures the simulated driver as libcuda.so.1: process start with and without it, and a call through its
// exported functions compared with the same machine in process.
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cushim/driver.hpp>
#include <cushim/sim/machine.hpp>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "child.hpp"
#include "need.hpp"
#include "summary.hpp"

namespace {

using cushim::bench::need;
using cushim::sim::Machine;
using cushim::sim::Schedule;

const char *const library = CUSHIM_SIM_LIBRARY;

// ---- Process start ----

double seconds(const timeval &time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// Runs the program until it exits. Returns the processor time that it used.
double run(std::initializer_list<const char *> words) {
  std::vector<char *> arguments;
  for (const char *word : words) arguments.push_back(const_cast<char *>(word));
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0) std::abort();
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) != child || status != 0) std::abort();
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double without() { return run({CUSHIM_START}); }
double opened() { return run({CUSHIM_START, library}); }
double with_context() { return run({CUSHIM_START, library, "context"}); }

template <double (*start)()>
void elapsed(benchmark::State &state) {
  for (auto _ : state) state.SetIterationTime(cushim::bench::seconds_of(start));
}

template <double (*start)()>
void processor(benchmark::State &state) {
  for (auto _ : state) state.SetIterationTime(start());
}

constexpr auto each_in_milliseconds = cushim::bench::once_each<300, benchmark::kMillisecond>;

template <double (*start)()>
void register_start(const std::string &name) {
  benchmark::RegisterBenchmark(("elapsed/" + name).c_str(), elapsed<start>)->Apply(each_in_milliseconds);
  benchmark::RegisterBenchmark(("processor/" + name).c_str(), processor<start>)->Apply(each_in_milliseconds);
}

// ---- Calls of the library's exported functions, and of a machine in this process ----

using cushim::Driver;

// A driver, its current context, and a completed event of that context.
struct Side {
  explicit Side(Driver &which) : driver(which) {
    cushim::bench::enter(driver);
    need(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    need(driver.cuEventRecord(event, nullptr));
    need(driver.cuEventSynchronize(event));
  }
  Driver &driver;
  CUevent event = nullptr;
};

Side &in_process() {
  // The same options as in the library.
  static Machine machine({.schedule = Schedule::background, .is_library = true});
  static Side side(machine.driver());
  return side;
}

Side &in_library() {
  static const cushim::Loaded loaded = Driver::load({.library = library});
  if (!loaded) throw std::runtime_error(loaded.diagnosis.text());
  static Side side(*loaded.driver);
  return side;
}

template <Side &(*which)()>
void version(benchmark::State &state) {
  const Side &side = which();
  int version = 0;
  for (auto _ : state) benchmark::DoNotOptimize(side.driver.cuDriverGetVersion(&version));
}

template <Side &(*which)()>
void current(benchmark::State &state) {
  const Side &side = which();
  CUcontext context = nullptr;
  for (auto _ : state) benchmark::DoNotOptimize(side.driver.cuCtxGetCurrent(&context));
}

template <Side &(*which)()>
void query(benchmark::State &state) {
  const Side &side = which();
  for (auto _ : state) benchmark::DoNotOptimize(side.driver.cuEventQuery(side.event));
}

// Many short repetitions: on a busy machine most of them are not interrupted.
void briefly(benchmark::internal::Benchmark *one) { one->MinTime(0.002)->Repetitions(101); }

template <Side &(*which)()>
void register_calls(const std::string &name) {
  benchmark::RegisterBenchmark(("cuDriverGetVersion/" + name).c_str(), version<which>)->Apply(briefly);
  benchmark::RegisterBenchmark(("cuCtxGetCurrent/" + name).c_str(), current<which>)->Apply(briefly);
  benchmark::RegisterBenchmark(("cuEventQuery/" + name).c_str(), query<which>)->Apply(briefly);
}

}  // namespace

int main(int argc, char **argv) {
  register_start<without>("without");
  register_start<opened>("opened");
  register_start<with_context>("context");
  register_calls<in_process>("in process");
  register_calls<in_library>("library");
  cushim::bench::Summary summary;
  for (const std::string time : {"elapsed", "processor"})
    for (const std::string what : {"opened", "context"})
      summary.difference("start, " + time + " time, " + what, time + "/" + what, time + "/without", "ms");
  for (const std::string call : {"cuDriverGetVersion", "cuCtxGetCurrent", "cuEventQuery"})
    summary.difference(call + " through the library", call + "/library", call + "/in process", "ns");
  return summary.run(argc, argv);
}
