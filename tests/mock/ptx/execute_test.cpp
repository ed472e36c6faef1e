// SPDX-License-Identifier: Apache-2.0
#include "execute.hpp"

#include <cmath>
#include <numeric>

namespace cushim::ptx {
namespace {

using testing::header;
using testing::Loaded;

std::string with_header(std::string_view text) { return std::string{header} + std::string{text}; }

// Returns a kernel of one block in which each thread reads in[tid] and writes a 32-bit result to out[tid].
std::string thread_kernel(std::string_view body, std::string_view before = {}) {
  return with_header(before) + R"(
.visible .entry k(.param .u64 in, .param .u64 out) {
  .reg .pred %p<8>;
  .reg .b16 %h<8>;
  .reg .b32 %r<32>;
  .reg .b64 %rd<32>;
  .reg .f32 %f<8>;
  .reg .f64 %fd<8>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd1, %rd1, %rd3;
  add.s64 %rd2, %rd2, %rd3;
  ld.global.u32 %r2, [%rd1];
)" + std::string{body} +
         "\n  st.global.u32 [%rd2], %r3;\n  ret;\n}\n";
}

std::vector<std::uint32_t> numbers(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint32_t>(i * 2654435761u + 12345);
  return values;
}

// Returns the results of thread_kernel() for `in`, one thread per value.
std::vector<std::uint32_t> computed(std::string_view body, const std::vector<std::uint32_t> &in,
                                    std::string_view before = {}) {
  Loaded loaded(thread_kernel(body, before));
  const auto from = loaded.memory.add(in);
  const auto to = loaded.memory.add(in.size() * 4);
  LaunchShape shape;
  shape.block.x = static_cast<std::uint32_t>(in.size());
  const LaunchResult result = loaded.run("k", shape, from, to);
  EXPECT_TRUE(result) << name(result.fault.kind) << " line " << result.fault.line << result.fault.message;
  return loaded.memory.get<std::uint32_t>(to, in.size());
}

TEST(Execution, ComparesPairsOfHalvesToAMaskOfEachHalf) {
  const std::vector<std::uint32_t> in{0x3c004000, 0x40003c00, 0x3c003c00, 0x7e004200};
  EXPECT_EQ(computed("mov.b32 %r4, 0x3c003e00; set.gt.u32.f16x2 %r3, %r2, %r4;", in),
            (std::vector<std::uint32_t>{0x0000ffff, 0xffff0000, 0, 0x0000ffff}));
}

TEST(Execution, MovesPairsOfBytes) {
  EXPECT_EQ(
      computed(".reg .b8 %b<2>; cvt.u16.u32 %h1, %r2; mov.b16 {%b0, %b1}, %h1; mov.b16 %h2, {%b1, %b0}; "
               "cvt.u32.u16 %r3, %h2;",
               {0x1234, 0xff80}),
      (std::vector<std::uint32_t>{0x3412, 0x80ff}));
}

TEST(Execution, TheTypeMayStandBeforeRelu) {
  EXPECT_EQ(computed("max.s32.relu %r3, %r2, 5;", {7, 0xffffff00}), (std::vector<std::uint32_t>{7, 5}));
  EXPECT_EQ(computed("min.s32.relu %r3, %r2, 5;", {7, 0xffffff00}), (std::vector<std::uint32_t>{5, 0}));
}

TEST(Execution, ConvertsBfloat16ToAndFromEightBits) {
  // 3.703125, -5.1875, 300, -1000
  const std::vector<std::uint32_t> in{0x406d, 0xc0a6, 0x4396, 0xc47a};
  const auto as_signed = computed(R"({
  .reg .b8 %b;
  cvt.u16.u32 %h1, %r2;
  cvt.rzi.s8.bf16 %b, %h1;
  mov.b16 %h2, {%b, 0};
  cvt.s32.s8 %r3, %h2;
})",
                                  in);
  EXPECT_EQ(as_signed, (std::vector<std::uint32_t>{3, std::uint32_t(-5), 127, std::uint32_t(-128)}));
  const auto back = computed(R"({
  .reg .b8 %b;
  cvt.u8.u32 %b, %r2;
  cvt.rn.bf16.s8 %h1, %b;
  cvt.u32.u16 %r3, %h1;
})",
                             {1, 0xfe, 100});
  EXPECT_EQ(back, (std::vector<std::uint32_t>{0x3f80, 0xc000, 0x42c8}));
}

