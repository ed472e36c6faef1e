// SPDX-License-Identifier: Apache-2.0
#include <cushim/ptx/module.hpp>

#include <string>

#include <gtest/gtest.h>

#include "source.hpp"

namespace cushim::ptx {
namespace {

using testing::entry_of;
using testing::module_of;

// Returns "line:column message" of each diagnostic.
std::string errors(const std::string &text, const ParseOptions &options = {}) {
  std::string made;
  for (const Diagnostic &one : parse(text, options).diagnostics)
    made += std::to_string(one.position.line) + ":" + std::to_string(one.position.column) + " " +
            one.message + "\n";
  return made;
}

std::string in_entry(std::string_view body) { return errors(entry_of(body)); }
std::string in_module(std::string_view text) { return errors(module_of(text)); }

// Expects that in_entry() or in_module() returns the second text of each pair for the first one.
void expect(std::string (*errors_in)(std::string_view),
            std::initializer_list<std::pair<std::string_view, std::string_view>> sources) {
  for (const auto &[source, wanted] : sources) EXPECT_EQ(errors_in(source), wanted) << source;
}

TEST(Errors, ADiagnosticReadsAsPtxasWritesIt) {
  const ParseResult result = parse(entry_of("mov.u32 %r1, foo;"));
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.log(), "ptxas application ptx input, line 6; error   : Unknown symbol 'foo'\n");
  const ParseResult fatal = parse(entry_of("add.s32 %r1 %r2;"));
  EXPECT_EQ(fatal.log(),
            "ptxas application ptx input, line 6; fatal   : Parsing error near '%r2': syntax error\n");
}

// Measured with ptxas 13.0 and driver 580.
TEST(Errors, OnlyLocalMemoryHasImmediateAddresses) {
  const std::string error = "6:1 Immediate addresses allowed only for .local state space\n";
  for (const char *const space : {"", ".global", ".shared", ".const", ".param", ".volatile.global"})
    EXPECT_EQ(in_entry("ld" + std::string{space} + ".u32 %r1, [64];"), error) << space;
  EXPECT_EQ(in_entry("st.shared.u32 [64], %r1;"), error);
  EXPECT_EQ(in_entry("red.global.add.u32 [64], %r1;"), error);
  EXPECT_EQ(in_entry("ld.local.u32 %r1, [64]; st.local.u32 [64], %r1; prefetch.local.L1 [64];"), "");
}

// Measured with ptxas 13.0.
TEST(Errors, FormsThatPtxHasRemovedDependOnVersionAndTarget) {
  const auto of = [](const std::string &version, const std::string &target, const std::string &body) {
    return errors(".version " + version + "\n.target " + target +
                  "\n.entry k() {\n.reg .b32 %r<3>; .reg .f32 %f<3>; .reg .pred %p<3>;\n" + body + "\n}\n");
  };
  const std::string mad = "mad.f32 %f1, %f1, %f2, %f1;", rounded = "mad.rn.f32 %f1, %f1, %f2, %f1;";
  EXPECT_EQ(of("3.1", "sm_30", mad + " mad.ftz.sat.f32 %f1, %f1, %f2, %f1;"), "");
  EXPECT_EQ(of("4.3", "sm_13", mad), "");
  EXPECT_EQ(of("3.2", "sm_20", mad), "5:1 Rounding modifier required for instruction 'mad'\n");
  EXPECT_EQ(of("3.2", "sm_20", rounded), "");
  EXPECT_NE(of("4.3", "sm_13", rounded), "");
  const std::string shuffle = "shfl.bfly.b32 %r1, %r1, 1, 31;";
  EXPECT_EQ(of("6.4", "sm_60", shuffle), "");
  EXPECT_EQ(of("6.3", "sm_70", shuffle + " vote.all.pred %p1, %p2;"), "");
  EXPECT_EQ(
      of("6.4", "sm_70", shuffle),
      "5:1 Instruction 'shfl' without '.sync' is not supported on .target sm_70 and higher from PTX ISA "
      "version 6.4\n");
  EXPECT_EQ(
      of("6.4", "sm_70", "vote.ballot.b32 %r1, %p1;"),
      "5:1 Instruction 'vote' without '.sync' is not supported on .target sm_70 and higher from PTX ISA "
      "version 6.4\n");
}

TEST(Errors, SyntaxErrorsNameTheToken) {
  expect(in_entry, {
                       {"add.s32 %r1, $;", "6:14 Parsing error near '$': syntax error\n"},
                       {"ret }", "6:5 Parsing error near '}': syntax error\n"},
                   });
  expect(in_module,
         {
             {".globl .u32 a;", "4:1 Parsing error near '.globl': syntax error\n"},
             {".entry k() { ret;\n", "5:1 Parsing error near '': syntax error\n"},
             {".entry k() { /* ret;", "4:14 Parsing error near '': unexpected EOF while scanning\n"},
         });
}

TEST(Errors, AModuleBeginsWithVersionAndTarget) {
  EXPECT_EQ(errors(""), "1:1 Missing .version directive at start of file ''\n");
  EXPECT_EQ(errors(".version 9.0\n.entry k() {}"), "2:1 Missing .target directive at start of file ''\n");
  EXPECT_EQ(errors(".version 99.0\n.target sm_90\n"),
            "1:10 Unsupported .version 99.0; current version is '9.0'\n");
  EXPECT_EQ(errors(".version 9.0\n.target foo\n"), "2:9 Unknown .target argument: 'foo'\n");
}

TEST(Errors, UnknownWordsAreNamed) {
  expect(in_entry, {
                       {"foo.s32 %r1, %r2;", "6:1 Not a name of any known instruction: 'foo'\n"},
                       {"add.foo.s32 %r1, %r2, %r3;", "6:1 Unknown modifier '.foo'\n"},
                       {"mov.u32 %r1, %tid.q;", "6:18 Unknown vector selector: 'q'\n"},
                       {"bra L1;", "6:5 Unknown symbol 'L1'\n"},
                   });
}

TEST(Errors, ModifiersAndTypesAreChecked) {
  expect(in_entry,
         {
             {"add.approx.s32 %r1, %r2, %r3;", "6:1 Illegal modifier '.approx' for instruction 'add'\n"},
             {"add.s32.s32 %r1, %r1, %r1;", "6:1 Unexpected instruction types specified for 'add'\n"},
             {"add %r1, %r1, %r1;", "6:1 Unexpected instruction types specified for 'add'\n"},
             {"setp.lo.f32 %p1, %f1, %f2;", "6:1 Unexpected instruction types specified for 'setp'\n"},
         });
}

TEST(Errors, OperandsAreChecked) {
  const std::string mismatch = "6:1 Arguments mismatch for instruction 'add'\n";
  for (const std::string_view sum :
       {"add.s32 %r1, %r2;", "add.s32 %r1, %r2, %f1;", "add.s32 %r1, %r2, %d1;", "add.s32 %r1, %r2, 1.5;",
        "add.f32 %f1, %f2, 1;", "add.s32 5, %r2, %r1;"})
    EXPECT_EQ(in_entry(sum), mismatch) << sum;
  EXPECT_EQ(in_entry("st.global.u32 5, [%d1];"), "6:1 Arguments mismatch for instruction 'st'\n");
  EXPECT_EQ(in_entry("ld.global.v2.u32 {%r1, %r2, %r3}, [%d1];"),
            "6:1 Arguments mismatch for instruction 'ld'\n");
  EXPECT_EQ(in_entry("@%r1 ret;"), "6:2 Predicate expression expected\n");
}

TEST(Errors, InstructionsNeedTheirVersionAndTarget) {
  EXPECT_EQ(errors(entry_of("tcgen05.wait::ld.sync.aligned;", "sm_90")),
            "6:1 Feature 'tcgen05.wait::ld.sync.aligned' requires .target sm_100a or higher\n");
  EXPECT_EQ(errors(".version 6.0\n.target sm_90\n.address_size 64\n.entry k() {\ngriddepcontrol.wait;\n}\n"),
            "5:1 Feature 'griddepcontrol.wait' requires PTX ISA .version 7.8 or later\n");
}

TEST(Errors, ConversionsOfHalvesNeedNoHalfArithmetic) {
  const auto of_sm_50 = [](const std::string &instruction) {
    return errors(
        ".version 4.0\n.target sm_50\n.address_size 64\n.entry k() {\n.reg .b16 h<4>; .reg .f32 f<2>;\n" +
        instruction + "\n}\n");
  };
  EXPECT_EQ(of_sm_50("cvt.rn.f16.f32 h0, f0;"), "");
  EXPECT_EQ(of_sm_50("cvt.f32.f16 f0, h0;"), "");
  EXPECT_EQ(of_sm_50("add.f16 h0, h1, h2;"),
            "6:1 Feature 'add.f16' requires PTX ISA .version 4.2 or later\n6:1 Feature 'add.f16' requires "
            ".target sm_53 or higher\n");
}

TEST(Errors, DuplicatesAreNamed) {
  expect(in_entry, {
                       {".reg .b32 %r1;", "6:11 Duplicate definition of variable '%r1'\n"},
                       {"L: ret; L: ret;", "6:9 Duplicate definition of label 'L'\n"},
                   });
  expect(
      in_module,
      {
          {".global .u32 a;\n.global .u32 a;", "5:14 Duplicate definition of variable 'a'\n"},
          {".entry k() { ret; }\n.entry k() { ret; }", "5:8 Duplicate definition of function 'k'\n"},
          {".entry k(.param .u32 a, .param .u32 a) { ret; }", "4:37 Duplicate definition of variable 'a'\n"},
      });
}

TEST(Errors, InitializersAreChecked) {
  expect(in_module,
         {
             {".global .u32 a[2] = {1, 2, 3};", "4:28 Greater number of elements in array initializer\n"},
             {".global .u64 a = b;", "4:18 Invalid initial value symbol 'b'\n"},
             {".global .align 3 .b8 a[10];", "4:9 Alignment must be a power of two\n"},
             {".global .u32 a = 1 / 0;", "4:20 Invalid constant expression\n"},
         });
}

// Compared with ptxas 13.0.
TEST(Errors, ParametersAreInTheirStateSpaces) {
  EXPECT_EQ(in_module(".entry k(.local .u32 a, .param .u64 b) { ret; }"),
            "4:22 Entry parameter 'a' must have .param state space\n");
  EXPECT_EQ(in_module(".entry k(.reg .u32 a) { ret; }"),
            "4:20 Entry parameter 'a' must have .param state space\n");
  EXPECT_EQ(in_module(".func (.shared .u32 r) f(.global .u32 a) { ret; }"),
            "4:21 Function parameter 'r' has illegal state space\n"
            "4:39 Function parameter 'a' has illegal state space\n");
  EXPECT_EQ(in_module(".func (.reg .u32 r) f(.param .u32 a) { ret; }"), "");
}

TEST(Errors, SizesThatAreTooLargeAreRefused) {
  EXPECT_EQ(in_module(".global .b8 a[10000000000];"), "4:13 Size of variable 'a' is too large\n");
  EXPECT_EQ(in_module(".global .b64 a[0xffffffff][0xffffffff][16];"),
            "4:14 Size of variable 'a' is too large\n");
  EXPECT_EQ(in_module(".global .u8 a[2][1000000000] = {{1}, {2}};"),
            "4:40 Initializer of 'a' is too large\n");
}

TEST(Errors, NestingHasALimit) {
  EXPECT_EQ(in_module(".global .u32 a = " + std::string(100, '(') + "1" + std::string(100, ')') + ";"),
            "4:82 Expression is nested too deeply\n");
  EXPECT_EQ(in_entry(std::string(200, '{')), "6:127 Blocks are nested too deeply\n");
  EXPECT_EQ(in_module(".global .u32 a = " + std::string(100, '-') + "1;"),
            "4:81 Expression is nested too deeply\n");
}

TEST(Errors, ParsingEndsWithTheMostErrors) {
  std::string body;
  for (int i = 0; i < 10; ++i) body += "foo;\n";
  EXPECT_EQ(parse(entry_of(body), {.most_errors = 3}).diagnostics.size(), 3u);
}

TEST(Errors, TextEndsAtItsFirstNul) {
  EXPECT_TRUE(parse(module_of(".entry k() { ret; }\n") + '\0' + "garbage").ok());
}

}  // namespace
}  // namespace cushim::ptx
