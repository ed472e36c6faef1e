// SPDX-License-Identifier: Apache-2.0
// Measures the speed of kernels on the CPU, in thread instructions: one per executed PTX instruction and
// active lane.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "cushim/ptx/execute.hpp"
#include "cushim/ptx/module.hpp"
#include "plain_interpreter.hpp"
#include "vector_add.hpp"

namespace {

using namespace cushim::ptx;

constexpr std::string_view header = R"(.version 9.0
.target sm_80
.address_size 64
.visible .entry empty() { ret; }
)";
// The beginning of a product of two matrices.
constexpr std::string_view product_text = R"(
.visible .entry product(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u32 pn) {
  .reg .pred %p<3>; .reg .f32 %f<8>; .reg .b32 %r<40>; .reg .b64 %rd<13>;
  .shared .align 4 .b8 tile_a[1024];
  .shared .align 4 .b8 tile_b[1024];
  ld.param.u64 %rd1, [pa]; ld.param.u64 %rd2, [pb]; ld.param.u64 %rd3, [pc]; ld.param.u32 %r1, [pn];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ctaid.y; mov.u32 %r4, %tid.x; mov.u32 %r5, %tid.y;
  shl.b32 %r6, %r2, 4; add.u32 %r6, %r6, %r4;
  shl.b32 %r7, %r3, 4; add.u32 %r7, %r7, %r5;
  mad.lo.u32 %r8, %r7, %r1, %r4;
  mad.lo.u32 %r9, %r5, %r1, %r6;
  shl.b32 %r10, %r1, 4;
  mov.u32 %r11, tile_a; mov.u32 %r12, tile_b;
  shl.b32 %r13, %r5, 6; shl.b32 %r14, %r4, 2;
  add.u32 %r15, %r11, %r13; add.u32 %r16, %r15, %r14;
  add.u32 %r17, %r12, %r14; add.u32 %r18, %r17, %r13;
  mov.f32 %f1, 0f00000000; shr.u32 %r19, %r1, 4;
TILE:
  mul.wide.u32 %rd4, %r8, 4; add.s64 %rd5, %rd1, %rd4; ld.global.f32 %f2, [%rd5]; st.shared.f32 [%r16], %f2;
  mul.wide.u32 %rd6, %r9, 4; add.s64 %rd7, %rd2, %rd6; ld.global.f32 %f3, [%rd7]; st.shared.f32 [%r18], %f3;
  bar.sync 0;
)";

std::string source() {
  std::string text{header};
  text.append(testing::kVectorAdd).append(product_text);
  for (int k = 0; k < 16; ++k)
    text += "  ld.shared.f32 %f4, [%r17+" + std::to_string(64 * k) + "]; ld.shared.f32 %f5, [%r15+" +
            std::to_string(4 * k) + "]; fma.rn.f32 %f1, %f5, %f4, %f1;\n";
  text += R"(  bar.sync 0;
  add.u32 %r8, %r8, 16; add.u32 %r9, %r9, %r10; sub.u32 %r19, %r19, 1;
  setp.ne.u32 %p1, %r19, 0; @%p1 bra TILE;
  mad.lo.u32 %r20, %r7, %r1, %r6; mul.wide.u32 %rd8, %r20, 4; add.s64 %rd9, %rd3, %rd8; st.global.f32 [%rd9], %f1;
  ret;
}
)";
  return text;
}

class HostMemory final : public Memory {
 public:
  Resolved resolve(std::uint64_t address, std::uint64_t, Access) override {
    for (auto &one : vectors) {
      const auto begin = reinterpret_cast<std::uint64_t>(one.data());
      const std::uint64_t at = address - begin;
      if (at < one.size() * 4) return {reinterpret_cast<std::byte *>(address), one.size() * 4 - at, at};
    }
    return {};
  }
  std::vector<float> vectors[3];
};

const Program &program() {
  static const Program one = [] {
    const ParseResult parsed = parse(source());
    std::vector<Diagnostic> diagnostics;
    return compile(parsed.module, {}, diagnostics);
  }();
  return one;
}

template <class... Parameters>
std::vector<std::byte> packed(const Parameters &...parameters) {
  std::vector<std::byte> bytes;
  const auto append = [&bytes](const auto &value) {
    bytes.resize((bytes.size() + sizeof value - 1) / sizeof value * sizeof value + sizeof value);
    std::memcpy(bytes.data() + bytes.size() - sizeof value, &value, sizeof value);
  };
  (append(parameters), ...);
  return bytes;
}

// The launch of a kernel with three vectors and a number as its parameters.
struct VectorLaunch {
  LaunchShape shape;
  std::vector<std::byte> parameters;
};
VectorLaunch launch_of(HostMemory &memory, const LaunchShape &shape, std::size_t size, float value,
                       std::uint32_t n) {
  for (auto &one : memory.vectors) one.assign(size, value);
  return {shape, packed(memory.vectors[0].data(), memory.vectors[1].data(), memory.vectors[2].data(), n)};
}
// The addition of vectors of n numbers.
VectorLaunch addition(HostMemory &memory, std::uint32_t n) {
  LaunchShape shape;
  shape.grid.x = n / 256;
  shape.block.x = 256;
  return launch_of(memory, shape, n, 1.5f, n);
}
// The product of two matrices of n rows and columns, into the third vector.
VectorLaunch product(HostMemory &memory, std::uint32_t n) {
  LaunchShape shape;
  shape.grid = {n / 16, n / 16, 1};
  shape.block = {16, 16, 1};
  return launch_of(memory, shape, n * n, 0.5f, n);
}