TEST(Execution, TakesModifiersBehindTheType) {
  const std::vector<std::uint32_t> in{0x3f800000, 0x41000000, 0x00000001, 0xc0000000};
  EXPECT_EQ(computed("lg2.approx.f32.ftz %r3, %r2;", in), computed("lg2.approx.ftz.f32 %r3, %r2;", in));
  EXPECT_EQ(computed("add.f32.ftz.sat %r3, %r2, %r2;", in), computed("add.ftz.sat.f32 %r3, %r2, %r2;", in));
}

TEST(Execution, ExchangesAndComparesSixteenBytesAtomically) {
  Loaded loaded(with_header(R"(
.visible .entry k(.param .u64 out) {
  .reg .pred %p<2>; .reg .b64 %rd<8>; .reg .b128 %rq<4>;
  ld.param.u64 %rd1, [out];
RETRY:
  ld.volatile.global.u64 %rd2, [%rd1]; ld.volatile.global.u64 %rd3, [%rd1+8];
  sub.u64 %rd4, %rd2, 1; add.u64 %rd5, %rd3, 3;
  mov.b128 %rq1, {%rd2, %rd3}; mov.b128 %rq2, {%rd4, %rd5};
  atom.global.cas.b128 %rq3, [%rd1], %rq1, %rq2;
  mov.b128 {%rd6, %rd7}, %rq3;
  setp.ne.u64 %p1, %rd6, %rd2; @%p1 bra RETRY;
  setp.ne.u64 %p1, %rd7, %rd3; @%p1 bra RETRY;
  mov.b128 %rq1, {5, 6};
  atom.exch.b128 %rq3, [%rd1+16], %rq1;
  ret;
})"));
  const auto at = loaded.memory.add(std::vector<std::uint64_t>{7, 11, 1, 2});
  LaunchShape shape;
  shape.grid.x = 3;
  shape.block.x = 40;
  const LaunchResult result = loaded.run("k", shape, at);
  ASSERT_TRUE(result) << name(result.fault.kind) << result.fault.message;
  EXPECT_EQ(loaded.memory.get<std::uint64_t>(at, 4),
            (std::vector<std::uint64_t>{7 - 120ull, 11 + 360, 5, 6}));
  EXPECT_EQ(loaded.run("k", shape, at + 8).fault.kind, FaultKind::misaligned_address);
}

TEST(Execution, AddsVectorsOfAnyLength) {
  Loaded loaded(with_header(R"(
.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n) {
  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<10>; .reg .f32 %f<4>;
  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r5, %r1;
  @%p1 bra END;
  cvta.to.global.u64 %rd1, %rd1;
  mul.wide.s32 %rd4, %r5, 4;
  add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4; add.s64 %rd7, %rd3, %rd4;
  ld.global.f32 %f1, [%rd5]; ld.global.f32 %f2, [%rd6];
  add.f32 %f3, %f1, %f2;
  st.global.f32 [%rd7], %f3;
END:
  ret;
})"));
  for (const std::size_t n : {1, 31, 32, 33, 100, 1000, 4097}) {
    std::vector<float> a(n), b(n);
    for (std::size_t i = 0; i < n; ++i) {
      a[i] = static_cast<float>(i);
      b[i] = 0.5f * static_cast<float>(i);
    }
    const auto at_a = loaded.memory.add(a), at_b = loaded.memory.add(b), at_c = loaded.memory.add(n * 4);
    LaunchShape shape;
    shape.grid.x = static_cast<std::uint32_t>((n + 127) / 128);
    shape.block.x = 128;
    const LaunchResult result = loaded.run("add", shape, at_a, at_b, at_c, static_cast<std::uint32_t>(n));
    ASSERT_TRUE(result) << name(result.fault.kind) << " " << result.fault.line;
    const auto c = loaded.memory.get<float>(at_c, n);
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(c[i], a[i] + b[i]) << i;
  }
}

TEST(Execution, DivergentBranchesReconverge) {
  const auto in = numbers(64);
  const auto out = computed(R"(
  and.b32 %r4, %r1, 3;
  setp.eq.u32 %p1, %r4, 0;
  @%p1 bra ZERO;
  setp.eq.u32 %p1, %r4, 1;
  @%p1 bra ONE;
  add.u32 %r3, %r2, 7;
  bra DONE;
ZERO: mul.lo.u32 %r3, %r2, 3; bra DONE;
ONE: sub.u32 %r3, %r2, 9;
DONE: activemask.b32 %r5; add.u32 %r3, %r3, %r5;
)",
                            in);
  for (std::size_t i = 0; i < in.size(); ++i)
    EXPECT_EQ(out[i], (i % 4 == 0 ? in[i] * 3 : i % 4 == 1 ? in[i] - 9 : in[i] + 7) + 0xffffffffu);
}

