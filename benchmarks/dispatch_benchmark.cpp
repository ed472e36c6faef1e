// SPDX-License-Identifier: Apache-2.0
// Compares a call through the table with the same call through the PLT: one call in ten code placements, and
// every entry point once, all resolved beforehand.
#include <benchmark/benchmark.h>

#include "all_entries.hpp"
#include "summary.hpp"

namespace {

#define CUSHIM_PLACEMENT(index, bytes)                                                     \
  __attribute__((noinline)) void one_by_plt_##index(benchmark::State &state) {             \
    asm volatile(".skip " #bytes ", 0x90");                                                \
    for (auto _ : state) benchmark::DoNotOptimize(cuEventQuery(nullptr));                  \
  }                                                                                        \
  BENCHMARK(one_by_plt_##index)->Name("one call/plt/" #index);                             \
  __attribute__((noinline)) void one_by_table_##index(benchmark::State &state) {           \
    asm volatile(".skip " #bytes ", 0x90");                                                \
    for (auto _ : state) benchmark::DoNotOptimize(cushim::driver().cuEventQuery(nullptr)); \
  }                                                                                        \
  BENCHMARK(one_by_table_##index)->Name("one call/table/" #index);
#include "placements.inc"

void all_plt(benchmark::State &state) {
  for (auto _ : state) cushim::bench::all_by_plt();
}
BENCHMARK(all_plt)->Name("all entry points/plt");

void all_table(benchmark::State &state) {
  for (auto _ : state) cushim::bench::all_by_table();
}
BENCHMARK(all_table)->Name("all entry points/table");

}  // namespace

int main(int argc, char **argv) {
  cushim::bench::Summary summary;
  for (const char *index : {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"})
    summary.compare("one call, table : PLT", std::string("one call/table/") + index,
                    std::string("one call/plt/") + index);
  summary.compare("all entry points when bound, table : PLT", "all entry points/table",
                  "all entry points/plt");
  return summary.run(argc, argv);
}
