// SPDX-License-Identifier: Apache-2.0
// Measures the speed of the PTX parser on a generated module of 10 MB and on a module written by nvcc, and
// the time to parse and decode a module of 10,000 instructions.
#include <cushim/ptx/execute.hpp>
#include <cushim/ptx/module.hpp>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

namespace {

constexpr int instructions_in_function = 603;

const std::string header = ".version 9.0\n.target sm_90\n.address_size 64\n";

std::string generated(int functions) {
  std::string made = header;
  for (int function = 0; function < functions; ++function) {
    const std::string number = std::to_string(function);
    made += "\n.visible .entry kernel" + number + "(\n\t.param .u64 kernel" + number + "_param_0\n)\n{\n" +
            "\t.reg .pred \t%p<3>;\n\t.reg .f32 \t%f<200>;\n\t.reg .b32 \t%r<400>;\n\t.reg .b64 \t%rd<9>;\n" +
            "\tld.param.u64 \t%rd1, [kernel" + number + "_param_0];\n\tcvta.to.global.u64 \t%rd2, %rd1;\n";
    for (int i = 0; i < 100; ++i) {
      const std::string a = std::to_string(i + 1);
      const std::string b = std::to_string(i + 2);
      made += "\tld.global.f32 \t%f" + a + ", [%rd2+" + std::to_string(4 * i) + "];\n";
      made += "\tfma.rn.f32 \t%f" + b + ", %f" + a + ", 0f3F800000, %f" + b + ";\n";
      made += "\tadd.s32 \t%r" + b + ", %r" + a + ", -17;\n\txor.b32  \t%r" + a + ", %r" + b + ", 0x55;\n";
      made += "\tsetp.lt.s32 \t%p1, %r" + a + ", %r" + b + ";\n\t@%p1 bra \t$L__BB" + number + "_1;\n";
    }
    made += "$L__BB" + number + "_1:\n\tret;\n}\n";
  }
  return made;
}

std::string compiled() {
  std::ifstream file(CUSHIM_PTX_COMPILED "/kernels.ptx", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void parse(benchmark::State &state, const std::string &text) {
  std::size_t instructions = 0;
  for (auto _ : state) {
    const auto result = cushim::ptx::parse(text);
    if (!result.ok()) {
      state.SkipWithError(result.log().c_str());
      return;
    }
    instructions = 0;
    for (const auto &function : result.module.functions) instructions += function.body.instructions.size();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
  state.counters["instructions"] = static_cast<double>(instructions);
}

// 10 MB.
void parse_generated(benchmark::State &state) { parse(state, generated(530)); }
void parse_compiled(benchmark::State &state) { parse(state, compiled()); }
void load(benchmark::State &state) {
  const std::string text = generated(10'000 / instructions_in_function);
  for (auto _ : state) {
    const auto parsed = cushim::ptx::parse(text);
    std::vector<cushim::ptx::Diagnostic> diagnostics;
    benchmark::DoNotOptimize(cushim::ptx::compile(parsed.module, {}, diagnostics));
  }
}
BENCHMARK(load)->Unit(benchmark::kMillisecond);
BENCHMARK(parse_generated)->Unit(benchmark::kMillisecond);
BENCHMARK(parse_compiled)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
