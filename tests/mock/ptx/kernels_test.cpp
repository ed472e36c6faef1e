// SPDX-License-Identifier: Apache-2.0
// Compares kernels compiled by nvcc with the same computation on the host.
#include <cmath>
#include <fstream>
#include <numeric>

#include "execute.hpp"

namespace cushim::ptx {
namespace {

using testing::Loaded;

std::string text(const char *path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

LaunchShape shape(std::uint32_t blocks, std::uint32_t threads, std::uint32_t shared = 0) {
  LaunchShape made;
  made.grid.x = blocks;
  made.block.x = threads;
  made.dynamic_shared_bytes = shared;
  return made;
}

// Each kernel runs without and with all checks, which find nothing.
class Compiled : public ::testing::TestWithParam<bool> {
 protected:
  explicit Compiled(const char *path) : loaded_(text(path)) {}
  void SetUp() override {
    ASSERT_TRUE(loaded_.program) << loaded_.refused;
    if (GetParam()) loaded_.enable();
  }
  void TearDown() override { EXPECT_EQ(loaded_.found(), ""); }
  template <class... Parameters>
  void run(std::string_view kernel, const LaunchShape &launch, const Parameters &...parameters) {
    const LaunchResult result = loaded_.run(kernel, launch, parameters...);
    EXPECT_TRUE(result) << name(result.fault.kind) << " at line " << result.fault.line;
  }
  Loaded loaded_;
  testing::Arena &memory_ = loaded_.memory;
};
class CompiledKernels : public Compiled {
 protected:
  CompiledKernels() : Compiled(CUSHIM_PTX_KERNELS) {}
};
// Kernels that synchronize by NVIDIA's headers.
class CompiledGroups : public Compiled {
 protected:
  CompiledGroups() : Compiled(CUSHIM_PTX_GROUPS), in_(1024) {
    for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = static_cast<int>(i * 7919 % 1000);
  }
  // Runs a kernel of 1,024 numbers, and returns `count` results.
  std::vector<int> results(std::string_view kernel, const LaunchShape &launch, std::size_t count) {
    const auto from = memory_.add(in_), to = memory_.add(count * 4);
    run(kernel, launch, from, to);
    return memory_.get<int>(to, count);
  }
  std::vector<int> in_;
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

TEST_P(CompiledKernels, AMatrixProductIsThatOfTheHost) {
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

TEST_P(CompiledKernels, AReductionWithShufflesSums) {
  std::vector<int> in(10000);
  std::iota(in.begin(), in.end(), -3000);
  const auto from = memory_.add(in), to = memory_.add(std::vector<int>(1));
  run("reduce", shape(5, 256), from, to, 10000);
  EXPECT_EQ(memory_.get<int>(to, 1)[0], std::accumulate(in.begin(), in.end(), 0));
}

TEST_P(CompiledKernels, AScanSumsPrefixes) {
  std::vector<unsigned> in(512), sums(512);
  std::iota(in.begin(), in.end(), 7u);
  std::partial_sum(in.begin(), in.end(), sums.begin());
  const auto from = memory_.add(in), to = memory_.add(512 * 4);
  run("scan", shape(1, 512, 512 * 4), from, to);
  EXPECT_EQ(memory_.get<unsigned>(to, 512), sums);
}

TEST_P(CompiledKernels, AHistogramCountsWithAtomicsInSharedMemory) {
  std::vector<std::uint8_t> in(30000);
  std::vector<unsigned> counts(256);
  for (std::size_t i = 0; i < in.size(); ++i) ++counts[in[i] = static_cast<std::uint8_t>(i * i >> 4)];
  const auto from = memory_.add(in), to = memory_.add(std::vector<unsigned>(256));
  run("histogram", shape(7, 128), from, to, 30000);
  EXPECT_EQ(memory_.get<unsigned>(to, 256), counts);
}

TEST_P(CompiledKernels, ABitonicSortSorts) {
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
TEST_P(CompiledKernels, RecursionThatDivergesReturnsToEachLane) {
  const auto to = memory_.add(64 * 4);
  loaded_.limits.stack_bytes = 16384;
  run("recurse", shape(1, 64), to);
  const auto out = memory_.get<int>(to, 64);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], ackermann(i % 3, i / 8));
}

TEST_P(CompiledKernels, FunctionPointersOfATableAreCalled) {
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

TEST_P(CompiledKernels, PrintfPrints) {
  run("print", shape(1, 2), 1.25f);
  EXPECT_EQ(loaded_.printed, "thread 0 of two:  0.00 1099511627776\nthread 1 of two:  1.25 1099511627776\n");
}

TEST_P(CompiledKernels, AGridBarrierHoldsAllBlocks) {
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

TEST_P(CompiledKernels, ALockWithinAWarpIsTakenByEachLane) {
  const auto counter = memory_.add(std::vector<int>(1));
  run("count", shape(3, 64), counter);
  EXPECT_EQ(memory_.get<int>(counter, 1)[0], 3 * 64);
}

TEST_P(CompiledKernels, HalfPrecisionRoundsOnce) {
  // 1.5 * 1.5 + 0.5 = 2.75; * 0.3333 = 0.91656: 0x3b55
  const auto from = memory_.add(std::vector<std::uint16_t>(32, 0x3e00)), to = memory_.add(64);
  run("halves", shape(1, 32), from, to);
  EXPECT_EQ(memory_.get<std::uint16_t>(to, 32), std::vector<std::uint16_t>(32, 0x3b55));
}

TEST_P(CompiledGroups, TilesOfAWarpReduceScanAndExchange) {
  std::vector<int> sums(256), values(256), wanted(256);
  for (std::size_t i = 0; i < 256; ++i)
    sums[i] = std::accumulate(in_.begin() + static_cast<std::ptrdiff_t>(i / 8 * 8),
                              in_.begin() + static_cast<std::ptrdiff_t>(i / 8 * 8 + 8), 0);
  for (std::size_t i = 0; i < 256; ++i) values[i] = sums[i / 32 * 32 + 31 - i % 32];
  // The first of the coalesced threads is the thread of the warp whose index is the smallest multiple of 3.
  std::vector<int> with_first = values;
  for (std::size_t i = 0; i < 256; i += 3) with_first[i] += values[(i / 32 * 32 + 2) / 3 * 3];
  for (std::size_t i = 0; i < 256; ++i)
    wanted[255 - i] =
        with_first[i] + std::accumulate(with_first.begin() + static_cast<std::ptrdiff_t>(i / 8 * 8),
                                        with_first.begin() + static_cast<std::ptrdiff_t>(i + 1), 0);
  EXPECT_EQ(results("tiles", shape(1, 256), 256), wanted);
}

TEST_P(CompiledGroups, BarriersInSharedMemoryHaveRounds) {
  const auto out = results("rounds", shape(1, 128), 128);
  for (std::size_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], 3 * in_[(i + 37) % 128] + 3);
}

TEST_P(CompiledGroups, APipelineCopiesAheadOfItsConsumers) {
  const auto out = results("pipelined", shape(1, 128), 128);
  for (std::size_t i = 0; i < 128; ++i) {
    const std::size_t next = (i + 1) % 128;
    EXPECT_EQ(out[i], in_[next] + in_[128 + next] + in_[256 + next] + in_[384 + next]);
  }
}

TEST_P(CompiledGroups, AnAsynchronousCopyIsAwaitedByTheBlock) {
  const auto out = results("reversed", shape(1, 256), 256);
  for (std::size_t i = 0; i < 256; ++i) EXPECT_EQ(out[i], in_[255 - i]);
}

TEST_P(CompiledGroups, TheLastBlockSumsTheSumsOfAll) {
  EXPECT_EQ(results("last_block", shape(16, 64), 1)[0], std::accumulate(in_.begin(), in_.end(), 0));
  EXPECT_EQ(results("last_block", shape(16, 64), 1)[0], std::accumulate(in_.begin(), in_.end(), 0));
}

constexpr auto is_checked = [](const auto &one) { return one.param ? "On" : "Off"; };
INSTANTIATE_TEST_SUITE_P(Checks, CompiledKernels, ::testing::Bool(), is_checked);
INSTANTIATE_TEST_SUITE_P(Checks, CompiledGroups, ::testing::Bool(), is_checked);

}  // namespace
}  // namespace cushim::ptx