void measure(benchmark::State &state, std::string_view kernel, const LaunchShape &shape,
             const std::vector<std::byte> &parameters, HostMemory &memory, unsigned workers,
             const Checks &checks = {}) {
  const RunOptions options{.limits = {.workers = workers}, .checks = checks};
  std::uint64_t instructions = 0;
  for (auto _ : state) {
    const LaunchResult result = run(program(), kernel, shape, parameters, memory, options);
    if (!result) state.SkipWithError("fault");
    instructions += result.thread_instructions;
  }
  state.counters["thread_instructions"] =
      benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
}

void empty_kernel(benchmark::State &state) {
  HostMemory memory;
  measure(state, "empty", {}, {}, memory, 1);
}
BENCHMARK(empty_kernel);

void empty_blocks(benchmark::State &state) {
  HostMemory memory;
  LaunchShape shape;
  shape.grid.x = static_cast<std::uint32_t>(state.range(0));
  measure(state, "empty", shape, {}, memory, 1);
}
BENCHMARK(empty_blocks)->Arg(1000)->Arg(1000000)->Unit(benchmark::kMicrosecond);

void vector_addition(benchmark::State &state) {
  HostMemory memory;
  const auto [shape, parameters] = addition(memory, 1 << 18);
  measure(state, "add", shape, parameters, memory, static_cast<unsigned>(state.range(0)));
}
BENCHMARK(vector_addition)->ArgName("workers")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMicrosecond);

void measure_product(benchmark::State &state, HostMemory &memory, std::uint32_t n, unsigned workers,
                     const Checks &checks = {}) {
  const auto [shape, parameters] = product(memory, n);
  measure(state, "product", shape, parameters, memory, workers, checks);
}

void matrix_product(benchmark::State &state) {
  HostMemory memory;
  const std::uint32_t n = 256;
  measure_product(state, memory, n, static_cast<unsigned>(state.range(0)));
  if (memory.vectors[2][n + 1] != 64.0f) state.SkipWithError("wrong result");
}
BENCHMARK(matrix_product)->ArgName("workers")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMicrosecond);

// The same with one of the checks, or with all of them.
void checked_matrix_product(benchmark::State &state) {
  HostMemory memory;
  Checks checks;
  std::uint64_t findings = 0;
  checks.report = [&findings](const KernelFinding &) { ++findings; };
  const auto wanted = static_cast<std::size_t>(state.range(0));
  for (std::size_t i = 0; i < check_count; ++i) checks.is_on[i] = i == wanted || wanted > check_count;
  measure_product(state, memory, 64, 1, checks);
  if (findings != 0) state.SkipWithError("a finding");
}
// 0 to 3: memory, races, init, barriers; 4: none; 5: all.
BENCHMARK(checked_matrix_product)->ArgName("check")->DenseRange(0, 5)->Unit(benchmark::kMicrosecond);

// The same kernels by an interpreter that executes one thread at a time.
void measure_plain(benchmark::State &state, std::string_view kernel, const LaunchShape &shape,
                   const std::vector<std::byte> &parameters) {
  const std::string text = source();
  const ParseResult parsed = parse(text);
  PlainInterpreter interpreter(parsed.module, kernel);
  std::uint64_t instructions = 0;
  for (auto _ : state) instructions += interpreter.run(shape, parameters);
  state.counters["thread_instructions"] =
      benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
}

void plain_vector_addition(benchmark::State &state) {
  HostMemory memory;
  const std::uint32_t n = 1 << 18;
  const auto [shape, parameters] = addition(memory, n);
  measure_plain(state, "add", shape, parameters);
  if (memory.vectors[2][n - 1] != 3.0f) state.SkipWithError("wrong result");
}
BENCHMARK(plain_vector_addition)->Unit(benchmark::kMicrosecond);

void plain_matrix_product(benchmark::State &state) {
  HostMemory memory;
  const std::uint32_t n = 256;
  const auto [shape, parameters] = product(memory, n);
  measure_plain(state, "product", shape, parameters);
  if (memory.vectors[2][n + 1] != 64.0f) state.SkipWithError("wrong result");
}
BENCHMARK(plain_matrix_product)->Unit(benchmark::kMicrosecond);

// The same computation compiled by the C++ compiler: an upper bound.
void matrix_product_compiled(benchmark::State &state) {
  const std::size_t n = 256;
  std::vector<float> a(n * n, 0.5f), b(n * n, 0.5f), c(n * n);
  for (auto _ : state) {
    for (std::size_t y = 0; y < n; ++y) {
      float *const row = &c[y * n];
      std::fill(row, row + n, 0.0f);
      for (std::size_t k = 0; k < n; ++k)
        for (std::size_t x = 0; x < n; ++x) row[x] += a[y * n + k] * b[k * n + x];
    }
    benchmark::DoNotOptimize(c.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(matrix_product_compiled)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
