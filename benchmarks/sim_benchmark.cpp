// SPDX-License-Identifier: Apache-2.0
// Measures calls of the simulated driver through the table, with all checks on. For comparison measures a
// mutex and memcpy in the same run, and the same calls of a real driver if there is one.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <cushim/driver.hpp>
#include <cushim/sim/machine.hpp>

#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "need.hpp"
#include "two_threads.hpp"

namespace {

using namespace cushim;
using namespace cushim::bench;
using namespace cushim::sim;

// The real driver, if there is one. Open until the process exits, because its threads run until then.
const cushim::Loaded &real_driver() {
  static const cushim::Loaded loaded = cushim::Driver::load();
  return loaded;
}

enum class On { simulated, real };

struct Running {
  explicit Running(On on = On::simulated)
      : machine(on == On::simulated ? std::make_unique<Machine>(Options{.schedule = Schedule::eager})
                                    : nullptr),
        scope(machine != nullptr ? machine->driver() : *real_driver()) {
    enter(driver());
    need(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    need(driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    need(driver().cuEventRecord(event, stream));
    need(driver().cuStreamSynchronize(stream));
  }
  ~Running() {
    driver().cuEventDestroy(event);
    driver().cuStreamDestroy(stream);
    driver().cuDevicePrimaryCtxRelease(0);
  }
  std::unique_ptr<Machine> machine;
  ScopedDriver scope;
  CUstream stream = nullptr;
  CUevent event = nullptr;
};

void uncontended_mutex(benchmark::State &state) {
  std::mutex mutex;
  for (auto _ : state) {
    const std::lock_guard lock(mutex);
    benchmark::ClobberMemory();
  }
}

void event_query(benchmark::State &state, On on) {
  const Running running(on);
  for (auto _ : state) benchmark::DoNotOptimize(driver().cuEventQuery(running.event));
}

void stream_query(benchmark::State &state, On on) {
  const Running running(on);
  for (auto _ : state) benchmark::DoNotOptimize(driver().cuStreamQuery(running.stream));
}

void event_create_and_destroy(benchmark::State &state, On on) {
  const Running running(on);
  for (auto _ : state) {
    CUevent event = nullptr;
    driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
    benchmark::DoNotOptimize(driver().cuEventDestroy(event));
  }
}

void event_record(benchmark::State &state, On on) {
  const Running running(on);
  for (auto _ : state) benchmark::DoNotOptimize(driver().cuEventRecord(running.event, running.stream));
}

// Registers each call for both drivers, if both exist. The real driver has threads of its own.
void add_calls() {
  struct Calls {
    const char *name;
    void (*body)(benchmark::State &state, On on);
  };
  constexpr Calls kCalls[] = {{"event_query", event_query},
                              {"stream_query", stream_query},
                              {"event_create_and_destroy", event_create_and_destroy},
                              {"event_record", event_record}};
  benchmark::RegisterBenchmark("uncontended_mutex", uncontended_mutex);
  for (const auto &[name, body] : kCalls) benchmark::RegisterBenchmark(name, body, On::simulated);
  benchmark::RegisterBenchmark("uncontended_mutex/two_threads", cushim::bench::in_two_threads<>,
                               uncontended_mutex);
  for (const auto &[name, body] : kCalls)
    benchmark::RegisterBenchmark((std::string(name) + "/two_threads").c_str(),
                                 cushim::bench::in_two_threads<On>, body, On::simulated);
  if (!real_driver()) return;
  for (const auto &[name, body] : kCalls)
    benchmark::RegisterBenchmark((std::string("real/") + name).c_str(), body, On::real);
}

// Records and waits of 64 streams, each waiting for its neighbour; the argument is the number of operations.
// Reports the heap growth in bytes after all operations have completed.
void operations_with_cross_waits(benchmark::State &state) {
  constexpr std::size_t kStreams = 64;
  const Running running;
  std::vector<CUstream> streams(kStreams);
  std::vector<CUevent> events(kStreams);
  for (CUstream &stream : streams) need(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (CUevent &event : events) need(driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  const auto count = static_cast<std::size_t>(state.range(0));
  const std::size_t before = mallinfo2().uordblks;
  for (auto _ : state) {
    for (std::size_t i = 0; i < count / 2; ++i) {
      need(driver().cuEventRecord(events[i % kStreams], streams[i % kStreams]));
      need(driver().cuStreamWaitEvent(streams[(i * 7 + 1) % kStreams], events[i % kStreams], 0));
    }
    need(driver().cuCtxSynchronize());
  }
  const double operations = static_cast<double>(count) * static_cast<double>(state.iterations());
  state.counters["bytes_an_operation"] = static_cast<double>(mallinfo2().uordblks - before) / operations;
  state.counters["an_operation"] =
      benchmark::Counter(operations, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void plain_memcpy(benchmark::State &state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  std::vector<char> from(size, 1), to(size, 2);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), size);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void copy_on_the_device(benchmark::State &state) {
  const Running running;
  const auto size = static_cast<std::size_t>(state.range(0));
  CUdeviceptr from = 0, to = 0;
  need(driver().cuMemAlloc(&from, size));
  need(driver().cuMemAlloc(&to, size));
  for (auto _ : state) {
    need(driver().cuMemcpyDtoDAsync(to, from, size, running.stream));
    need(driver().cuStreamSynchronize(running.stream));
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

// A driver of two devices: each thread has a context on a device of its own.
cushim::Driver &driver_of_two_devices() {
  static Machine machine({.devices = "h200x2"});
  return machine.driver();
}

void copies(benchmark::State &state) {
  cushim::Driver &on = driver_of_two_devices();
  CUstream stream = nullptr;
  CUdeviceptr from = 0, to = 0;
  constexpr std::size_t size = 1 << 20;
  enter(on, state.thread_index());
  need(on.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  need(on.cuMemAlloc(&from, size));
  need(on.cuMemAlloc(&to, size));
  for (auto _ : state) {
    need(on.cuMemcpyDtoDAsync(to, from, size, stream));
    need(on.cuStreamSynchronize(stream));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
}

void records_and_queries(benchmark::State &state) {
  cushim::Driver &on = driver_of_two_devices();
  CUstream stream = nullptr;
  CUevent event = nullptr;
  enter(on, state.thread_index());
  need(on.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  need(on.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  for (auto _ : state) {
    need(on.cuEventRecord(event, stream));
    need(on.cuEventQuery(event));
  }
  state.SetItemsProcessed(state.iterations());
}

void add_work() {
  benchmark::RegisterBenchmark("operations_with_cross_waits", operations_with_cross_waits)
      ->RangeMultiplier(4)
      ->Range(1 << 16, 1 << 20)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("plain_memcpy", plain_memcpy)->Arg(1 << 20)->Arg(8 << 20);
  benchmark::RegisterBenchmark("copy_on_the_device", copy_on_the_device)->Arg(1 << 20)->Arg(8 << 20);
  benchmark::RegisterBenchmark("two_contexts/copies", copies)->Threads(1)->Threads(2)->UseRealTime();
  benchmark::RegisterBenchmark("two_contexts/records_and_queries", records_and_queries)
      ->Threads(1)
      ->Threads(2)
      ->UseRealTime();
}

}  // namespace

int main(int argc, char **argv) {
  add_calls();
  add_work();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
