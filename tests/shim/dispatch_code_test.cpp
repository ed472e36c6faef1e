// SPDX-License-Identifier: Apache-2.0
// Counts the instructions of a raw call in the object file compiled from call_sites.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "child.hpp"

namespace {

using testing::Contains;
using testing::ContainsRegex;
using testing::Each;
using testing::Not;
using testing::SizeIs;

using Code = std::vector<std::string>;  // one instruction or relocation per element

// Returns whether control never continues after this instruction.
bool ends_function(const std::string &instruction) {
  return std::regex_search(instruction, std::regex("^(jmp|ret|b |br )"));
}

// Returns the code of each function up to its first unconditional jump or return.
std::map<std::string, Code> functions_of(const std::string &object) {
  const Outcome dump = run(CUSHIM_TEST_OBJDUMP, {"-drC", "--no-show-raw-insn", object});
  EXPECT_EQ(dump.status, 0);
  std::map<std::string, Code> functions;
  Code *code = nullptr;
  bool ended = false;
  std::istringstream stream(dump.out);
  std::smatch match;
  for (std::string line; std::getline(stream, line);) {
    if (std::regex_match(line, match, std::regex("[0-9a-f]+ <(.*)>:"))) {
      code = &functions[match[1]];
      ended = false;
    } else if (code != nullptr && std::regex_match(line, match, std::regex("\\s+[0-9a-f]+:\\s+(.*)"))) {
      const std::string text = std::regex_replace(match[1].str(), std::regex("\\s+"), " ");
      const bool relocation = text.starts_with("R_");
      if (relocation || !ended) code->push_back(text);
      ended = ended || (!relocation && ends_function(text));
    }
  }
  return functions;
}

Code function_of(const std::string &object, const std::string &name) {
  for (const auto &[full, code] : functions_of(object))
    if (full.find(name) != std::string::npos) return code;
  ADD_FAILURE() << "no function " << name << " in " << object;
  return {};
}

// Returns the pattern for the architecture of this build.
constexpr const char *pattern([[maybe_unused]] const char *x86_64, [[maybe_unused]] const char *aarch64) {
#if defined(__x86_64__)
  return x86_64;
#else
  return aarch64;
#endif
}
constexpr const char *kLoad = pattern(
    "^(mov[a-z]* [^,]*\\(%r[^,]*, ?%|mov[a-z]* [^,(]*\\(.*\\),%|jmpq? \\*.*\\()", "^(ldr|ldar|ldapr|ldp) ");
constexpr const char *kOfTheStack = pattern("\\(%rsp", "\\[sp");
constexpr const char *kIndirectJump = pattern("^jmpq? \\*", "^br ");
constexpr const char *kIndirectCall = pattern("^(call|jmp)q? \\*", "^(blr|br) ");
constexpr const char *kConditional = pattern("^j[^m]", "^(b\\.|cb|tb)");
constexpr const char *kForbidden =
    pattern("^(j[^m]|call|lock|xchg|cmpxchg|mfence)", "^(b\\.|cb|tb|bl|ldx|ldax|stx|stlx|cas|swp|dmb)");
constexpr const char *kDirect = pattern("^(jmp|call)q? (0x)?[0-9a-f]", "^(b|bl) (0x)?[0-9a-f]");

int count(const Code &code, const char *pattern) {
  int found = 0;
  for (const std::string &line : code)
    found +=
        std::regex_search(line, std::regex(pattern)) && !std::regex_search(line, std::regex(kOfTheStack));
  return found;
}

// Expects at most `loads` loads and one indirect jump; no branch, no lock, no call.
void expect_dispatch(const Code &code, int loads) {
  EXPECT_LE(count(code, kLoad), loads) << testing::PrintToString(code);
  EXPECT_GE(count(code, kLoad), 1) << testing::PrintToString(code);
  EXPECT_EQ(count(code, kIndirectJump), 1) << testing::PrintToString(code);
  EXPECT_THAT(code, Each(Not(ContainsRegex(kForbidden))));
}

TEST(DispatchCode, A_raw_call_is_two_loads_and_one_indirect_jump) {
  const auto functions = functions_of(CUSHIM_TEST_CALL_SITES);
  int seen = 0;
  for (const auto &[name, code] : functions) {
    if (name.find("::jump(") == std::string::npos) continue;
    SCOPED_TRACE(name);
    expect_dispatch(code, 2);
    ++seen;
  }
  EXPECT_EQ(seen, 2);
}

TEST(DispatchCode, A_raw_call_with_more_arguments_than_registers_is_dispatched_at_its_site) {
  const Code code = function_of(CUSHIM_TEST_CALL_SITES, "call_launch");
  EXPECT_EQ(count(code, kLoad), 2) << testing::PrintToString(code);
  EXPECT_EQ(count(code, kIndirectCall), 1) << testing::PrintToString(code);
  EXPECT_THAT(code, Each(Not(ContainsRegex(kConditional))));
}

TEST(DispatchCode, A_call_site_is_one_direct_call_as_without_cushim) {
  for (const char *name : {"call_query", "call_alloc"}) {
    const Code code = function_of(CUSHIM_TEST_CALL_SITES, name);
    EXPECT_THAT(code, SizeIs(2)) << testing::PrintToString(code);  // the jump and its relocation
    EXPECT_THAT(code, Contains(ContainsRegex(kDirect)));
    EXPECT_THAT(code, Contains(testing::HasSubstr("::jump(")));
  }
}

TEST(DispatchCode, A_call_through_an_object_is_one_load_and_one_indirect_jump) {
  expect_dispatch(function_of(CUSHIM_TEST_CALL_SITES, "call_through_object"), 1);
}

}  // namespace
