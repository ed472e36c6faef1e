// SPDX-License-Identifier: Apache-2.0
// Calls every entry point once in a new process, including the cost of binding: through the PLT, which looks
// up each function at its first call, and through the table after load().
#include <benchmark/benchmark.h>

#include "all_entries.hpp"
#include "child.hpp"
#include "summary.hpp"

namespace {

void load_and_call() {
  if (!cushim::load()) std::abort();
  cushim::bench::all_by_table();
}

template <void (*work)()>
void fresh(benchmark::State &state) {
  for (auto _ : state)
    state.SetIterationTime(cushim::bench::in_child([] { return cushim::bench::seconds_of(work); }));
}

constexpr auto each_in_microseconds = cushim::bench::once_each<200, benchmark::kMicrosecond>;

BENCHMARK(fresh<cushim::bench::all_by_plt>)->Name("once each/plt")->Apply(each_in_microseconds);
BENCHMARK(fresh<load_and_call>)->Name("once each/table")->Apply(each_in_microseconds);

}  // namespace

int main(int argc, char **argv) {
  cushim::bench::Summary summary;
  summary.compare("all entry points once each, table : PLT", "once each/table", "once each/plt");
  return summary.run(argc, argv);
}
