// SPDX-License-Identifier: Apache-2.0
#include <regex>

#include "thread_kernel.hpp"
#include "vector_add.hpp"

namespace cushim::ptx::testing {
namespace {

// Measured on an H200, driver 580.159.
TEST(Execution, AFusedMultiplyAddGivesZeroForTheNanOfElementsOutsideOfATensor) {
  const std::vector<std::uint32_t> nans{0x7ff70000, 0xfff70000, 0x7fff0000, 0xffee0000};
  for (const std::string_view type : {"f16x2", "bf16x2"})
    for (const std::string_view relu : {"", ".relu"}) {
      const auto instruction = [&](std::string_view operands) {
        return "mov.b32 %r4, 0x3c003f80; fma.rn.oob" + std::string(relu) + "." + std::string(type) +
               " %r3, " + std::string(operands) + "; and.b32 %r3, %r3, 0xffff0000;";
      };
      const std::vector<std::uint32_t> clamped{0, 0, 0x7fff0000, 0x7fff0000};
      EXPECT_EQ(computed(instruction("%r2, %r4, %r4"), nans), clamped) << type << relu;
      EXPECT_EQ(computed(instruction("%r4, %r2, %r4"), nans), clamped) << type << relu;
      EXPECT_EQ(computed(instruction("%r4, %r4, %r2"), nans), std::vector<std::uint32_t>(4, 0x7fff0000))
          << type << relu;
    }
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
  Loaded loaded(with_header(kVectorAdd));
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
  const Loaded loaded(with_header(R"(
.extern .func cudaGraphSetConditional (.param .b64 handle, .param .b32 value);
.visible .entry k(.param .u64 handle, .param .u32 value) { .reg .u64 h; .reg .u32 v;
  ld.param.u64 h, [handle]; ld.param.u32 v, [value];
  { .param .b64 p0; .param .b32 p1; st.param.b64 [p0], h; st.param.b32 [p1], v;
  call.uni cudaGraphSetConditional, (p0, p1); }
  ret; }
)"));
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

// Measured on an H200 (driver 580.159).
TEST(Execution, F32InstructionsOfTheFirstTargetsFlushSubnormals) {
  const auto results_on = [](const std::string &target) {
    return words_stored_by(".version 3.1\n.target " + target + R"(
.visible .entry k(.param .u64 out) {
  .reg .u64 p; .reg .f32 a, b, c;
  ld.param.u64 p, [out];
  mov.f32 a, 0f3F800001; mov.f32 b, 0fBF800002; mad.f32 c, a, a, b; st.global.f32 [p], c;
  mov.f32 a, 0f00000001; mov.f32 b, 0f00000000; mad.f32 c, a, 0f3F800000, b; st.global.f32 [p+4], c;
  mov.f32 a, 0f8C17C283; mov.f32 b, 0f322D0CAB; mul.f32 c, a, b; st.global.f32 [p+8], c;
  mov.f32 a, 0f323E1204; mov.f32 b, 0fF5E6E545; div.full.f32 c, a, b; st.global.f32 [p+12], c;
  mov.f32 a, 0f80000001; mov.f32 b, 0f262A26A6; min.f32 c, a, b; st.global.f32 [p+16], c;
  slct.f32.f32 c, a, b, a; st.global.f32 [p+20], c;
  cvt.f32.f32 c, a; st.global.f32 [p+24], c;
  mov.f32 a, 0fFFB72AFC; cvt.f32.f32 c, a; st.global.f32 [p+28], c;
  ret; }
)",
                           8);
  };
  EXPECT_EQ(results_on("sm_30"),
            (std::vector<std::uint32_t>{0x28800000, 1, 0x800cd2bf, 0x800034af, 0x80000001, 0x262a26a6,
                                        0x80000001, 0xffb72afc}));
  EXPECT_EQ(results_on("sm_13"),
            (std::vector<std::uint32_t>{0x28800000, 0, 0x80000000, 0x80000000, 0x80000000, 0x80000001,
                                        0x80000000, 0x7fffffff}));
}

// The negated NaN was measured on an H200 (driver 580.159); the other follows from the code of ptxas 13.0.
TEST(Execution, SelpKeepsTheBitsOfANanThatNegOrAbsHasComputed) {
  Loaded loaded(R"(.version 8.0
.target sm_90
.visible .entry k(.param .u64 out) {
  .reg .u64 p; .reg .f32 a, b, c; .reg .pred q;
  ld.param.u64 p, [out];
  ld.global.f32 a, [p]; setp.nan.f32 q, a, a;
  neg.f32 b, a; selp.f32 c, b, a, q; st.global.f32 [p], c;
  ld.global.f32 a, [p+4];
  abs.f32 b, a; selp.f32 c, b, 0f3F800000, q; st.global.f32 [p+4], c;
  ret; }
)");
  EXPECT_EQ(loaded.refused, "");
  const auto address = loaded.memory.add(std::vector<std::uint32_t>{0x7fffffff, 0xffc00001});
  EXPECT_TRUE(loaded.run("k", {}, address));
  EXPECT_EQ(loaded.memory.get<std::uint32_t>(address, 2),
            (std::vector<std::uint32_t>{0xffffffff, 0x7fc00001}));
}

// Measured on an H200 (driver 580.159), with nine masks of lanes, six patterns of addresses and all widths.
TEST(Execution, StoresOfSeveralLanesToOneAddressKeepTheFirstLaneOfTheLast128Bytes) {
  const auto kept = [](const std::string &store) {
    const auto words = words_stored_by(R"(.version 8.0
.target sm_90
.visible .entry k(.param .u64 out) {
  .shared .align 16 .b8 s[16]; .reg .u64 p; .reg .b32 a<5>;
  ld.param.u64 p, [out];
  mov.u32 a1, %laneid; add.u32 a2, a1, 100; add.u32 a3, a1, 200; add.u32 a4, a1, 300;
  st.shared)" + store +
                                           R"(;
  bar.sync 0;
  ld.shared.b32 a4, [s];
  st.global)" + std::regex_replace(store, std::regex("\\[s\\]"), "[p]") +
                                           R"(;
  bar.sync 0;
  st.global.b32 [p+16], a4;
  ret; }
)",
                                       8, 32);
    EXPECT_EQ(words[0], words[4]) << store;  // in global and in shared memory
    return words[0];
  };
  EXPECT_EQ(kept(".b32 [s], a1"), 0U);
  EXPECT_EQ(kept(".v2.b32 [s], {a1, a2}"), 16U);
  EXPECT_EQ(kept(".v4.b32 [s], {a1, a2, a3, a4}"), 24U);
}