TEST(Execution, LoopsOfDifferentLengthReconverge) {
  const auto in = numbers(70);
  const auto out = computed(R"(
  mov.u32 %r3, 0; and.b32 %r4, %r2, 31;
LOOP: setp.eq.u32 %p1, %r4, 0; @%p1 bra DONE;
  add.u32 %r3, %r3, %r4; sub.u32 %r4, %r4, 1; bra LOOP;
DONE: activemask.b32 %r5; popc.b32 %r5, %r5; shl.b32 %r5, %r5, 16; or.b32 %r3, %r3, %r5;
)",
                            in);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::uint32_t n = in[i] & 31, active = i < 64 ? 32 : 6;
    EXPECT_EQ(out[i], n * (n + 1) / 2 | active << 16) << i;
  }
}

TEST(Execution, LanesOfAWarpThatTakeALockInTurnGoOn) {
  const auto in = numbers(64);
  const auto out = computed(R"(
TRY: atom.global.cas.b32 %r4, [lock], 0, 1;
  setp.ne.u32 %p1, %r4, 0; @%p1 bra TRY;
  ld.global.u32 %r5, [count]; add.u32 %r6, %r5, 1; st.global.u32 [count], %r6;
  membar.gl;
  atom.global.exch.b32 %r7, [lock], 0;
  mov.u32 %r3, %r5;
)",
                            in, ".global .u32 lock; .global .u32 count;");
  std::vector<std::uint32_t> sorted = out, all(64);
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), 0u);
  EXPECT_EQ(sorted, all);
}

TEST(Execution, RecursionGoesAsDeepAsEachLaneNeeds) {
  const auto in = numbers(40);
  const auto out = computed(R"(
  { .param .b32 p0; .param .b32 r0; and.b32 %r4, %r1, 15; st.param.b32 [p0], %r4;
  call.uni (r0), fib, (p0); ld.param.b32 %r3, [r0]; }
)",
                            in, R"(.func (.param .b32 r) fib(.param .b32 n) {
  .reg .pred %p<2>; .reg .b32 %r<8>;
  ld.param.u32 %r1, [n]; setp.lt.u32 %p1, %r1, 2; @%p1 bra SMALL;
  sub.u32 %r2, %r1, 1;
  { .param .b32 p0; .param .b32 r0; st.param.b32 [p0], %r2; call (r0), fib, (p0); ld.param.b32 %r3, [r0]; }
  sub.u32 %r2, %r1, 2;
  { .param .b32 p0; .param .b32 r0; st.param.b32 [p0], %r2; call (r0), fib, (p0); ld.param.b32 %r4, [r0]; }
  add.u32 %r5, %r3, %r4; st.param.b32 [r], %r5; ret;
SMALL: st.param.b32 [r], %r1; ret;
})");
  std::uint32_t fib[16] = {0, 1};
  for (int i = 2; i < 16; ++i) fib[i] = fib[i - 1] + fib[i - 2];
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(out[i], fib[i & 15]);
}

