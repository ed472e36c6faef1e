// SPDX-License-Identifier: Apache-2.0
// Checks whether the cost of an operation of the simulated driver grows with the number of pending operations
// or live objects. Measures each cost with few and with many of them in one run, and prints the ratio of the
// medians. Times are processor times of all threads, so that other programs on the machine have little
// effect.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <cushim/driver.hpp>
#include <cushim/sim/machine.hpp>

#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "need.hpp"
#include "summary.hpp"

namespace {

using namespace cushim;
using namespace cushim::bench;
using namespace cushim::sim;

constexpr std::size_t kLittle = 1'000, kMuch = 1'000'000;
constexpr Schedule kSchedules[] = {Schedule::eager, Schedule::deferred, Schedule::seeded, Schedule::stepped,
                                   Schedule::background};

struct Running {
  explicit Running(Schedule schedule, std::size_t count = 0)
      : machine({.schedule = schedule}), scope(machine.driver()), streams(count) {
    enter(driver());
    need(driver().cuMemAlloc(&memory, 1 << 20));
    need(driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (CUstream &stream : streams) need(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  }
  Machine machine;
  ScopedDriver scope;
  std::vector<CUstream> streams;
  CUdeviceptr memory = 0;
  CUevent event = nullptr;
};

// ---- Operations behind held streams ----

using Submit = void (*)(const Running &running, std::size_t i);

CUstream stream_of(const Running &running, std::size_t i) {
  return running.streams[i % running.streams.size()];
}

void record(const Running &running, std::size_t i) {
  need(driver().cuEventRecord(running.event, stream_of(running, i)));
}
void set(const Running &running, std::size_t i) {
  need(driver().cuMemsetD8Async(running.memory + i % 1000, 1, 16, stream_of(running, i)));
}
void copy(const Running &running, std::size_t i) {
  need(driver().cuMemcpyDtoDAsync(running.memory, running.memory + 4096, 16, stream_of(running, i)));
}
void record_and_wait(const Running &running, std::size_t i) {
  need(driver().cuEventRecord(running.event, stream_of(running, i)));
  need(driver().cuStreamWaitEvent(stream_of(running, i * 7 + 1), running.event, 0));
}

enum class Part { submission, draining };

struct Times {
  double submission, draining;
};

// Holds all streams until all operations are submitted, so that `count` operations are pending.
Times submit_and_drain(Running &running, Submit submit, std::size_t count) {
  std::vector<Gate> gates;
  for (const CUstream stream : running.streams) gates.push_back(running.machine.gate(stream));
  const double submission = processor_seconds_of([&] {
    for (std::size_t i = 0; i < count; ++i) submit(running, i);
  });
  gates.clear();
  const double draining = processor_seconds_of([] { need(driver().cuCtxSynchronize()); });
  return {submission, draining};
}

// Leaves the first round untimed: in it, the system clears the memory that is new to the process, which does
// not depend on how many operations are pending.
void pending(benchmark::State &state, Schedule schedule, Submit submit, std::size_t streams, Part part) {
  const auto count = static_cast<std::size_t>(state.range(0));
  Running running(schedule, streams);
  submit_and_drain(running, submit, count);
  for (auto _ : state) {
    const auto [submission, draining] = submit_and_drain(running, submit, count);
    state.SetIterationTime((part == Part::submission ? submission : draining) / static_cast<double>(count));
  }
}

// ---- Calls with few and with many live objects ----

// The first call creates the live objects; the later calls are timed.
struct Beside {
  const char *name;
  std::size_t little, much;
  Schedule schedule;
  void (*prepare)(Running &running, std::size_t count);
  void (*call)(Running &running);
};

void hold_streams(Running &running, std::size_t count) {
  void *words = nullptr;
  need(driver().cuMemAllocHost(&words, (count + 1) * 4));
  for (std::size_t i = 0; i < count; ++i) {
    CUstream stream = nullptr;
    need(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    need(driver().cuStreamWaitValue32(stream, reinterpret_cast<CUdeviceptr>(words) + i * 4, 1,
                                      CU_STREAM_WAIT_VALUE_EQ));
  }
  running.streams.resize(1);
  need(driver().cuStreamCreate(running.streams.data(), CU_STREAM_NON_BLOCKING));
}

void end_threads(Running &, std::size_t count) {
  CUcontext context = nullptr;
  need(driver().cuCtxGetCurrent(&context));
  for (std::size_t i = 0; i < count; ++i)
    std::thread([context] {
      need(driver().cuCtxSetCurrent(context));
      CUdeviceptr memory = 0;
      need(driver().cuMemAlloc(&memory, 16));
      need(driver().cuMemsetD8Async(memory, 1, 16, CU_STREAM_PER_THREAD));
      need(driver().cuMemFree(memory));
    }).join();
}

void make_events(Running &, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    CUevent event = nullptr;
    need(driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  }
}

void end_contexts(Running &, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    CUcontext context = nullptr;
    need(driver().cuCtxCreate(&context, nullptr, 0, 0));
    need(driver().cuCtxDestroy(context));
  }
}

void record_and_synchronize(Running &running) {
  need(driver().cuEventRecord(running.event, running.streams[0]));
  need(driver().cuStreamSynchronize(running.streams[0]));
}
void record_in_the_legacy_stream(Running &running) {
  need(driver().cuEventRecord(running.event, CU_STREAM_LEGACY));
  need(driver().cuStreamSynchronize(CU_STREAM_LEGACY));
}
void make_and_destroy_a_context(Running &running) { end_contexts(running, 1); }

constexpr Beside kBeside[] = {
    {"record and synchronize beside waits for memory, eager", 100, 10'000, Schedule::eager, hold_streams,
     record_and_synchronize},
    {"record and synchronize beside waits for memory, deferred", 100, 10'000, Schedule::deferred,
     hold_streams, record_and_synchronize},
    {"record and synchronize beside waits for memory, background", 100, 10'000, Schedule::background,
     hold_streams, record_and_synchronize},
    {"legacy record after ended threads", 200, 20'000, Schedule::eager, end_threads,
     record_in_the_legacy_stream},
    {"context beside events", 300, 300'000, Schedule::eager, make_events, make_and_destroy_a_context},
    {"context after destroyed contexts", 100, 100'000, Schedule::eager, end_contexts,
     make_and_destroy_a_context},
};

void beside(benchmark::State &state, const Beside &what) {
  Running running(what.schedule);
  what.prepare(running, static_cast<std::size_t>(state.range(0)));
  constexpr int kCalls = 10;
  for (auto _ : state) {
    const double seconds = processor_seconds_of([&] {
      for (int i = 0; i < kCalls; ++i) what.call(running);
    });
    state.SetIterationTime(seconds / kCalls);
  }
}

// Destroys streams in the order of their creation.
void destroy_streams(benchmark::State &state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const Running running(Schedule::eager);
  std::vector<CUstream> streams(count);
  for (auto _ : state) {
    for (CUstream &stream : streams) need(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    const double seconds = processor_seconds_of([&] {
      for (const CUstream stream : streams) need(driver().cuStreamDestroy(stream));
    });
    state.SetIterationTime(seconds / static_cast<double>(count));
  }
}

// Reports heap growth per created and destroyed context, in bytes; the reported time has no meaning.
void bytes_of_destroyed_contexts(benchmark::State &state) {
  Running running(Schedule::eager);
  end_contexts(running, 1'000);
  const std::size_t before = mallinfo2().uordblks;
  constexpr std::size_t kCount = 100'000;
  for (auto _ : state) end_contexts(running, kCount);
  state.counters["bytes_a_context"] =
      (static_cast<double>(mallinfo2().uordblks) - static_cast<double>(before)) /
      static_cast<double>(kCount * static_cast<std::size_t>(state.iterations()));
}

// ---- Records of the background schedule ----

void idle_record(benchmark::State &state, Schedule schedule) {
  const Running running(schedule, 1);
  need(driver().cuMemsetD8Async(running.memory, 1, 16, running.streams[0]));  // starts the stream's thread
  need(driver().cuStreamSynchronize(running.streams[0]));
  constexpr int kCalls = 1000;
  for (auto _ : state) {
    const double seconds = processor_seconds_of([&] {
      for (int i = 0; i < kCalls; ++i) need(driver().cuEventRecord(running.event, running.streams[0]));
    });
    state.SetIterationTime(seconds / kCalls);
  }
}

// ---- Registration ----

using Body = std::function<void(benchmark::State &)>;

void add_pair(cushim::bench::Summary &summary, const std::string &name, std::size_t little, std::size_t much,
              const Body &body, int iterations = 100) {
  for (const std::size_t count : {little, much})
    benchmark::RegisterBenchmark((name + ", " + std::to_string(count)).c_str(), body)
        ->Arg(static_cast<std::int64_t>(count))
        ->UseManualTime()
        ->Iterations(count == little ? 100 : iterations);
  summary.compare(name, name + ", " + std::to_string(much), name + ", " + std::to_string(little));
}

}  // namespace

int main(int argc, char **argv) {
  struct Kind {
    const char *name;
    Submit submit;
  };
  constexpr Kind kKinds[] = {
      {"record", record}, {"set", set}, {"copy", copy}, {"record and wait", record_and_wait}};
  cushim::bench::Summary summary;
  for (const Schedule schedule : kSchedules)
    for (const auto &[kind, submit] : kKinds)
      for (const std::size_t streams : {1UL, 64UL})
        for (const Part part : {Part::submission, Part::draining})
          add_pair(
              summary,
              std::string(name_of(schedule)) + ", " + kind + ", " + std::to_string(streams) +
                  (streams == 1 ? " stream, " : " streams, ") +
                  (part == Part::submission ? "submission" : "draining"),
              kLittle, kMuch,
              [=](benchmark::State &state) { pending(state, schedule, submit, streams, part); }, 1);
  for (const Beside &what : kBeside)
    add_pair(summary, what.name, what.little, what.much,
             [&what](benchmark::State &state) { beside(state, what); });
  add_pair(summary, "stream destroyed, oldest first", 1'000, 100'000, destroy_streams, 1);
  for (const Schedule schedule : {Schedule::eager, Schedule::background})
    benchmark::RegisterBenchmark(("idle record, " + std::string(name_of(schedule))).c_str(), idle_record,
                                 schedule)
        ->UseManualTime()
        ->Iterations(100);
  summary.compare("idle record, background to eager", "idle record, background", "idle record, eager");
  benchmark::RegisterBenchmark("bytes of destroyed contexts", bytes_of_destroyed_contexts)->Iterations(1);
  return summary.run(argc, argv);
}