// Version 1.4 measured on an H200 (driver 580.159), version 1.5 by the code of ptxas 13.0.
TEST(Execution, ConversionsOfTheFirstTargetsTo64BitsFlushSubnormalsSincePtx15) {
  const auto result_of = [](const std::string &version) {
    return words_stored_by(".version " + version + R"(
.target sm_12, map_f64_to_f32
.entry k(.param .u64 out) {
  .reg .u64 p; .reg .f32 a; .reg .f64 d; .reg .u32 n;
  ld.param.u64 p, [out];
  mov.f32 a, 0f807FFFFF; cvt.f64.f32 d, a; cvt.rn.f32.f64 a, d; st.global.f32 [p], a;
  mov.f32 a, 0f00000001; cvt.rpi.u32.f32 n, a; st.global.u32 [p+4], n;
  ret; }
)",
                           2);
  };
  EXPECT_EQ(result_of("1.4"), (std::vector<std::uint32_t>{0x807fffff, 0}));
  EXPECT_EQ(result_of("1.5"), (std::vector<std::uint32_t>{0x80000000, 0}));
}

// ptxas 13.0 puts the operand that is defined first in front, and an H200 (driver 580.159) returns the second
// of two NaNs, else the third.
TEST(Execution, TheNanOfAnF64IsThatOfTheOperandDefinedLast) {
  const auto nan_of = [](const std::string &body) {
    return computed(
        "mov.b64 %rd4, 0x7ff8000000000001; mov.b64 %rd5, 0x7ff8000000000002; mov.b64 %rd6, "
        "0x7ff8000000000003; cvt.u64.u32 %rd7, %r1; or.b64 %rd4, %rd4, %rd7; mov.b64 %fd1, %rd4; "
        "or.b64 %rd5, %rd5, %rd7; mov.b64 %fd2, %rd5; or.b64 %rd6, %rd6, %rd7; mov.b64 %fd3, %rd6; "
        "mov.f64 %fd5, 0d3FF0000000000000;" +
            body + " mov.b64 %rd7, %fd4; cvt.u32.u64 %r3, %rd7;",
        {0})[0];
  };
  for (const char *const operation :
       {"add.rn.f64", "mul.rn.f64", "sub.rn.f64", "add.f64", "mul.rz.f64", "sub.rp.f64"}) {
    const std::string one = operation;
    EXPECT_EQ(nan_of(one + " %fd4, %fd1, %fd2;"), 2u) << one;
    EXPECT_EQ(nan_of(one + " %fd4, %fd2, %fd1;"), 2u) << one;
    EXPECT_EQ(nan_of("mov.f64 %fd6, %fd1; " + one + " %fd4, %fd6, %fd2;"), 2u) << one;
    EXPECT_EQ(nan_of("add.f64 %fd6, %fd1, %fd1; " + one + " %fd4, %fd6, %fd2;"), 1u) << one;
  }
  EXPECT_EQ(nan_of("fma.rn.f64 %fd4, %fd1, %fd2, %fd3;"), 2u);
  EXPECT_EQ(nan_of("fma.rn.f64 %fd4, %fd2, %fd1, %fd3;"), 2u);
  EXPECT_EQ(nan_of("fma.rn.f64 %fd4, %fd5, %fd2, %fd3;"), 3u);
  EXPECT_EQ(nan_of("mul.f64 %fd6, %fd2, %fd1; add.f64 %fd4, %fd6, %fd3;"), 2u) << "contracted";
  EXPECT_EQ(nan_of("setp.ne.u32 %p1, %r1, 0; @%p1 mov.f64 %fd1, %fd3; mul.f64 %fd4, %fd1, %fd2;"), 1u)
      << "merged";
  EXPECT_EQ(nan_of("setp.ne.u32 %p1, %r1, 0; @!%p1 bra M; mov.f64 %fd1, %fd3; M: mul.f64 %fd4, %fd1, %fd2;"),
            1u)
      << "merged";
}

// Measured on an H200, driver 580.159.
TEST(Execution, TheAddressOfAConstantIsInConstantAndNotInGlobalMemory) {
  const auto out = computed(R"(
  mov.u64 %rd4, fixed; cvta.const.u64 %rd5, %rd4; add.s64 %rd5, %rd5, 124;
  isspacep.const %p1, %rd5; isspacep.global %p2, %rd5; isspacep.const %p3, %rd1; isspacep.global %p4, %rd1;
  selp.u32 %r3, 1, 0, %p1; selp.u32 %r4, 2, 0, %p2; or.b32 %r3, %r3, %r4;
  selp.u32 %r4, 4, 0, %p3; or.b32 %r3, %r3, %r4; selp.u32 %r4, 8, 0, %p4; or.b32 %r3, %r3, %r4;
)",
                            numbers(1), ".const .align 4 .b8 fixed[128];");
  EXPECT_EQ(out[0], 9u);
}

}  // namespace
}  // namespace cushim::ptx::testing
