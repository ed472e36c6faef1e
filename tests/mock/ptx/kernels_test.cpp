// SPDX-License-Identifier: Apache-2.0
// Compares kernels compiled by nvcc with the same computation on the host.
#include <cmath>
#include <fstream>
#include <numeric>

#include "execute.hpp"

namespace cushim::ptx {
namespace {

using testing::Loaded;

std::string text() {
  std::ifstream file(CUSHIM_PTX_KERNELS);
  return {std::istreambuf_iterator<char>(file), {}};
}

LaunchShape shape(std::uint32_t blocks, std::uint32_t threads, std::uint32_t shared = 0) {
  LaunchShape made;
  made.grid.x = blocks;
  made.block.x = threads;
  made.dynamic_shared_bytes = shared;
  return made;
}

class CompiledKernels : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(loaded_.program) << loaded_.refused; }
  template <class... Parameters>
  void run(std::string_view kernel, const LaunchShape &launch, const Parameters &...parameters) {
    const LaunchResult result = loaded_.run(kernel, launch, parameters...);
    EXPECT_TRUE(result) << name(result.fault.kind) << " at line " << result.fault.line;
  }
  Loaded loaded_{text()};
  testing::Arena &memory_ = loaded_.memory;
};

TEST(VariadicFunction, ReadsItsArgumentsFromLocalMemory) {
  Loaded loaded(std::string{testing::header} + R"(
.func (.param .b32 result) sum(.param .b32 count, .param .align 8 .b8 %VAParam[]) {
  .local .align 4 .b8 scratch[4];
  .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .f64 %fd<2>;
  ld.param.u32 %r1, [count];
  st.local.u32 [scratch], %r1;
  mov.u64 %rd1, %VAParam;
  ld.local.u32 %r2, [%rd1];
  ld.local.f64 %fd1, [%rd1+8];
  cvt.rzi.u32.f64 %r3, %fd1;
  add.u32 %r2, %r2, %r3;
  ld.local.u32 %r3, [scratch];
  add.u32 %r2, %r2, %r3;
  st.param.b32 [result], %r2;
  ret;
}
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<4>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd1, %rd1, %rd2;
  {
    .param .b32 named; .param .align 8 .b8 others[16]; .param .b32 back;
    st.param.b32 [named], 1000;
    st.param.b32 [others], %r1;
    st.param.f64 [others+8], 0d4024000000000000;
    call.uni (back), sum, (named, others);
    ld.param.b32 %r2, [back];
  }
  st.global.u32 [%rd1], %r2;
  ret;
})");
  const auto to = loaded.memory.add(64 * 4);
  const LaunchResult result = loaded.run("k", shape(1, 64), to);
  ASSERT_TRUE(result) << name(result.fault.kind) << " at line " << result.fault.line;
  const auto sums = loaded.memory.get<unsigned>(to, 64);
  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(sums[i], 1010 + i);
}

TEST_F(CompiledKernels, AMatrixProductIsThatOfTheHost) {
  const int n = 64;
  std::vector<float> a(n * n), b(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[i] = static_cast<float>(i % 17) / 8;
    b[i] = static_cast<float>(i % 13) - 6;
  }
  const auto at_a = memory_.add(a), at_b = memory_.add(b), at_c = memory_.add(n * n * 4);
  LaunchShape launch;
  launch.grid = {n / 16, n / 16, 1};
  launch.block = {16, 16, 1};
  run("multiply", launch, at_a, at_b, at_c, n);
  const auto c = memory_.get<float>(at_c, n * n);
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum = std::fma(a[y * n + k], b[k * n + x], sum);
      ASSERT_EQ(c[y * n + x], sum);
    }
}

TEST_F(CompiledKernels, AReductionWithShufflesSums) {
  std::vector<int> in(10000);
  std::iota(in.begin(), in.end(), -3000);
  const auto from = memory_.add(in), to = memory_.add(std::vector<int>(1));
  run("reduce", shape(5, 256), from, to, 10000);
  EXPECT_EQ(memory_.get<int>(to, 1)[0], std::accumulate(in.begin(), in.end(), 0));
}

