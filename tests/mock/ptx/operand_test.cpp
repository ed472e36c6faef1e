// SPDX-License-Identifier: Apache-2.0
// Operands that are elements of arrays and vectors.
#include "execute.hpp"

namespace cushim::ptx {
namespace {

using testing::header;
using testing::Loaded;

// Runs the body in each of four threads, whose number is in %i, and returns the 64-bit words that they store
// to [%to].
std::vector<std::uint64_t> stored_by(std::string_view body, std::string_view before = {}) {
  Loaded loaded(std::string{header} + std::string{before} + R"(
.visible .entry k(.param .u64 out) {
  .reg .b64 %to, %x; .reg .u32 %i; .reg .s32 %s; .reg .b32 %a, %b, %c, %d; .reg .s64 %l;
  .reg .v2 .b32 %v; .local .align 4 .b32 here[4]; .shared .b32 there[8];
  ld.param.u64 %to, [out];
  mov.u32 %i, %tid.x;
  mad.wide.u32 %to, %i, 8, %to;
)" + std::string{body} +
                "\n  st.global.u64 [%to], %x;\n  ret;\n}\n");
  const auto to = loaded.memory.add(4 * sizeof(std::uint64_t));
  LaunchShape shape;
  shape.block.x = 4;
  const LaunchResult result = loaded.run("k", shape, to);
  EXPECT_TRUE(result) << name(result.fault.kind) << " line " << result.fault.line << result.fault.message;
  return loaded.memory.get<std::uint64_t>(to, 4);
}

using Words = std::vector<std::uint64_t>;

TEST(Operand, IsAnElementOfAGlobalArrayThatARegisterCounts) {
  EXPECT_EQ(stored_by("ld.global.u64 %x, numbers[%i];", ".global .u64 numbers[4] = {5, 6, 7, 8};"),
            (Words{5, 6, 7, 8}));
}
TEST(Operand, IsAnElementAfterTheOneThatARegisterCounts) {
  EXPECT_EQ(stored_by("ld.global.u64 %x, numbers[%i+1];", ".global .u64 numbers[5] = {5, 6, 7, 8, 9};"),
            (Words{6, 7, 8, 9}));
}
TEST(Operand, CountsFromASignedRegisterBackwards) {
  EXPECT_EQ(stored_by("neg.s32 %s, %i; ld.global.u64 %x, numbers[%s+3];",
                      ".global .u64 numbers[4] = {5, 6, 7, 8};"),
            (Words{8, 7, 6, 5}));
}
TEST(Operand, IsAnElementOfLocalAndSharedArrays) {
  EXPECT_EQ(stored_by("st.local.b32 here[%i], %i; st.shared.b32 there[%i], 7; ld.local.b32 %a, here[%i];\n"
                      "cvt.u64.u32 %l, %i; ld.shared.b32 %b, there[%l]; mov.b64 %x, {%a, %b};"),
            (Words{0x700000000, 0x700000001, 0x700000002, 0x700000003}));
}
TEST(Operand, IsAnElementOfAnArrayInLoadsAndStoresOnly) {
  for (const std::string_view refused :
       {"atom.shared.add.u32 %a, there[%i], %b;", "atom.shared.add.u32 %a, there[4], %b;",
        "red.shared.add.u32 there[%i], %b;", "red.shared.add.u32 there[4], %b;",
        "prefetch.local.L1 here[%i];", "prefetch.local.L1 here[1];",
        "mbarrier.init.shared.b64 there[%i], 1;"}) {
    const std::string text = std::string{header} +
                             ".entry k() { .reg .u32 %i, %a, %b; .local .b32 here[4]; "
                             ".shared .align 8 .b32 there[8];\n" +
                             std::string{refused} + " ret; }";
    const ParseResult result = parse(text);
    EXPECT_NE(result.log().find("error   : Arguments mismatch for instruction '"), std::string::npos)
        << refused << result.log();
  }
}
TEST(Operand, IsTheAddressOfAnElement) {
  EXPECT_EQ(stored_by("mov.u64 %x, numbers[%i]; ld.global.u64 %x, [%x];",
                      ".global .u64 numbers[4] = {5, 6, 7, 8};"),
            (Words{5, 6, 7, 8}));
}
TEST(Operand, MovesAllElementsOfAVectorAtOnce) {
  EXPECT_EQ(stored_by("mov.b32 %a, 1; mov.b32 %b, 2; mov.v2.b32 {%a, %b}, {%b, %a}; mov.b64 %x, {%a, %b};"),
            Words(4, 0x100000002));
}
TEST(Operand, MovesAVectorOfFourWithConstants) {
  EXPECT_EQ(stored_by("mov.v4.b32 {%a, %b, %c, %d}, {9, 8, 7, 6}; add.u32 %a, %a, %c; add.u32 %b, %b, %d;\n"
                      "mov.b64 %x, {%a, %b};"),
            Words(4, 0xe00000010));
}
TEST(Operand, MovesFourBytesToAndFromAWord) {
  EXPECT_EQ(stored_by(".reg .b8 %e<4>; mov.b32 %a, 0x04030201; mov.b32 {%e0, %e1, %e2, %e3}, %a;\n"
                      "mov.b32 %b, {%e3, %e2, %e1, %e0}; mov.b64 %x, {%a, %b};"),
            Words(4, 0x0102030404030201));
}
TEST(Operand, MovesAVectorRegister) {
  EXPECT_EQ(stored_by("mov.v2.b32 %v, {3, 4}; mov.v2.b32 {%a, %b}, %v; mov.b64 %x, {%a, %b};"),
            Words(4, 0x400000003));
}
// As an H200 does: ptxas guards only the comparison.
TEST(Operand, OfAGuardedSetIsConvertedWhereTheGuardIsFalse) {
  const std::string before = ".reg .pred %p; .reg .b16 %h, %e; setp.ne.u32 %p, %i, %i; cvt.u16.u32 %h, %i;\n";
  const Words f32(4, 0x4e810000), s32(4, 0x5555), bf16(4, 0x46e0), f16(4, 0x77c0), kept(4, 0x55d55555);
  EXPECT_EQ(stored_by(before + "mov.b32 %a, 0xbf7fffff; @%p set.ne.f32.s32 %a, %i, 0; cvt.u64.u32 %x, %a;"),
            f32);
  EXPECT_EQ(stored_by(before + "mov.b32 %a, 0x55d55555; @%p set.hi.s32.u16 %a, %h, 0; cvt.u64.u32 %x, %a;"),
            s32);
  EXPECT_EQ(stored_by(before + "mov.b16 %e, 0x6ff8; @%p set.ne.bf16.f16 %e, %h, %h; cvt.u64.u16 %x, %e;"),
            bf16);
  EXPECT_EQ(stored_by(before + "mov.b16 %e, 0x7bff; @%p set.gt.f16.f32 %e, %a, %a; cvt.u64.u16 %x, %e;"),
            f16);
  EXPECT_EQ(stored_by(before + "mov.b32 %a, 0x55d55555; @%p set.hi.u32.u32 %a, %i, 0; cvt.u64.u32 %x, %a;"),
            kept);
  EXPECT_EQ(stored_by(before + "mov.b32 %a, 0xbf7fffff; @!%p set.eq.f32.s32 %a, 1, 1; cvt.u64.u32 %x, %a;"),
            Words(4, 0x3f800000));
}
// As an H200 does: ptxas drops the guard of these two instructions.
TEST(Operand, OfAGuardedSumOfBytesIsWrittenByAllThreads) {
  const std::string before =
      ".reg .pred %p; setp.ne.u32 %p, %i, %i; mov.b32 %a, 0x04030201; mov.b32 %b, 7;\n";
  const std::string after = "%d, %a, %a, %b; cvt.u64.u32 %x, %d;";
  EXPECT_EQ(stored_by(before + "mov.b32 %d, 1; @%p vadd4.u32.u32.u32.add " + after), Words(4, 27));
  EXPECT_EQ(stored_by(before + "mov.b32 %d, 1; @%p vsub4.u32.u32.u32.add " + after), Words(4, 7));
  EXPECT_EQ(stored_by(before + "mov.b32 %d, 1; @%p vadd4.s32.u32.u32.add " + after), Words(4, 1));
}
TEST(Operand, GuardsAllResultsOfAnInstructionThatOverwritesItsGuard) {
  EXPECT_EQ(stored_by(".reg .pred %p, %q; setp.eq.u32 %p, 0, 0; setp.eq.u32 %q, 0, 0; mov.b32 %a, 0;\n"
                      "mov.b32 %b, 0x3c003c00; @%p setp.eq.f16x2 %p|%q, %a, %b;\n"
                      "selp.b32 %a, 1, 0, %p; selp.b32 %b, 1, 0, %q; mov.b64 %x, {%a, %b};"),
            (Words{0, 0, 0, 0}));
}

// As an H200 does, for which ptxas computes them.
TEST(Operand, OfAnApproximationIsAConstantThatPtxasRounds) {
  const auto of = [](const std::string &name, const std::string &a, const std::string &b = "") {
    const std::string second = b.empty() ? "" : ", " + b;
    return stored_by(name + ".f32 %d, " + a + second + "; mov.b64 %x, {%d, 0};").at(0);
  };
  EXPECT_EQ(of("sin.approx", "0fbd543850"), 0xbd542002);
  EXPECT_EQ(of("sin.approx", "0f6fbba829"), 0x3f4f69d9);
  EXPECT_EQ(of("cos.approx", "0f412d6f99"), 0xbe1eec74);
  EXPECT_EQ(of("lg2.approx", "0f374e0abd"), 0xc1828172);
  EXPECT_EQ(of("lg2.approx.ftz", "0f7f7fffff"), 0x43000000);
  EXPECT_EQ(of("ex2.approx.ftz", "0fbf000000"), 0x3f3504f3);
  EXPECT_EQ(of("rcp.approx.ftz", "0f44b3205d"), 0x3a36eea8);
  EXPECT_EQ(of("div.approx.ftz", "0fbf000000", "0f48531bb4"), 0xb61b380e);
}
TEST(Operand, OfAnApproximationIsAConstantInARegisterThatIsWrittenOnce) {
  const std::string sine = "sin.approx.f32 %d, %a; mov.b64 %x, {%d, 0};";
  EXPECT_EQ(stored_by("mov.b32 %a, 0x6fbba829; " + sine), Words(4, 0x3f4f69d9));
  EXPECT_EQ(stored_by("mov.b32 %a, 0x6fbba829; add.u32 %a, %a, %i; sub.u32 %a, %a, %i; " + sine),
            Words(4, 0));
}
// As an H200 does for a power of a constant with -use_fast_math: ptxas computes the whole chain.
TEST(Operand, OfAnApproximationIsAResultOfConstants) {
  const std::string power =
      "mov.b32 %a, 0x3f666666; lg2.approx.ftz.f32 %b, %a; mul.ftz.f32 %b2, %b, 0f40400000; ";
  EXPECT_EQ(stored_by("{.reg .f32 %b, %b2; " + power + "ex2.approx.ftz.f32 %d, %b2; mov.b64 %x, {%d, 0};}"),
            Words(4, 0x3f3a9fbe));
  EXPECT_EQ(stored_by("{.reg .f32 %b, %b2, %e; " + power +
                      "ex2.approx.ftz.f32 %e, %b2; sub.ftz.f32 %d, 0f3F800000, %e; mov.b64 %x, {%d, 0};}"),
            Words(4, 0x3e8ac084));
}
}  // namespace
}  // namespace cushim::ptx
