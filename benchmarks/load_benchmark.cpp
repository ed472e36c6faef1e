// SPDX-License-Identifier: Apache-2.0
// Measures the cost of loading a driver beyond dlopen: load() of all entry points, the cost per entry point,
// and the first call in a process that never called load().
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "child.hpp"
#include "summary.hpp"

namespace {

using cushim::bench::in_child;
using cushim::bench::open_library;
using cushim::bench::seconds_of;

void load_eagerly() {
  if (!cushim::load()) std::abort();
}

void call_first() {
  int version = 0;
  if (cushim::driver().cuDriverGetVersion(&version) != CUDA_SUCCESS || version == 0) std::abort();
}

int round_number = 0;

// Also opens the same library under another name with dlopen alone, before the work in every second child and
// after it in the others. Returns the difference: the cost beyond dlopen.
template <void (*work)()>
double beyond_dlopen() {
  const auto alone = [] { return seconds_of([] { open_library("libfake_baseline.so"); }); };
  if (round_number % 2 == 0) {
    const double before = alone();
    return seconds_of(work) - before;
  }
  const double worked = seconds_of(work);
  return worked - alone();
}

template <double (*measure)()>
void fresh(benchmark::State &state) {
  for (auto _ : state) {
    ++round_number;
    state.SetIterationTime(in_child(measure));
  }
}

double dlopen_alone() {
  return seconds_of([] { open_library("libcuda.so.1"); });
}

constexpr auto each_in_microseconds = cushim::bench::once_each<300, benchmark::kMicrosecond>;

BENCHMARK(fresh<dlopen_alone>)->Name("dlopen")->Apply(each_in_microseconds);
BENCHMARK(fresh<beyond_dlopen<load_eagerly>>)->Name("eager load")->Apply(each_in_microseconds);
BENCHMARK(fresh<beyond_dlopen<call_first>>)->Name("lazy first call")->Apply(each_in_microseconds);

}  // namespace

int main(int argc, char **argv) {
  cushim::bench::Summary summary;
  summary.value("dlopen of the fake driver", "dlopen", 1, "us");
  summary.value("eager load beyond dlopen, an entry point", "eager load", 1e3 / cushim_entry_count(), "ns");
  summary.value("lazy first call beyond dlopen", "lazy first call", 1, "us");
  return summary.run(argc, argv);
}