TEST_F(CompiledKernels, AScanSumsPrefixes) {
  std::vector<unsigned> in(512), sums(512);
  std::iota(in.begin(), in.end(), 7u);
  std::partial_sum(in.begin(), in.end(), sums.begin());
  const auto from = memory_.add(in), to = memory_.add(512 * 4);
  run("scan", shape(1, 512, 512 * 4), from, to);
  EXPECT_EQ(memory_.get<unsigned>(to, 512), sums);
}

TEST_F(CompiledKernels, AHistogramCountsWithAtomicsInSharedMemory) {
  std::vector<std::uint8_t> in(30000);
  std::vector<unsigned> counts(256);
  for (std::size_t i = 0; i < in.size(); ++i) ++counts[in[i] = static_cast<std::uint8_t>(i * i >> 4)];
  const auto from = memory_.add(in), to = memory_.add(std::vector<unsigned>(256));
  run("histogram", shape(7, 128), from, to, 30000);
  EXPECT_EQ(memory_.get<unsigned>(to, 256), counts);
}

TEST_F(CompiledKernels, ABitonicSortSorts) {
  std::vector<unsigned> values(1024);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<unsigned>(i * 2654435761u);
  const auto at = memory_.add(values);
  run("sort", shape(1, 1024, 4096), at);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(memory_.get<unsigned>(at, 1024), values);
}

int ackermann(int m, int n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
TEST_F(CompiledKernels, RecursionThatDivergesReturnsToEachLane) {
  const auto to = memory_.add(64 * 4);
  loaded_.limits.stack_bytes = 16384;
  run("recurse", shape(1, 64), to);
  const auto out = memory_.get<int>(to, 64);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], ackermann(i % 3, i / 8));
}

TEST_F(CompiledKernels, FunctionPointersOfATableAreCalled) {
  std::vector<double> values(40);
  std::iota(values.begin(), values.end(), 1.5);
  const auto at = memory_.add(values);
  run("point", shape(1, 40), at);
  const auto out = memory_.get<double>(at, 40);
  for (std::size_t i = 0; i < 40; ++i) {
    const double x = values[i];
    EXPECT_EQ(out[i], i % 3 == 0 ? x * x * x : i % 3 == 1 ? x / 2 : std::sqrt(x));
  }
}

TEST_F(CompiledKernels, PrintfPrints) {
  run("print", shape(1, 2), 1.25f);
  EXPECT_EQ(loaded_.printed, "thread 0 of two:  0.00 1099511627776\nthread 1 of two:  1.25 1099511627776\n");
}

TEST_F(CompiledKernels, AGridBarrierHoldsAllBlocks) {
  if (testing::kFindsRaces) GTEST_SKIP() << "blocks wait for plain stores of others";
  const unsigned n = 40 * 96;
  const auto values = memory_.add(n * 4), to = memory_.add(n * 4);
  for (const unsigned workers : {1u, 2u}) {
    loaded_.limits.workers = workers;
    run("rotate", shape(40, 96), values, to);
    const auto out = memory_.get<unsigned>(to, n);
    for (unsigned i = 0; i < n; ++i) {
      const unsigned from = (i + 100) % n;
      ASSERT_EQ(out[i], from * from);
    }
  }
}

TEST_F(CompiledKernels, ALockWithinAWarpIsTakenByEachLane) {
  const auto counter = memory_.add(std::vector<int>(1));
  run("count", shape(3, 64), counter);
  EXPECT_EQ(memory_.get<int>(counter, 1)[0], 3 * 64);
}

TEST_F(CompiledKernels, HalfPrecisionRoundsOnce) {
  // 1.5 * 1.5 + 0.5 = 2.75; * 0.3333 = 0.91656: 0x3b55
  const auto from = memory_.add(std::vector<std::uint16_t>(32, 0x3e00)), to = memory_.add(64);
  run("halves", shape(1, 32), from, to);
  EXPECT_EQ(memory_.get<std::uint16_t>(to, 32), std::vector<std::uint16_t>(32, 0x3b55));
}

}  // namespace
}  // namespace cushim::ptx
