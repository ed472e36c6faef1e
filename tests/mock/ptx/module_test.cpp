// SPDX-License-Identifier: Apache-2.0
#include <cushim/ptx/module.hpp>

#include <string>

#include <gtest/gtest.h>

namespace cushim::ptx {
namespace {

constexpr char vector_addition[] = R"(.version 9.0
.target sm_90
.address_size 64

.visible .entry vadd(
	.param .u64 vadd_param_0,
	.param .u64 vadd_param_1,
	.param .u64 vadd_param_2,
	.param .u32 vadd_param_3
)
.maxntid 128, 1, 1
{
	.reg .pred 	%p<2>;
	.reg .f32 	%f<4>;
	.reg .b32 	%r<6>;
	.reg .b64 	%rd<11>;

	ld.param.u64 	%rd1, [vadd_param_0];
	ld.param.u64 	%rd2, [vadd_param_1];
	ld.param.u64 	%rd3, [vadd_param_2];
	ld.param.u32 	%r2, [vadd_param_3];
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mov.u32 	%r5, %tid.x;
	mad.lo.s32 	%r1, %r3, %r4, %r5;
	setp.ge.s32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB0_2;

	cvta.to.global.u64 	%rd4, %rd1;
	mul.wide.s32 	%rd5, %r1, 4;
	add.s64 	%rd6, %rd4, %rd5;
	cvta.to.global.u64 	%rd7, %rd2;
	add.s64 	%rd8, %rd7, %rd5;
	ld.global.f32 	%f1, [%rd8];
	ld.global.f32 	%f2, [%rd6+4];
	add.f32 	%f3, %f2, %f1;
	cvta.to.global.u64 	%rd9, %rd3;
	add.s64 	%rd10, %rd9, %rd5;
	st.global.f32 	[%rd10], %f3;

$L__BB0_2:
	ret;

}
)";

TEST(Module, AVectorAdditionIsParsed) {
  const ParseResult result = parse(vector_addition);
  ASSERT_TRUE(result.ok()) << result.log();
  const Module &module = result.module;
  EXPECT_EQ(module.version_major, 9u);
  EXPECT_EQ(module.target.sm, 90u);
  EXPECT_EQ(module.address_size, 64u);
  const Function *function = module.find_function("vadd");
  ASSERT_NE(function, nullptr);
  EXPECT_TRUE(function->is_entry);
  EXPECT_EQ(function->linkage, Linkage::visible);
  ASSERT_EQ(function->parameters.size(), 4u);
  EXPECT_EQ(function->parameters[3].offset, 24u);
  EXPECT_EQ(function->parameter_size, 28u);
  EXPECT_EQ(function->performance.maxntid, (Dimensions{128, 1, 1}));
  const Body &body = function->body;
  ASSERT_EQ(body.instructions.size(), 22u);
  const Instruction &branch = body.instructions[9];
  EXPECT_EQ(branch.opcode, Opcode::bra);
  ASSERT_NE(branch.guard, no_index);
  EXPECT_EQ(body.registers[branch.guard].name, "%p1");
  const Operand &target = body.operands[branch.first_operand];
  EXPECT_EQ(target.kind, OperandKind::label);
  EXPECT_EQ(target.index, 21u);
}

TEST(Module, RegistersAreNumberedInTheOrderOfTheirFirstUse) {
  const ParseResult result = parse(vector_addition);
  ASSERT_TRUE(result.ok()) << result.log();
  const Body &body = result.module.functions[0].body;
  ASSERT_EQ(body.registers.size(), 19u);
  EXPECT_EQ(body.registers[0].name, "%rd1");
  EXPECT_EQ(body.registers[0].type, Type::b64);
}

TEST(Module, AnAddressHasABaseAndAnOffset) {
  const ParseResult result = parse(vector_addition);
  ASSERT_TRUE(result.ok()) << result.log();
  const Body &body = result.module.functions[0].body;
  const Operand &parameter = body.operands[body.instructions[0].first_operand + 1];
  EXPECT_EQ(parameter.kind, OperandKind::address);
  EXPECT_EQ(parameter.base, Base::symbol);
  EXPECT_EQ(parameter.symbol_kind, SymbolKind::parameter);
  EXPECT_EQ(parameter.index, 0u);
  const Operand &element = body.operands[body.instructions[16].first_operand + 1];
  EXPECT_EQ(element.base, Base::reg);
  EXPECT_EQ(element.value, 4);
}

}  // namespace
}  // namespace cushim::ptx
