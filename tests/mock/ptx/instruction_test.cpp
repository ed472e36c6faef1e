// SPDX-License-Identifier: Apache-2.0
#include <cushim/ptx/module.hpp>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "forms.hpp"
#include "source.hpp"

namespace cushim::ptx {
namespace {

using testing::entry_of;
using testing::module_of;

struct Parsed {
  ParseResult result;
  const Body &body() const { return result.module.functions.back().body; }
  const Instruction &instruction(std::size_t index = 0) const { return body().instructions.at(index); }
  const Mnemonic &mnemonic(std::size_t index = 0) const {
    return result.module.mnemonics.at(instruction(index).mnemonic);
  }
  const Operand &operand(std::size_t index, std::size_t of = 0) const {
    return body().operands.at(instruction(of).first_operand + index);
  }
  const Operand &element(const Operand &group, std::size_t index) const {
    return body().operands.at(group.index + index);
  }
};

Parsed parsed(const std::string &text) {
  Parsed made{parse(text)};
  EXPECT_TRUE(made.result.ok()) << made.result.log();
  return made;
}

TEST(Instruction, ModifiersKeepTheirOrderAndTypesAreListed) {
  const Parsed made = parsed(entry_of("cvt.rn.ftz.f16.f32 %h1, %f1;"));
  EXPECT_EQ(made.instruction().opcode, Opcode::cvt);
  EXPECT_EQ(made.mnemonic().modifiers,
            (std::vector{Modifier::rn, Modifier::ftz, Modifier::f16, Modifier::f32}));
  EXPECT_EQ(made.mnemonic().types, (std::vector{Type::f16, Type::f32}));
  EXPECT_TRUE(made.mnemonic().has(Modifier::ftz));
}

TEST(Instruction, ModifiersMayStandInAnyOrderButTypesMayNot) {
  parsed(entry_of("add.f32.rn.ftz %f1, %f2, %f3;\nld.u32.volatile.global %r1, [%d1];"));
  EXPECT_FALSE(parse(entry_of("cvt.s64.rn.f32 %f1, %d1;")).ok());
}

TEST(Instruction, ModifiersAreBroughtIntoTheOrderOfTheTable) {
  const Parsed made = parsed(entry_of("add.ftz.rn.f32 %f1, %f2, %f3;\nadd.rn.ftz.f32 %f1, %f2, %f3;"));
  EXPECT_EQ(made.mnemonic(0).text, "add.ftz.rn.f32");
  EXPECT_EQ(made.mnemonic(0).ordered, "add.rn.ftz.f32");
  EXPECT_EQ(made.mnemonic(1).ordered, "add.rn.ftz.f32");
}

TEST(Instruction, WhiteSpaceMayStandBeforeAModifier) {
  const Parsed made = parsed(entry_of("add .s32\n %r1, %r2, %r3;"));
  EXPECT_EQ(made.mnemonic().text, "add.s32");
}

TEST(Instruction, InstructionsOfOneSpellingShareItsMnemonic) {
  const Parsed made = parsed(entry_of("add.s32 %r1, %r2, %r3; add.s32 %r2, %r2, 1; add.u32 %r1, %r1, 1;"));
  EXPECT_EQ(made.instruction(0).mnemonic, made.instruction(1).mnemonic);
  EXPECT_NE(made.instruction(0).mnemonic, made.instruction(2).mnemonic);
}

TEST(Instruction, OperandsHaveTheirKinds) {
  const Parsed made =
      parsed(entry_of("mov.f32 %f1, 0f40000000; mov.f64 %g1, 0d4000000000000000; mov.f64 %g1, -1.5;\n"
                      "mov.u32 %r1, %ctaid.y; mov.u64 %d1, %clock64; mov.u64 %d1, k; mov.u32 %r1, -1;\n"
                      "mov.u32 %r1, WARP_SZ;"));
  EXPECT_EQ(made.operand(1).kind, OperandKind::f32);
  EXPECT_EQ(made.operand(1).value, 0x40000000);
  EXPECT_EQ(made.operand(1, 1).kind, OperandKind::f64);
  EXPECT_EQ(static_cast<std::uint64_t>(made.operand(1, 2).value), 0xbff8000000000000u);
  EXPECT_EQ(made.operand(1, 3).kind, OperandKind::special);
  EXPECT_EQ(made.operand(1, 3).index, static_cast<std::uint32_t>(SpecialRegister::ctaid));
  EXPECT_EQ(made.operand(1, 3).component, 1);
  EXPECT_EQ(made.operand(1, 5).kind, OperandKind::symbol);
  EXPECT_EQ(made.operand(1, 5).symbol_kind, SymbolKind::function);
  EXPECT_EQ(made.operand(1, 6).value, -1);
  EXPECT_EQ(made.operand(1, 7).value, 32);
}

TEST(Instruction, AddressesHaveBaseAndOffset) {
  const Parsed made = parsed(
      module_of(".global .u32 a[8];\n") + entry_of("").substr(module_of("").size(), 0) +
      ".entry k() { .reg .b32 %r<3>; .reg .b64 %d<3>;\n"
      "ld.u32 %r1, [%d1+-8]; ld.global.u32 %r1, [a+4]; ld.global.u32 %r1, a[3]; ld.local.u32 %r1, [16]; "
      "mov.u64 %d1, a[2]; }\n");
  EXPECT_EQ(made.operand(1).value, -8);
  EXPECT_EQ(made.operand(1, 1).base, Base::symbol);
  EXPECT_EQ(made.operand(1, 1).value, 4);
  EXPECT_EQ(made.operand(1, 2).kind, OperandKind::address);
  EXPECT_EQ(made.operand(1, 2).value, 12);
  EXPECT_EQ(made.operand(1, 3).base, Base::none);
  EXPECT_EQ(made.operand(1, 3).value, 16);
  EXPECT_EQ(made.operand(1, 4).kind, OperandKind::symbol);
  EXPECT_EQ(made.operand(1, 4).value, 8);
}

TEST(Instruction, VectorsPairsAndSinksAreGroups) {
  const Parsed made = parsed(entry_of(
      "mov.b64 {%r1, %r2}, %d1; setp.lt.and.s32 %p1|_, %r1, %r2, !%p2;\n"
      "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {%f5, %f6}]; shfl.sync.up.b32 _|%p1, %r1, 1, 0, -1;"));
  EXPECT_EQ(made.operand(0).kind, OperandKind::vector);
  EXPECT_EQ(made.operand(0).count, 2u);
  EXPECT_EQ(made.operand(0, 1).kind, OperandKind::pair);
  EXPECT_EQ(made.element(made.operand(0, 1), 1).kind, OperandKind::sink);
  EXPECT_TRUE(made.operand(3, 1).negated);
  const Operand &texture = made.operand(1, 2);
  EXPECT_EQ(texture.kind, OperandKind::bracket);
  EXPECT_EQ(made.element(texture, 0).kind, OperandKind::address);
  EXPECT_EQ(made.element(texture, 1).kind, OperandKind::vector);
}

TEST(Instruction, ACallHasFourOperands) {
  const Parsed made =
      parsed(module_of(".func (.param .b32 r) f(.param .b32 a) { ret; }\n.func g() { ret; }\n"
                       ".entry k() { .reg .b64 %d<2>; .reg .b32 %r<2>; .param .b32 x; .param .b32 y;\n"
                       "call.uni (x), f, (y); call g; P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
                       "call (x), %d1, (y), P; T: .calltargets f; call (x), %d1, (y), T; }\n"));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(made.instruction(i).operand_count, 4);
  EXPECT_EQ(made.operand(0).kind, OperandKind::list);
  EXPECT_EQ(made.operand(1).symbol_kind, SymbolKind::function);
  EXPECT_EQ(made.operand(2).count, 1u);
  EXPECT_EQ(made.operand(3).kind, OperandKind::sink);
  EXPECT_EQ(made.operand(0, 1).kind, OperandKind::sink);
  EXPECT_EQ(made.operand(1, 2).kind, OperandKind::reg);
  EXPECT_EQ(made.operand(3, 2).kind, OperandKind::prototype);
  EXPECT_EQ(made.operand(3, 3).kind, OperandKind::call_targets);
  EXPECT_EQ(made.body().call_targets[0].functions, (std::vector<std::uint32_t>{0}));
}

TEST(Instruction, LabelsAreScopedAndMayFollowTheirUse) {
  const Parsed made = parsed(entry_of("bra L; { bra L; L: ret; } { L: bra L; } L: exit; bra E; E:"));
  EXPECT_EQ(made.operand(0, 0).index, 4u);
  EXPECT_EQ(made.operand(0, 1).index, 2u);
  EXPECT_EQ(made.operand(0, 3).index, 3u);
  EXPECT_EQ(made.operand(0, 5).index, made.body().instructions.size());
}

TEST(Instruction, ABranchTableIsResolved) {
  const Parsed made = parsed(entry_of("T: .branchtargets A, B, A; brx.idx %r1, T; A: ret; B: exit;"));
  EXPECT_EQ(made.body().branch_targets[0].instructions, (std::vector<std::uint32_t>{1, 2, 1}));
  EXPECT_EQ(made.operand(1).kind, OperandKind::branch_targets);
}

TEST(Instruction, RegistersAreScoped) {
  const Parsed made =
      parsed(entry_of("mov.u32 %r1, 0; { .reg .b32 %r<3>; mov.u32 %r1, 1; } mov.u32 %r1, 2;\n"
                      "{ .reg .b32 x; mov.u32 x, 3; { .reg .b64 x; mov.u64 x, 4; } mov.u32 x, 5; }"));
  EXPECT_NE(made.operand(0, 0).index, made.operand(0, 1).index);
  EXPECT_EQ(made.operand(0, 0).index, made.operand(0, 2).index);
  EXPECT_EQ(made.operand(0, 3).index, made.operand(0, 5).index);
  EXPECT_NE(made.operand(0, 3).index, made.operand(0, 4).index);
}

TEST(Instruction, ARangeCostsNothingUntilItIsUsed) {
  const Parsed made = parsed(entry_of(".reg .b32 %x<4000000000>; mov.u32 %x3999999999, 1;"));
  EXPECT_EQ(made.body().registers.size(), 1u);
  EXPECT_FALSE(parse(entry_of(".reg .b32 %x<4>; mov.u32 %x4, 1;")).ok());
}

TEST(Instruction, VectorRegistersHaveComponents) {
  const Parsed made =
      parsed(entry_of(".reg .v4 .u32 q; mov.u32 %r1, q.z; mov.u32 q.w, %r1; ld.v4.u32 q, [%d1];"));
  const std::uint32_t q = made.operand(0, 2).index;
  EXPECT_EQ(made.operand(1).index, q + 3);
  EXPECT_EQ(made.operand(0, 1).index, q + 4);
}

TEST(Instruction, RegisterParametersAreRegisters) {
  const Parsed made = parsed(module_of(".func (.reg .u32 r) f(.reg .u32 a) { add.u32 r, a, 1; ret; }\n"));
  const Function &f = made.result.module.functions[0];
  EXPECT_EQ(f.result_registers, (std::vector<std::uint32_t>{made.operand(0).index}));
  EXPECT_EQ(f.parameter_registers, (std::vector<std::uint32_t>{made.operand(1).index}));
}

TEST(Instruction, AGuardIsARegisterAndMayBeNegated) {
  const Parsed made = parsed(entry_of("@!%p3 ret; @%p3 exit;"));
  EXPECT_TRUE(made.instruction(0).guard_negated);
  EXPECT_EQ(made.instruction(0).guard, made.instruction(1).guard);
  EXPECT_FALSE(made.instruction(1).guard_negated);
}

TEST(Instruction, VideoInstructionsHaveSelectors) {
  const Parsed made = parsed(
      entry_of("vadd.s32.u32.s32.sat %r1, %r2.b3, %r3.h1; vset4.u32.u32.lt %r1.b10, %r2.b7531, %r3, 0;"));
  EXPECT_EQ(made.operand(1).component, 'b');
  EXPECT_EQ(made.operand(1).count, 1u);
  EXPECT_EQ(made.operand(1).value, 3);
  EXPECT_EQ(made.operand(1, 1).count, 4u);
  EXPECT_EQ(made.operand(1, 1).value, 0x7531);
}

// Compares the instruction table with the forms that a GPU's driver accepted and rejected.

std::string width_of(const std::string &input) {
  if (input == "i16" || input == "f16" || input == "bf16") return "16";
  return input == "i64" || input == "f64" ? "64" : "32";
}

std::string recorded_kernel(const std::string &body, const std::string &inputs, const std::string &output) {
  std::string made = ".entry k" + std::to_string(std::hash<std::string>{}(body)) +
                     "(.param .u64 to) {\n.reg .pred %pa, %pb, %pc; .reg .u32 %a2, %i;\n";
  std::istringstream list(inputs);
  std::string one;
  for (char letter = 'a'; std::getline(list, one, ','); ++letter)
    made += ".reg .b" + width_of(one) + " %" + std::string(1, letter) + ";";
  const std::string bits = output.ends_with("x2") ? "32" : output.substr(output.find_first_of("0123456789"));
  return made + ".reg .b" + (bits == "8" ? "16" : bits) + " %d;\n" + body + "\n}\n";
}

std::vector<std::vector<std::string>> rows_of(const char *name) {
  std::ifstream file(std::string(CUSHIM_PTX_RECORDED) + "/" + name);
  EXPECT_TRUE(file) << name;
  std::vector<std::vector<std::string>> made;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    made.emplace_back();
    for (std::string field; std::getline(fields, field, '\t');) made.back().push_back(field);
  }
  return made;
}

TEST(Instruction, FormsThatAGpuExecutedAreAccepted) {
  const auto rows = rows_of("forms.tsv");
  EXPECT_GT(rows.size(), 2000u);
  for (const auto &row : rows) {
    const ParseResult result = parse(module_of(recorded_kernel(row.at(0), row.at(1), row.at(2)), "sm_90"));
    EXPECT_TRUE(result.ok()) << row[0] << "\n" << result.log();
  }
}

TEST(Instruction, FormsThatADriverRefusedAreRefused) {
  const auto rows = rows_of("refused.tsv");
  EXPECT_GT(rows.size(), 100u);
  for (const auto &row : rows) {
    const ParseResult result = parse(module_of(recorded_kernel(row.at(0), "i32", "b32"), "sm_90"));
    EXPECT_FALSE(result.ok()) << row[0];
    // The cause must be the modifiers or the target, unless the driver's was the operands: only some forms
    // have operands of the right types.
    const std::string cause = "Arguments mismatch";
    EXPECT_TRUE(row.at(1).find(cause) != std::string::npos || result.log().find(cause) == std::string::npos)
        << row[0] << "\n"
        << result.log();
  }
}

TEST(Instruction, TheTableIsWellFormed) { EXPECT_GT(forms().size(), 300u); }

}  // namespace
}  // namespace cushim::ptx