TEST(Execution, FunctionPointersCallWhatEachLaneNames) {
  const auto in = numbers(64);
  const auto out = computed(R"(
  { .param .b32 p0; .param .b32 r0; mov.u64 %rd4, functions; and.b32 %r4, %r1, 1; mul.wide.u32 %rd5, %r4, 8;
  add.s64 %rd4, %rd4, %rd5; ld.global.u64 %rd6, [%rd4]; st.param.b32 [p0], %r2;
  prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
  call (r0), %rd6, (p0), prototype; ld.param.b32 %r3, [r0]; }
)",
                            in, R"(
.func (.param .b32 r) twice(.param .b32 n) { .reg .b32 %r<3>; ld.param.u32 %r1, [n]; shl.b32 %r2, %r1, 1;
  st.param.b32 [r], %r2; ret; }
.func (.param .b32 r) next(.param .b32 n) { .reg .b32 %r<3>; ld.param.u32 %r1, [n]; add.u32 %r2, %r1, 1;
  st.param.b32 [r], %r2; ret; }
.global .align 8 .u64 functions[2] = {twice, next};)");
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(out[i], i % 2 == 0 ? in[i] * 2 : in[i] + 1);
}

TEST(Execution, ShufflesReduceAWarp) {
  const auto in = numbers(64);
  const auto out = computed(R"(
  mov.u32 %r3, %r2;
  shfl.sync.bfly.b32 %r4, %r3, 16, 31, -1; add.u32 %r3, %r3, %r4;
  shfl.sync.bfly.b32 %r4, %r3, 8, 31, -1; add.u32 %r3, %r3, %r4;
  shfl.sync.bfly.b32 %r4, %r3, 4, 31, -1; add.u32 %r3, %r3, %r4;
  shfl.sync.bfly.b32 %r4, %r3, 2, 31, -1; add.u32 %r3, %r3, %r4;
  shfl.sync.bfly.b32 %r4, %r3, 1, 31, -1; add.u32 %r3, %r3, %r4;
)",
                            in);
  for (std::size_t i = 0; i < in.size(); ++i)
    EXPECT_EQ(out[i], std::accumulate(in.begin() + (i & 32), in.begin() + (i & 32) + 32, 0u));
}

TEST(Execution, LanesMeetInShufflesOfDivergentPaths) {
  const auto in = numbers(32);
  const auto out = computed(R"(
  setp.lt.u32 %p1, %r1, 16;
  @%p1 bra LOW;
  vote.sync.ballot.b32 %r3, 1, 0xffff0000;
  bra DONE;
LOW: vote.sync.ballot.b32 %r3, 1, 0xffff;
DONE: vote.sync.any.pred %p2, %p1, -1; selp.u32 %r4, 1, 0, %p2; xor.b32 %r3, %r3, %r4;
)",
                            in);
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(out[i], (i < 16 ? 0xffffu : 0xffff0000u) ^ 1);
}

TEST(Execution, BarriersOrderSharedMemoryOfABlock) {
  const auto in = numbers(256);
  const auto out = computed(R"(
  mov.u32 %r4, tile; shl.b32 %r5, %r1, 2; add.u32 %r6, %r4, %r5;
  st.shared.u32 [%r6], %r2;
  bar.sync 0;
  sub.u32 %r7, 1020, %r5; add.u32 %r7, %r4, %r7;
  ld.shared.u32 %r3, [%r7];
)",
                            in, ".shared .align 4 .b8 tile[1024];");
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(out[i], in[255 - i]);
}

TEST(Execution, ABarrierReducesPredicates) {
  const auto in = numbers(128);
  const auto out = computed(R"(
  setp.lt.u32 %p1, %r1, 100;
  barrier.cta.red.popc.u32 %r3, 0, %p1;
  barrier.cta.red.and.pred %p2, 1, %p1; barrier.cta.red.or.pred %p3, 1, %p1;
  selp.u32 %r4, 256, 0, %p2; selp.u32 %r5, 512, 0, %p3; or.b32 %r3, %r3, %r4; or.b32 %r3, %r3, %r5;
)",
                            in);
  for (const auto one : out) EXPECT_EQ(one, 100u | 512u);
}

