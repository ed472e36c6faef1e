// SPDX-License-Identifier: Apache-2.0
// Compares the typed wrappers with raw calls through the table whose results are checked.
//
//   wrappers_benchmark                      times both, side by side
//   wrappers_benchmark --callgrind          counts the instructions of both under valgrind; fails if
//                                           a wrapper needs more than 5 % more
//   wrappers_benchmark --run NAME COUNT     runs one of them; used by --callgrind
//
// The fake driver does nothing, so only the call itself is measured.
#include <benchmark/benchmark.h>
#include <cushim/cushim.hpp>

#include <cstring>

#include "summary.hpp"

namespace {

using namespace cushim;

[[noreturn, gnu::cold, gnu::noinline]] void fail(CUresult result) {
  throw std::runtime_error(std::to_string(result));
}

void check(CUresult result) {
  if (result != CUDA_SUCCESS) [[unlikely]]
    fail(result);
}

// The objects that the loops below use. The compiler cannot see their values and loads each handle for each
// call, as in a program that keeps its objects in memory.
struct Objects {
  CUstream raw_stream = reinterpret_cast<CUstream>(0x50);
  CUevent raw_event = reinterpret_cast<CUevent>(0x60);
  CUdeviceptr raw_word = 0x1000;
  StreamRef stream = StreamRef::from_handle(raw_stream);
  EventRef event = EventRef::from_handle(raw_event);
  DevicePtr<std::uint32_t> word{raw_word};
  Stream own_stream = Stream::adopt(raw_stream);
  Event own_event = Event::adopt(raw_event);
};
Objects *objects = nullptr;

#define CUSHIM_LOOP(name, statement)               \
  [[gnu::noinline]] void name(std::size_t count) { \
    for (std::size_t i = 0; i < count; ++i) {      \
      benchmark::ClobberMemory();                  \
      statement;                                   \
    }                                              \
  }

CUSHIM_LOOP(raw_record, check(driver().cuEventRecord(objects->raw_event, objects->raw_stream)))
CUSHIM_LOOP(typed_record, objects->event.record(objects->stream))

CUSHIM_LOOP(raw_query, {
  const CUresult result = driver().cuEventQuery(objects->raw_event);
  if (result != CUDA_ERROR_NOT_READY) check(result);
  benchmark::DoNotOptimize(result == CUDA_SUCCESS);
})
CUSHIM_LOOP(typed_query, benchmark::DoNotOptimize(objects->event.is_done()))

// The same with owners, which convert to references.
CUSHIM_LOOP(typed_own_record, objects->own_event.record(objects->own_stream))
CUSHIM_LOOP(typed_own_query, benchmark::DoNotOptimize(objects->own_event.is_done()))
CUSHIM_LOOP(typed_own_wait, objects->own_stream.wait(objects->own_event))

CUSHIM_LOOP(raw_wait, check(driver().cuStreamWaitEvent(objects->raw_stream, objects->raw_event, 0)))
CUSHIM_LOOP(typed_wait, objects->stream.wait(objects->event))

[[gnu::noinline]] void raw_wait_value(std::size_t count) {
  const CUdeviceptr word = objects->raw_word;
  for (std::size_t i = 0; i < count; ++i) {
    benchmark::ClobberMemory();
    check(
        exact::cuStreamWaitValue32_v11070(driver())(objects->raw_stream, word, 5, CU_STREAM_WAIT_VALUE_GEQ));
  }
}
[[gnu::noinline]] void typed_wait_value(std::size_t count) {
  const Word<std::uint32_t> word = objects->word;
  for (std::size_t i = 0; i < count; ++i) {
    benchmark::ClobberMemory();
    objects->stream.wait_value(word, geq(5));
  }
}

struct Pair {
  const char *name;
  void (*raw)(std::size_t);
  void (*typed)(std::size_t);
};
constexpr Pair kPairs[] = {{"record", raw_record, typed_record},
                           {"query", raw_query, typed_query},
                           {"wait", raw_wait, typed_wait},
                           {"own_record", raw_record, typed_own_record},
                           {"own_query", raw_query, typed_own_query},
                           {"own_wait", raw_wait, typed_own_wait},
                           {"wait_value", raw_wait_value, typed_wait_value}};

// ---- Instructions ------------------------------------------------------------------------------

// Returns the instruction count that callgrind collects in one run of this program.
long long collected(const std::string &program, const std::string &name, std::size_t count) {
  const std::string command = "valgrind --tool=callgrind --callgrind-out-file=/dev/null '" + program +
                              "' --run " + name + " " + std::to_string(count) + " 2>&1";
  std::FILE *pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return -1;
  long long instructions = -1;
  char line[512];
  while (std::fgets(line, sizeof line, pipe) != nullptr)
    if (const char *found = std::strstr(line, "Collected :"))
      std::sscanf(found, "Collected : %lld", &instructions);
  return pclose(pipe) == 0 ? instructions : -1;
}

// Returns the instructions of one call: a run with many calls minus a run without calls, per call.
double instructions(const std::string &program, const std::string &name) {
  constexpr std::size_t count = 10000;
  const long long with = collected(program, name, count);
  const long long without = collected(program, name, 0);
  if (with < 0 || without < 0) return -1;
  return static_cast<double>(with - without) / count;
}

int count_instructions(const std::string &program) {
  bool is_good = true;
  std::printf("%-12s %10s %10s %8s\n", "", "raw", "typed", "ratio");
  for (const Pair &pair : kPairs) {
    const double raw = instructions(program, std::string("raw_") + pair.name);
    const double typed = instructions(program, std::string("typed_") + pair.name);
    if (raw <= 0 || typed <= 0) {
      std::fprintf(stderr, "valgrind counted nothing; is it installed?\n");
      return 2;
    }
    std::printf("%-12s %10.2f %10.2f %8.3f\n", pair.name, raw, typed, typed / raw);
    is_good = is_good && typed <= raw * 1.05;
  }
  return is_good ? 0 : 1;
}

int run(const std::string &name, std::size_t count) {
  for (const Pair &pair : kPairs) {
    if (name == std::string("raw_") + pair.name) return pair.raw(count), 0;
    if (name == std::string("typed_") + pair.name) return pair.typed(count), 0;
  }
  return 2;
}

}  // namespace

int main(int argc, char **argv) {
  if (!load()) return 3;
  objects = new Objects;
  // Resolves the entry points at their first call, before the measurement.
  for (const Pair &pair : kPairs) {
    pair.raw(1);
    pair.typed(1);
  }
  if (argc == 2 && std::strcmp(argv[1], "--callgrind") == 0) return count_instructions(argv[0]);
  if (argc == 4 && std::strcmp(argv[1], "--run") == 0) return run(argv[2], std::stoul(argv[3]));

  cushim::bench::Summary summary;
  for (const Pair &pair : kPairs) {
    for (const auto &[kind, loop] : {std::pair{"raw/", pair.raw}, std::pair{"typed/", pair.typed}})
      benchmark::RegisterBenchmark((std::string(kind) + pair.name).c_str(),
                                   [loop = loop](benchmark::State &state) {
                                     for (auto _ : state) loop(1000);
                                   });
    summary.compare(std::string(pair.name) + ", typed : raw", std::string("typed/") + pair.name,
                    std::string("raw/") + pair.name);
  }
  return summary.run(argc, argv);
}
