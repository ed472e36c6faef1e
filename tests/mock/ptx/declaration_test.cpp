// SPDX-License-Identifier: Apache-2.0
#include <cushim/ptx/module.hpp>

#include <string>

#include <gtest/gtest.h>

#include "source.hpp"

namespace cushim::ptx {
namespace {

using testing::entry_of;
using testing::module_of;

using Bytes = std::vector<std::uint8_t>;

TEST(Declaration, TheHeaderNamesVersionTargetAndAddressSize) {
  const ParseResult result =
      parse(".version 8.7\n.target sm_103f, texmode_independent, debug\n.address_size 32\n");
  ASSERT_TRUE(result.ok()) << result.log();
  EXPECT_EQ(result.module.version_major, 8u);
  EXPECT_EQ(result.module.version_minor, 7u);
  EXPECT_EQ(result.module.target.sm, 103u);
  EXPECT_EQ(result.module.target.suffix, 'f');
  EXPECT_FALSE(result.module.target.unified_textures);
  EXPECT_TRUE(result.module.target.debug);
  EXPECT_EQ(result.module.address_size, 32u);
}

TEST(Declaration, AVariableHasSpaceTypeLinkageAndLayout) {
  const ParseResult result =
      parse(module_of(".visible .global .attribute(.managed) .align 16 .v2 .f32 m[3][2];\n"
                      ".extern .shared .align 8 .b8 s[];\n.const .u8 c;\n"));
  ASSERT_TRUE(result.ok()) << result.log();
  const Variable &m = *result.module.find_variable("m");
  EXPECT_EQ(m.linkage, Linkage::visible);
  EXPECT_EQ(m.space, StateSpace::global);
  EXPECT_EQ(m.vector, 2);
  EXPECT_EQ(m.alignment, 16u);
  EXPECT_EQ(m.size, 48u);
  EXPECT_TRUE(m.managed);
  EXPECT_EQ(m.dimensions, (std::vector<std::uint64_t>{3, 2}));
  const Variable &s = *result.module.find_variable("s");
  EXPECT_EQ(s.linkage, Linkage::external);
  EXPECT_TRUE(s.unsized);
  EXPECT_EQ(s.size, 0u);
  EXPECT_EQ(result.module.find_variable("c")->alignment, 1u);
}

TEST(Declaration, AnInitializerIsBytes) {
  const ParseResult result =
      parse(module_of(".global .u16 a[4] = {1, 0x203};\n.global .f32 f = 0f3F800000;\n.global .f64 d = 1.5;\n"
                      ".global .b8 n[2][3] = {{1}, {2, 3, 4}};\n.global .s32 e = (1 << 4) | -1 + 2 * 3;\n"));
  ASSERT_TRUE(result.ok()) << result.log();
  EXPECT_EQ(result.module.find_variable("a")->initializer, (Bytes{1, 0, 3, 2}));
  EXPECT_EQ(result.module.find_variable("a")->size, 8u);
  EXPECT_EQ(result.module.find_variable("f")->initializer, (Bytes{0, 0, 0x80, 0x3f}));
  EXPECT_EQ(result.module.find_variable("d")->initializer, (Bytes{0, 0, 0, 0, 0, 0, 0xf8, 0x3f}));
  EXPECT_EQ(result.module.find_variable("n")->initializer, (Bytes{1, 0, 0, 2, 3, 4}));
  EXPECT_EQ(result.module.find_variable("e")->initializer, (Bytes{21, 0, 0, 0}));
}

TEST(Declaration, TheSizeOfAnUnsizedArrayComesFromItsInitializer) {
  const ParseResult result =
      parse(module_of(".global .u32 a[] = {1, 2, 3};\n.global .u8 b[][2] = {{1, 2}, {3}};\n"));
  ASSERT_TRUE(result.ok()) << result.log();
  EXPECT_EQ(result.module.find_variable("a")->size, 12u);
  EXPECT_EQ(result.module.find_variable("b")->dimensions, (std::vector<std::uint64_t>{2, 2}));
  EXPECT_EQ(result.module.find_variable("b")->size, 4u);
}

TEST(Declaration, AnAddressInAnInitializerIsARelocation) {
  const ParseResult result = parse(module_of(
      ".global .u32 x[4];\n.func f() { ret; }\n"
      ".global .u64 p[3] = {generic(x) + 8, x, f};\n.global .u8 b[2] = {0xff(x), 0xff00(generic(x))};\n"));
  ASSERT_TRUE(result.ok()) << result.log();
  const std::vector<Relocation> &p = result.module.find_variable("p")->relocations;
  ASSERT_EQ(p.size(), 3u);
  EXPECT_TRUE(p[0].generic);
  EXPECT_EQ(p[0].addend, 8);
  EXPECT_EQ(p[1].offset, 8u);
  EXPECT_FALSE(p[1].generic);
  EXPECT_EQ(p[2].symbol.kind, SymbolKind::function);
  const std::vector<Relocation> &b = result.module.find_variable("b")->relocations;
  ASSERT_EQ(b.size(), 2u);
  EXPECT_EQ(b[0].size, 1);
  EXPECT_EQ(b[1].shift, 8);
  EXPECT_TRUE(b[1].generic);
}

TEST(Declaration, AReferenceHasFields) {
  const ParseResult result = parse(
      module_of(".global .texref t;\n.global .samplerref s = {filter_mode = nearest, addr_mode_0 = 2};\n"));
  ASSERT_TRUE(result.ok()) << result.log();
  const std::vector<ReferenceField> &fields = result.module.find_variable("s")->fields;
  ASSERT_EQ(fields.size(), 2u);
  EXPECT_EQ(fields[0].text, "nearest");
  EXPECT_EQ(fields[1].value, 2);
}

TEST(Declaration, ParametersAreLaidOutOneAfterTheOther) {
  const ParseResult result = parse(module_of(
      ".entry k(.param .u8 a, .param .u64 .ptr .global .align 16 b, .param .align 4 .b8 c[6], .param .u16 d) "
      "{ ret; }\n"));
  ASSERT_TRUE(result.ok()) << result.log();
  const Function &k = result.module.functions[0];
  EXPECT_EQ(k.parameters[1].offset, 8u);
  EXPECT_TRUE(k.parameters[1].pointer);
  EXPECT_EQ(k.parameters[1].pointer_space, StateSpace::global);
  EXPECT_EQ(k.parameters[1].pointer_alignment, 16u);
  EXPECT_EQ(k.parameters[2].offset, 16u);
  EXPECT_EQ(k.parameters[3].offset, 22u);
  EXPECT_EQ(k.parameter_size, 24u);
  EXPECT_EQ(k.parameter_alignment, 8u);
}

TEST(Declaration, PerformanceDirectivesAreKept) {
  const ParseResult result =
      parse(module_of(".entry k()\n.maxntid 16, 8\n.minnctapersm 2\n.maxnreg 40\n.reqnctapercluster 2, 1, 1\n"
                      ".explicitcluster\n.pragma \"nounroll\";\n{ ret; }\n.func f() .noreturn { exit; }\n"));
  ASSERT_TRUE(result.ok()) << result.log();
  const Performance &k = result.module.functions[0].performance;
  EXPECT_EQ(k.maxntid, (Dimensions{16, 8, 1}));
  EXPECT_EQ(k.minnctapersm, 2u);
  EXPECT_EQ(k.maxnreg, 40u);
  EXPECT_EQ(k.reqnctapercluster, (Dimensions{2, 1, 1}));
  EXPECT_TRUE(k.explicitcluster);
  EXPECT_EQ(k.pragmas[0], "nounroll");
  EXPECT_FALSE(k.reqntid);
  EXPECT_TRUE(result.module.functions[1].performance.noreturn);
}

TEST(Declaration, ADeclarationAndItsDefinitionAreOneFunction) {
  const ParseResult result =
      parse(module_of(".func (.param .b32 r) f(.param .b32 a);\n.func (.param .b32 r) f(.param .b32 a) { "
                      "ret; }\n.alias g, f;\n"));
  ASSERT_TRUE(result.ok()) << result.log();
  ASSERT_EQ(result.module.functions.size(), 1u);
  EXPECT_TRUE(result.module.functions[0].has_body);
  ASSERT_EQ(result.module.aliases.size(), 1u);
  EXPECT_EQ(result.module.aliases[0].function, 0u);
}

TEST(Declaration, LocalsAreLaidOutBySpace) {
  const ParseResult result = parse(entry_of(
      ".local .b8 a[3]; .local .align 8 .b8 b[8]; .shared .u32 s; .param .b32 x; .shared .u64 t; ret;"));
  ASSERT_TRUE(result.ok()) << result.log();
  const Body &body = result.module.functions[0].body;
  ASSERT_EQ(body.locals.size(), 5u);
  EXPECT_EQ(body.locals[1].offset, 8u);
  EXPECT_EQ(body.local_size, 16u);
  EXPECT_EQ(body.local_alignment, 8u);
  EXPECT_EQ(body.locals[4].offset, 8u);
  EXPECT_EQ(body.shared_size, 16u);
}

TEST(Declaration, SourceLocationsBelongToTheInstructionsBehindThem) {
  const ParseResult result = parse(module_of(
      ".entry k() {\n.loc 1 7 3\nret;\n.loc 2 9 1, function_name $L__info0, inlined_at 1 8 5\nexit;\n}\n"
      ".file 1 \"a.cu\", 1700000000, 42\n.file 2 \"b.cuh\"\n.section .debug_str\n{\n$L__info0:\n.b8 95, "
      "90\n}\n"));
  ASSERT_TRUE(result.ok()) << result.log();
  ASSERT_EQ(result.module.files.size(), 2u);
  EXPECT_EQ(result.module.files[0].name, "a.cu");
  EXPECT_EQ(result.module.files[0].size, 42u);
  const Body &body = result.module.functions[0].body;
  EXPECT_EQ(body.locations[body.instructions[0].location].line, 7u);
  const SourceLocation &inlined = body.locations[body.instructions[1].location];
  EXPECT_EQ(inlined.file, 2u);
  EXPECT_EQ(inlined.inlined_line, 8u);
  EXPECT_EQ(inlined.inlined_function, "$L__info0");
}

}  // namespace
}  // namespace cushim::ptx