TEST(Execution, BlocksThatWaitForALaterBlockGoOn) {
  if (testing::kFindsRaces) GTEST_SKIP() << "blocks wait for plain stores of others";
  Loaded loaded(with_header(R"(
.visible .entry k(.param .u64 count) {
  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [count]; mov.u32 %r1, %nctaid.x;
  atom.global.add.u32 %r2, [%rd1], 1;
WAIT: ld.volatile.global.u32 %r3, [%rd1]; setp.lt.u32 %p1, %r3, %r1; @%p1 bra WAIT;
  add.s64 %rd2, %rd1, 4; red.global.add.u32 [%rd2], %r3;
  ret;
})"));
  for (const unsigned workers : {1u, 2u}) {
    loaded.limits.workers = workers;
    const auto count = loaded.memory.add(std::vector<std::uint32_t>(2));
    LaunchShape shape;
    shape.grid.x = 300;
    const LaunchResult result = loaded.run("k", shape, count);
    ASSERT_TRUE(result) << name(result.fault.kind);
    EXPECT_EQ(loaded.memory.get<std::uint32_t>(count, 2), (std::vector<std::uint32_t>{300, 300 * 300}));
  }
}

TEST(Execution, AWarpWaitsForAnotherWarpOfItsBlock) {
  const auto in = numbers(64);
  const auto out = computed(R"(
  setp.lt.u32 %p1, %r1, 32; @!%p1 bra WRITE;
WAIT: ld.volatile.shared.u32 %r3, [flag]; setp.eq.u32 %p2, %r3, 0; @%p2 bra WAIT; bra DONE;
WRITE: mov.u32 %r3, 5; st.volatile.shared.u32 [flag], %r3;
DONE:
)",
                            in, ".shared .align 4 .u32 flag;");
  for (const auto one : out) EXPECT_EQ(one, 5u);
}

TEST(Execution, PrintsAsPrintfDoes) {
  Loaded loaded(thread_kernel(R"(
  { .param .b64 p0; .param .b64 p1; .param .b32 r0; .local .align 8 .b8 depot[24]; .reg .b64 %a<4>;
  mov.u64 %a1, depot; cvta.local.u64 %a2, %a1; st.local.u32 [%a1], %r1; mov.f64 %fd1, 0d3FF8000000000000;
  st.local.f64 [%a1+8], %fd1; mov.u64 %a3, format; cvta.global.u64 %a3, %a3;
  st.param.b64 [p0], %a3; st.param.b64 [p1], %a2; call (r0), vprintf, (p0, p1); ld.param.b32 %r3, [r0]; }
)",
                              R"(.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.global .align 1 .b8 format[9] = {37, 51, 100, 32, 37, 46, 49, 102, 10};)"));
  EXPECT_EQ(loaded.refused, "");
  const auto in = loaded.memory.add(numbers(2)), out = loaded.memory.add(8);
  LaunchShape shape;
  shape.block.x = 2;
  EXPECT_TRUE(loaded.run("k", shape, in, out));
  EXPECT_EQ(loaded.printed, "  0 1.5\n  1 1.5\n");
}

// Memory with one conditional handle.
class MemoryWithCondition final : public Memory {
 public:
  static constexpr std::uint64_t kHandle = 0x123456789;
  Resolved resolve(std::uint64_t, std::uint64_t, Access) override { return {}; }
  bool set_conditional(std::uint64_t handle, std::uint32_t value) override {
    if (handle == kHandle) value_ = value;
    return handle == kHandle;
  }
  std::uint32_t value() const { return value_; }

 private:
  std::uint32_t value_ = 0;
};

TEST(Execution, AKernelSetsConditionalHandles) {
  const Loaded loaded(std::string(header) + R"(
.extern .func cudaGraphSetConditional (.param .b64 handle, .param .b32 value);
.visible .entry k(.param .u64 handle, .param .u32 value) { .reg .u64 h; .reg .u32 v;
  ld.param.u64 h, [handle]; ld.param.u32 v, [value];
  { .param .b64 p0; .param .b32 p1; st.param.b64 [p0], h; st.param.b32 [p1], v;
  call.uni cudaGraphSetConditional, (p0, p1); }
  ret; }
)");
  ASSERT_EQ(loaded.refused, "");
  struct {
    std::uint64_t handle = MemoryWithCondition::kHandle;
    std::uint64_t value = 0x80000001;
  } parameters;
  MemoryWithCondition memory;
  EXPECT_TRUE(run(loaded.program, "k", {}, std::as_bytes(std::span(&parameters, 1)), memory));
  EXPECT_EQ(memory.value(), 0x80000001u);
  parameters.handle = 5;
  const LaunchResult result = run(loaded.program, "k", {}, std::as_bytes(std::span(&parameters, 1)), memory);
  EXPECT_EQ(result.fault.kind, FaultKind::illegal_address);
  EXPECT_EQ(result.fault.address, 5u);
}

