// SPDX-License-Identifier: Apache-2.0
// Products and sums without a rounding mode, which ptxas 13.0 contracts to fused operations. Each case was
// compared with its machine code.
#include <bit>
#include <cmath>

#include "thread_kernel.hpp"

namespace cushim::ptx {
namespace {

using testing::computed;

// Returns the bits of %f5 after a body for %f1 = 1 + 2^-12, %f2 = -(1 + 2^-11) and %f3 = -%f2. The exact
// value of %f1 * %f1 + %f2 is 2^-24; a rounded product makes it 0.
std::uint32_t result_of(std::string_view body) {
  const std::string text =
      "mov.b32 %f1, %r2; add.u32 %r4, %r2, 0x80000800; mov.b32 %f2, %r4; neg.f32 %f3, %f2; setp.eq.u32 %p1, "
      "%r1, 9;\n" +
      std::string{body} + "\nmov.b32 %r3, %f5;";
  return computed(text, {0x3f800800})[0];
}
constexpr std::uint32_t kFused = 0x33800000, kMinusFused = 0xb3800000, kRounded = 0;

TEST(Contraction, AProductWithASumInItsBlockIsFused) {
  for (const std::string_view fused :
       {"mul.f32 %f4, %f1, %f1; add.f32 %f5, %f4, %f2;", "mul.f32 %f4, %f1, %f1; add.f32 %f5, %f2, %f4;",
        "mul.f32 %f4, %f1, %f1; sub.f32 %f5, %f4, %f3;",
        "mul.ftz.f32 %f4, %f1, %f1; add.ftz.f32 %f5, %f4, %f2;",
        "mul.f32 %f4, %f1, %f1; add.sat.f32 %f5, %f4, %f2;", "mul.f32 %f5, %f1, %f1; add.f32 %f5, %f5, %f2;",
        "mul.f32 %f4, %f1, %f1; bar.sync 0; @!%p1 add.f32 %f5, %f4, %f2;"})
    EXPECT_EQ(result_of(fused), kFused) << fused;
  EXPECT_EQ(result_of("mul.f32 %f4, %f1, %f1; sub.f32 %f5, %f3, %f4;"), kMinusFused);
}

TEST(Contraction, AProductWhoseFactorsAreWrittenBeforeTheSumIsFused) {
  EXPECT_EQ(result_of("mul.f32 %f4, %f1, %f1; mov.f32 %f1, %f3; add.f32 %f5, %f4, %f2;"), kFused);
  EXPECT_EQ(result_of("mul.f32 %f1, %f1, %f1; add.f32 %f5, %f1, %f2;"), kFused);
  EXPECT_EQ(
      result_of("mul.f32 %f5, %f1, %f1; mov.f32 %f1, %f2; sub.f32 %f6, %f5, %f3; add.f32 %f5, %f5, %f1;"),
      kFused);
}

TEST(Contraction, RoundingModesAndOtherModifiersPreventIt) {
  for (const std::string_view rounded : {"mul.rn.f32 %f4, %f1, %f1; add.f32 %f5, %f4, %f2;",
                                         "mul.f32 %f4, %f1, %f1; add.rn.f32 %f5, %f4, %f2;",
                                         "mul.ftz.f32 %f4, %f1, %f1; add.f32 %f5, %f4, %f2;",
                                         "mul.f32 %f4, %f1, %f1; add.ftz.f32 %f5, %f4, %f2;",
                                         "@!%p1 mul.f32 %f4, %f1, %f1; add.f32 %f5, %f4, %f2;"})
    EXPECT_EQ(result_of(rounded), kRounded) << rounded;
}

TEST(Contraction, OtherUsesOfTheProductPreventIt) {
  EXPECT_EQ(result_of("mul.f32 %f4, %f1, %f1; add.f32 %f5, %f4, %f2; fma.rn.f32 %f6, %f4, %f4, %f4;"),
            kRounded);
  EXPECT_EQ(result_of("mul.f32 %f4, %f1, %f1; add.f32 %f5, %f4, %f2; mov.b32 %r5, %f4; add.u32 %r5, %r5, 1;"),
            kRounded);
  EXPECT_EQ(result_of("mul.f32 %f4, %f1, %f1; add.f32 %f5, %f4, %f4; add.f32 %f5, %f4, %f2;"), kRounded);
  EXPECT_EQ(result_of("mul.f32 %f4, %f1, %f1; add.f32 %f6, %f4, %f3; sub.f32 %f5, %f4, %f3;"), kFused)
      << "two sums";
}

TEST(Contraction, BranchesAndLabelsBetweenPreventIt) {
  EXPECT_EQ(result_of("mul.f32 %f4, %f1, %f1; @%p1 bra L; add.f32 %f5, %f4, %f2; L:"), kRounded);
  EXPECT_EQ(result_of("mul.f32 %f4, %f1, %f1; add.f32 %f5, %f4, %f2; @%p1 bra L; add.f32 %f6, %f4, %f3; L:"),
            kRounded);
  EXPECT_EQ(result_of("mul.f32 %f4, %f1, %f1; @%p1 exit; add.f32 %f5, %f4, %f2;"), kRounded);
  EXPECT_EQ(result_of("mul.f32 %f4, %f1, %f1; L: add.f32 %f5, %f4, %f2;"), kFused)
      << "no branch to the label";
}

// Returns the bits of the sum with an instruction between the product and the sum.
std::uint32_t result_across(std::string_view instruction) {
  return result_of("mul.f32 %f4, %f1, %f1; " + std::string{instruction} + " add.f32 %f5, %f4, %f2;");
}

TEST(Contraction, InstructionsThatPtxasExpandsToBranchesPreventIt) {
  for (const std::string_view one :
       {"div.rn.f32 %f6, %f1, %f2;", "div.rn.ftz.f32 %f6, %f1, 0f40000000;", "rcp.rz.f32 %f6, %f1;",
        "sqrt.rn.f32 %f6, %f1;", "div.rn.f64 %fd3, %fd1, %fd2;", "rcp.rn.f64 %fd3, %fd1;",
        "sqrt.rn.f64 %fd3, %fd1;", "rsqrt.approx.f64 %fd3, %fd1;", "div.s32 %r5, %r2, 7;",
        "rem.s64 %rd4, %rd1, %rd2;", "div.u64 %rd4, %rd1, 10;", "div.u16 %h1, %h2, 10;",
        "bfind.u64 %r5, %rd1;", "membar.gl;", "fence.sc.cta;"})
    EXPECT_EQ(result_across(one), kRounded) << one;
  for (const std::string_view one :
       {"div.approx.f32 %f6, %f1, %f2;", "div.full.f32 %f6, %f1, %f2;", "rcp.approx.ftz.f64 %fd3, %fd1;",
        "rsqrt.approx.f32 %f6, %f1;", "div.u32 %r5, %r2, 7;", "rem.u32 %r5, %r2, %r1;", "bfind.u32 %r5, %r2;",
        "bar.sync 0;", "fence.proxy.async;", "ld.global.u32 %r5, [%rd1];",
        "shfl.sync.idx.b32 %r5, %r2, 0, 31, -1;"})
    EXPECT_EQ(result_across(one), kFused) << one;
}

TEST(Contraction, GuardedInstructionsThatPtxasBranchesAroundPreventIt) {
  for (const std::string_view one :
       {"@%p1 ld.global.u32 %r5, [%rd1];", "@%p1 st.global.u32 [%rd2], %r5;", "@!%p1 bar.warp.sync 1;",
        "@!%p1 shfl.sync.idx.b32 %r5, %r2, 0, 31, 1;", "@!%p1 activemask.b32 %r5;"})
    EXPECT_EQ(result_across(one), kRounded) << one;
  for (const std::string_view one : {"@%p1 mov.u32 %r5, %r2;", "@%p1 ex2.approx.f32 %f6, %f1;",
                                     "@%p1 div.u32 %r5, %r2, 7;", "@%p1 setp.eq.u32 %p2, %r2, 7;"})
    EXPECT_EQ(result_across(one), kFused) << one;
}

TEST(Contraction, OfTwoProductsTheOneWithOneUseIsFused) {
  // %f6 is %f2, exactly.
  constexpr std::string_view both =
      "mul.f32 %f4, %f1, %f1; mul.f32 %f6, %f2, 0f40000000; mul.f32 %f6, %f6, 0f3F000000;\n";
  EXPECT_EQ(result_of(std::string{both} + "add.f32 %f5, %f4, %f6;"), kFused) << "the first operand";
  EXPECT_EQ(result_of(std::string{both} + "add.f32 %f5, %f6, %f4;"), kRounded) << "the first operand";
  EXPECT_EQ(result_of(std::string{both} + "add.f32 %f5, %f6, %f4; add.f32 %f7, %f6, %f1;"), kFused);
  EXPECT_EQ(result_of(std::string{both} + "add.f32 %f5, %f4, %f6; add.f32 %f7, %f4, %f1;"), kRounded);
}

TEST(Contraction, ACopyOrNegationOfAProductIsTheProduct) {
  EXPECT_EQ(result_of("mul.f32 %f4, %f1, %f1; mov.f32 %f6, %f4; add.f32 %f5, %f6, %f2;"), kFused);
  EXPECT_EQ(result_of("mul.f32 %f4, %f1, %f1; mov.b32 %r5, %f4; mov.b32 %f6, %r5; add.f32 %f5, %f6, %f2;"),
            kFused);
  EXPECT_EQ(result_of("mul.f32 %f4, %f1, %f1; neg.f32 %f6, %f4; add.f32 %f5, %f6, %f3;"), kMinusFused);
  EXPECT_EQ(result_of("mul.f32 %f4, %f1, %f1; neg.f32 %f6, %f4; sub.f32 %f5, %f2, %f6;"), kFused);
  EXPECT_EQ(result_of("mul.f32 %f4, %f1, %f1; neg.f32 %f6, %f4; neg.f32 %f7, %f6; sub.f32 %f5, %f7, %f3;"),
            kFused);
  EXPECT_EQ(result_of("mul.f32 %f4, %f1, %f1; mul.f32 %f6, %f4, 0f3F800000; add.f32 %f5, %f6, %f2;"), kFused);
  EXPECT_EQ(result_of("mul.f32 %f4, %f1, %f1; mul.rn.f32 %f6, 0fBF800000, %f4; add.f32 %f5, %f6, %f3;"),
            kMinusFused);
  EXPECT_EQ(result_of("mov.f32 %f7, 0f3F800000; mul.f32 %f4, %f1, %f1; div.approx.f32 %f6, %f4, %f7; "
                      "add.f32 %f5, %f6, %f2;"),
            kFused);
  EXPECT_EQ(result_of("mul.ftz.f32 %f4, %f1, %f1; neg.f32 %f6, %f4; add.ftz.f32 %f5, %f6, %f3;"),
            kMinusFused);
  EXPECT_EQ(result_of("mul.f32 %f4, %f1, %f1; neg.ftz.f32 %f6, %f4; add.f32 %f5, %f6, %f3;"), kRounded)
      << "the negation flushes";
  EXPECT_EQ(result_of("mul.f32 %f4, %f1, %f1; abs.f32 %f6, %f4; add.f32 %f5, %f6, %f2;"), kRounded);
  EXPECT_EQ(result_of("mul.f32 %f4, %f1, %f1; neg.f32 %f6, %f4; fma.rn.f32 %f7, %f6, %f6, %f6; "
                      "add.f32 %f5, %f6, %f3;"),
            kRounded)
      << "another use of the negation";
}

TEST(Contraction, AProductWithOneIsNoProductOfASum) {
  EXPECT_EQ(result_of("mul.f32 %f6, %f2, 0f3F800000; mul.f32 %f4, %f1, %f1; add.f32 %f5, %f6, %f4;"), kFused);
  EXPECT_EQ(result_of("mul.f32 %f6, %f2, 0f40000000; mul.f32 %f4, %f1, %f1; add.f32 %f5, %f4, %f4; "
                      "add.f32 %f5, %f5, %f6;"),
            kRounded);
}

TEST(Contraction, AProductOfConstantsIsAConstant) {
  // (1 + 2^-12)^2, rounded to 1 + 2^-11
  EXPECT_EQ(result_of("mov.f32 %f6, 0f3F800800; mul.f32 %f4, %f6, %f6; add.f32 %f5, %f4, %f2;"), kRounded);
  EXPECT_EQ(result_of("mov.f32 %f6, 0f3F800800; mul.f32 %f4, %f6, %f1; add.f32 %f5, %f4, %f2;"), kFused);
}

// Returns the result for %f1 = a, %f2 = b and %f3 = c.
float quotient_of(float a, float b, float c, std::string_view body) {
  std::string text;
  for (const auto &[name, value] : {std::pair{"%f1", a}, {"%f2", b}, {"%f3", c}})
    text += "add.u32 %r4, %r2, " + std::to_string(std::bit_cast<std::uint32_t>(value)) + "; mov.b32 " +
            std::string{name} + ", %r4;\n";
  return std::bit_cast<float>(computed(text + std::string{body} + "\nmov.b32 %r3, %f5;", {0})[0]);
}

// ptxas multiplies by the reciprocal. That of a literal is rounded to nearest.
TEST(Contraction, ApproximateQuotientsAreProducts) {
  const float a = 1.2345678f, third = 1.0f / 3, c = -0.4f;
  EXPECT_EQ(quotient_of(a, 3, c, "div.approx.ftz.f32 %f5, %f1, 0f40400000;"), a * third);
  EXPECT_EQ(quotient_of(a, 3, c, "div.full.f32 %f4, %f1, 0f40400000; add.f32 %f5, %f4, %f3;"),
            std::fma(a, third, c));
  EXPECT_EQ(quotient_of(a, 3, c,
                        "mov.f32 %f7, 0f40400000; div.approx.ftz.f32 %f4, %f1, %f7; add.ftz.f32 %f5, "
                        "%f3, %f4; add.ftz.f32 %f6, %f4, %f4;"),
            a * third + c)
      << "another use";
  for (const std::string_view variant : {"div.approx", "div.approx.ftz", "div.full", "div.full.ftz"}) {
    const std::string divide = std::string{variant} + ".f32", ftz = variant.ends_with(".ftz") ? ".ftz" : "";
    for (const float b : {3.0f, 0.7f, -1234.5f}) {
      const float reciprocal = quotient_of(1, b, 0, divide + " %f5, %f1, %f2;");
      EXPECT_EQ(quotient_of(a, b, c, divide + " %f4, %f1, %f2; sub" + ftz + ".f32 %f5, %f4, %f3;"),
                std::fma(a, reciprocal, -c));
      EXPECT_EQ(quotient_of(a, b, c, divide + " %f4, %f1, %f2; sub" + ftz + ".f32 %f5, %f3, %f4;"),
                std::fma(-a, reciprocal, c));
      EXPECT_EQ(quotient_of(a, b, c,
                            divide + " %f4, %f1, %f2; mov.f32 %f1, %f2; add" + ftz + ".f32 %f5, %f3, %f4;"),
                std::fma(a, reciprocal, c))
          << "the dividend is written before the sum";
    }
  }
  // The divisor is scaled by 1/4, so that its reciprocal is not subnormal.
  EXPECT_EQ(quotient_of(0x1.8p126f, 1, 1, "div.full.f32 %f4, %f1, 0f7F000000; add.f32 %f5, %f4, %f3;"),
            1.75f);
  EXPECT_EQ(quotient_of(0x1.8p126f, 1, 1, "div.approx.f32 %f4, %f1, 0f7F000000; add.f32 %f5, %f4, %f3;"), 1);
}

// ptxas finds the reciprocals of reciprocals and of powers of 2.
TEST(Contraction, KnownReciprocalsAreNotComputed) {
  const float a = 1.2345678f, c = 0.3f;
  std::size_t inexact_reciprocals = 0, inexact_powers = 0;
  for (int i = 0; i < 40; ++i) {
    const float b = -1.01f - 0.0371f * static_cast<float>(i);
    const auto of = [&](std::string_view body) { return quotient_of(a, b, c, body); };
    inexact_reciprocals += of("rcp.approx.f32 %f4, %f2; rcp.approx.f32 %f5, %f4;") != b;
    EXPECT_EQ(of("rcp.approx.ftz.f32 %f4, %f2; rcp.approx.ftz.f32 %f5, %f4;"), b);
    EXPECT_EQ(of("rcp.approx.ftz.f32 %f4, %f2; div.approx.ftz.f32 %f5, %f1, %f4;"), a * b);
    EXPECT_EQ(of("rcp.approx.ftz.f32 %f4, %f2; div.approx.ftz.f32 %f6, %f1, %f4; add.ftz.f32 %f5, %f6, %f3;"),
              std::fma(a, b, c));
    const float power = of("neg.f32 %f4, %f2; ex2.approx.ftz.f32 %f5, %f4;");
    EXPECT_EQ(of("ex2.approx.ftz.f32 %f4, %f2; rcp.approx.ftz.f32 %f5, %f4;"), power);
    inexact_powers +=
        of("ex2.approx.ftz.f32 %f4, %f2; add.f32 %f6, %f4, %f4; rcp.approx.ftz.f32 %f5, %f4;") != power;
  }
  EXPECT_NE(inexact_reciprocals, 0u) << "without ftz";
  EXPECT_NE(inexact_powers, 0u) << "with another use of the power";
}

TEST(Contraction, NumbersOf16And64BitsAreFusedToo) {
  // (1 + 2^-6)^2 - (1 + 2^-5) is 2^-12; a product that is rounded to 10 bits makes it 0.
  EXPECT_EQ(
      computed("mov.b16 %h1, 0x3c10; mov.b16 %h2, 0xbc20; mul.f16 %h3, %h1, %h1; add.f16 %h4, %h3, %h2; "
               "cvt.u32.u16 %r3, %h4;",
               {0})[0],
      0x0c00u);
  EXPECT_EQ(computed("mov.b32 %r4, 0x3c103c10; mov.b32 %r5, 0x3c203c20; mul.f16x2 %r6, %r4, %r4; "
                     "sub.f16x2 %r3, %r5, %r6;",
                     {0})[0],
            0x8c008c00u);
  EXPECT_EQ(
      computed(
          "mov.f64 %fd1, 0d3FF0000002000000; mov.f64 %fd2, 0dBFF0000004000000; mul.f64 %fd3, %fd1, %fd1; "
          "add.f64 %fd4, %fd3, %fd2; cvt.rn.f32.f64 %f1, %fd4; mov.b32 %r3, %f1;",
          {0})[0],
      0x24800000u);
}

TEST(Contraction, ModulesForADebuggerHaveNone) {
  std::string text = testing::thread_kernel(
      "mov.b32 %f1, %r2; add.u32 %r4, %r2, 0x80000800; mov.b32 %f2, %r4; mul.f32 %f4, %f1, %f1; add.f32 %f5, "
      "%f4, %f2; "
      "mov.b32 %r3, %f5;");
  text.insert(text.find("sm_90a") + 6, ", debug");
  testing::Loaded loaded(text);
  const auto in = loaded.memory.add(std::vector<std::uint32_t>{0x3f800800}), out = loaded.memory.add(4);
  EXPECT_TRUE(loaded.run("k", {}, in, out));
  EXPECT_EQ(loaded.memory.get<std::uint32_t>(out, 1)[0], kRounded);
}

}  // namespace
}  // namespace cushim::ptx
