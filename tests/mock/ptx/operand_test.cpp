// SPDX-License-Identifier: Apache-2.0
// Operands that are elements of arrays and vectors.
#include "execute.hpp"

namespace cushim::ptx {
namespace {

using testing::header;
using testing::Loaded;

// Runs the body in each of four threads, whose number is in %i, and returns the 64-bit words that they store
// to
// [%to].
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
TEST(Operand, IsTheAddressOfAnElement) {
  EXPECT_EQ(stored_by("mov.u64 %x, numbers[%i]; ld.global.u64 %x, [%x];",
                      ".global .u64 numbers[4] = {5, 6, 7, 8};"),
            (Words{5, 6, 7, 8}));
}
TEST(Operand, MovesAllElementsOfAVectorAtOnce) {
  EXPECT_EQ(stored_by("mov.b32 %a, 1; mov.b32 %b, 2; mov.v2.b32 {%a, %b}, {%b, %a}; mov.b64 %x, {%a, %b};"),
            (Words{0x100000002, 0x100000002, 0x100000002, 0x100000002}));
}
TEST(Operand, MovesAVectorOfFourWithConstants) {
  EXPECT_EQ(stored_by("mov.v4.b32 {%a, %b, %c, %d}, {9, 8, 7, 6}; add.u32 %a, %a, %c; add.u32 %b, %b, %d;\n"
                      "mov.b64 %x, {%a, %b};"),
            (Words{0xe00000010, 0xe00000010, 0xe00000010, 0xe00000010}));
}
TEST(Operand, MovesFourBytesToAndFromAWord) {
  EXPECT_EQ(stored_by(".reg .b8 %e<4>; mov.b32 %a, 0x04030201; mov.b32 {%e0, %e1, %e2, %e3}, %a;\n"
                      "mov.b32 %b, {%e3, %e2, %e1, %e0}; mov.b64 %x, {%a, %b};"),
            (Words{0x0102030404030201, 0x0102030404030201, 0x0102030404030201, 0x0102030404030201}));
}
TEST(Operand, MovesAVectorRegister) {
  EXPECT_EQ(stored_by("mov.v2.b32 %v, {3, 4}; mov.v2.b32 {%a, %b}, %v; mov.b64 %x, {%a, %b};"),
            (Words{0x400000003, 0x400000003, 0x400000003, 0x400000003}));
}
TEST(Operand, GuardsAllResultsOfAnInstructionThatOverwritesItsGuard) {
  EXPECT_EQ(stored_by(".reg .pred %p, %q; setp.eq.u32 %p, 0, 0; setp.eq.u32 %q, 0, 0; mov.b32 %a, 0;\n"
                      "mov.b32 %b, 0x3c003c00; @%p setp.eq.f16x2 %p|%q, %a, %b;\n"
                      "selp.b32 %a, 1, 0, %p; selp.b32 %b, 1, 0, %q; mov.b64 %x, {%a, %b};"),
            (Words{0, 0, 0, 0}));
}

}  // namespace
}  // namespace cushim::ptx