TEST(Execution, AnAccessOutOfBoundsNamesThreadAndLine) {
  Loaded loaded(
      thread_kernel("mov.u64 %rd4, 64;\n @%p1 ld.global.u32 %r4, [%rd4];\n setp.eq.u32 %p1, %r1, 5;\n"
                    "@%p1 ld.global.u32 %r3, [%rd4];"));
  const auto in = loaded.memory.add(numbers(64)), out = loaded.memory.add(256);
  LaunchShape shape;
  shape.block.x = 64;
  const LaunchResult result = loaded.run("k", shape, in, out);
  EXPECT_EQ(result.fault.kind, FaultKind::illegal_address);
  EXPECT_EQ(result.fault.thread.x, 5u);
  EXPECT_EQ(result.fault.address, 64u);
  EXPECT_EQ(result.fault.kernel, "k");
  EXPECT_NE(result.fault.line, 0u);
}

TEST(Execution, AMisalignedAccessIsAFault) {
  Loaded loaded(thread_kernel("ld.global.u32 %r3, [%rd1+2];"));
  const auto in = loaded.memory.add(numbers(64)), out = loaded.memory.add(256);
  EXPECT_EQ(loaded.run("k", {}, in, out).fault.kind, FaultKind::misaligned_address);
}

TEST(Execution, ATrapIsAFault) {
  Loaded loaded(thread_kernel("setp.eq.u32 %p1, %r1, 3; @%p1 trap; mov.u32 %r3, 0;"));
  const auto in = loaded.memory.add(numbers(64)), out = loaded.memory.add(256);
  LaunchShape shape;
  shape.block.x = 64;
  const LaunchResult result = loaded.run("k", shape, in, out);
  EXPECT_EQ(result.fault.kind, FaultKind::trap);
  EXPECT_EQ(result.fault.thread.x, 3u);
}

TEST(Execution, AnEndlessLoopEndsWithItsBudget) {
  Loaded loaded(thread_kernel("L: bra L;\n mov.u32 %r3, 0;"));
  loaded.limits.instructions = 100000;
  const auto in = loaded.memory.add(numbers(64)), out = loaded.memory.add(256);
  EXPECT_EQ(loaded.run("k", {}, in, out).fault.kind, FaultKind::instruction_budget);
}

TEST(Execution, EndlessRecursionOverflowsTheStack) {
  Loaded loaded(thread_kernel("call f; mov.u32 %r3, 0;", ".func f() { call f; ret; }"));
  const auto in = loaded.memory.add(numbers(64)), out = loaded.memory.add(256);
  EXPECT_EQ(loaded.run("k", {}, in, out).fault.kind, FaultKind::stack_overflow);
}

TEST(Execution, AnUnknownInstructionIsRefusedWithItsLine) {
  Loaded loaded(thread_kernel("multimem.red.add.u32 [%rd1], %r1;\n mov.u32 %r3, 0;"));
  EXPECT_FALSE(loaded.program);
  EXPECT_NE(loaded.refused.find("multimem.red"), std::string::npos) << loaded.refused;
}

TEST(Execution, GenericAddressesReachSharedLocalAndParameterMemory) {
  const auto in = numbers(32);
  const auto out = computed(R"(
  .local .align 4 .b8 own[16];
  mov.u64 %rd4, own; cvta.local.u64 %rd5, %rd4; st.u32 [%rd5+4], %r2;
  mov.u64 %rd6, tile; cvta.shared.u64 %rd7, %rd6; mul.wide.u32 %rd8, %r1, 4; add.s64 %rd7, %rd7, %rd8;
  ld.local.u32 %r4, [%rd4+4]; st.u32 [%rd7], %r4; ld.u32 %r3, [%rd7];
  isspacep.shared %p1, %rd7; isspacep.local %p2, %rd5; isspacep.global %p3, %rd1;
  selp.u32 %r4, 1, 0, %p1; add.u32 %r3, %r3, %r4; selp.u32 %r4, 1, 0, %p2; add.u32 %r3, %r3, %r4;
  selp.u32 %r4, 1, 0, %p3; add.u32 %r3, %r3, %r4;
)",
                            in, ".shared .align 4 .b8 tile[128];");
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(out[i], in[i] + 3);
}

}  // namespace
}  // namespace cushim::ptx
