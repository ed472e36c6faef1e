// SPDX-License-Identifier: Apache-2.0
// Measures the time that recording adds to a call of the simulated driver, the size of the recording, and the
// time of its replay. The program repeats 8 calls without data, a million calls in all. Compare the times
// with and without a Recorder. Times are processor times, and include compression and writing.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cushim/driver.hpp>
#include <cushim/replay/player.hpp>
#include <cushim/replay/recorder.hpp>
#include <cushim/sim/machine.hpp>

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include "need.hpp"

namespace {

using namespace cushim::bench;
using namespace cushim::replay;
using cushim::Driver;
using cushim::sim::Machine;

constexpr int kCalls = 8, kLoops = 125'000;

struct Program {
  explicit Program(Driver &of) : driver(of) {
    CUcontext context = nullptr;
    driver.cuInit(0);
    driver.cuDevicePrimaryCtxRetain(&context, 0);
    driver.cuCtxSetCurrent(context);
    driver.cuStreamCreate(&streams[0], CU_STREAM_NON_BLOCKING);
    driver.cuStreamCreate(&streams[1], CU_STREAM_NON_BLOCKING);
    driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
    driver.cuMemAlloc(&memory, 1 << 20);
  }
  void run(unsigned i) {
    CUcontext context = nullptr;
    int value = 0;
    driver.cuCtxGetCurrent(&context);
    driver.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0);
    driver.cuMemsetD8Async(memory + i % 1024, 1, 16, streams[0]);
    driver.cuEventRecord(event, streams[0]);
    driver.cuStreamWaitEvent(streams[1], event, 0);
    driver.cuEventQuery(event);
    driver.cuStreamQuery(streams[1]);
    driver.cuStreamWriteValue32(streams[1], memory + 4 * (i % 1024), i, 0);
  }

  Driver &driver;
  CUstream streams[2] = {};
  CUevent event = nullptr;
  CUdeviceptr memory = 0;
};

std::string recording_file() {
  return std::filesystem::temp_directory_path() /
         ("cushim-benchmark-" + std::to_string(getpid()) + ".record");
}

void calls(benchmark::State &state) {
  Machine machine;
  const std::string file = recording_file();
  std::unique_ptr<Recorder> recorder;
  if (state.range(0) != 0) recorder = std::make_unique<Recorder>(machine.driver(), file);
  Program program(machine.driver());
  unsigned i = 0;
  for (auto turn : state) program.run(i++);
  const double made = static_cast<double>(state.iterations()) * kCalls;
  state.counters["call"] =
      benchmark::Counter(made, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  if (recorder == nullptr) return;
  recorder.reset();
  state.counters["bytes/call"] = static_cast<double>(std::filesystem::file_size(file)) / made;
  std::filesystem::remove(file);
}
BENCHMARK(calls)->Name("not_recorded")->Arg(0)->Iterations(kLoops)->Repetitions(5)->ReportAggregatesOnly();
BENCHMARK(calls)->Name("recorded")->Arg(1)->Iterations(kLoops)->Repetitions(5)->ReportAggregatesOnly();

// The cost of a recorded call with this number of pinned allocations, of which one is in use.
void call_beside_pinned_memory(benchmark::State &state) {
  Machine machine;
  const std::string file = recording_file();
  std::unique_ptr<Recorder> recorder = std::make_unique<Recorder>(machine.driver(), file);
  Program program(machine.driver());
  void *pinned = nullptr;
  for (std::int64_t i = 0; i < state.range(0); ++i) machine.driver().cuMemHostAlloc(&pinned, 64, 0);
  CUdeviceptr device = 0;
  machine.driver().cuMemHostGetDevicePointer(&device, pinned, 0);
  machine.driver().cuMemsetD8Async(device, 1, 16, program.streams[0]);
  unsigned i = 0;
  for (auto turn : state) program.run(i++);
  state.counters["call"] = benchmark::Counter(static_cast<double>(state.iterations()) * kCalls,
                                              benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  recorder.reset();
  std::filesystem::remove(file);
}
BENCHMARK(call_beside_pinned_memory)
    ->Arg(1'000)
    ->Arg(1'000'000)
    ->Iterations(10'000)
    ->Repetitions(3)
    ->ReportAggregatesOnly();

// Records the program, and returns the file.
std::string record() {
  Machine machine;
  const std::string file = recording_file();
  const Recorder recorder(machine.driver(), file);
  Program program(machine.driver());
  for (unsigned i = 0; i < kLoops; ++i) program.run(i);
  return file;
}

void count_calls(benchmark::State &state, std::size_t calls) {
  state.counters["call"] = benchmark::Counter(static_cast<double>(calls),
                                              benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void read(benchmark::State &state) {
  const std::string file = record();
  std::size_t made = 0;
  for (auto turn : state) made += Recording::read(file).calls().size();
  count_calls(state, made);
  std::filesystem::remove(file);
}

double seconds_of_program() {
  Machine machine;
  Program program(machine.driver());
  return processor_seconds_of([&] {
    for (unsigned i = 0; i < kLoops; ++i) program.run(i);
  });
}

// The counter "programs" is the time of the replay as a multiple of the program's, both of this run.
void replay(benchmark::State &state) {
  const std::string file = record();
  const Recording recording = Recording::read(file);
  const double program = seconds_of_program(), before = processor_seconds();
  std::size_t made = 0;
  for (auto turn : state) {
    Machine machine;
    const cushim::replay::Report report = cushim::replay::play(recording, machine.driver());
    if (!report.differences.empty() || report.replayed != recording.calls().size())
      throw std::runtime_error("the replay differs");
    made += report.replayed;
  }
  state.counters["programs"] = (processor_seconds() - before) / program;
  count_calls(state, made);
  std::filesystem::remove(file);
}

void briefly(benchmark::internal::Benchmark *one) {
  one->Iterations(1)->Repetitions(5)->ReportAggregatesOnly()->MeasureProcessCPUTime();
}
BENCHMARK(read)->Apply(briefly);
BENCHMARK(replay)->Apply(briefly);

}  // namespace

BENCHMARK_MAIN();
