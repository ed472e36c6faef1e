// SPDX-License-Identifier: Apache-2.0
// printf() in kernels. The results and the texts are those of an H200, driver 580.159. Where the text of the
// GPU has values that depend on earlier calls, it has 0 here.
#include <bit>

#include "thread_kernel.hpp"

namespace cushim::ptx {
namespace {

using testing::Loaded;

struct Argument {
  Argument(int value) : bytes(4), bits(static_cast<std::uint32_t>(value)) {}
  Argument(long long value) : bytes(8), bits(static_cast<std::uint64_t>(value)) {}
  Argument(double value) : bytes(8), bits(std::bit_cast<std::uint64_t>(value)) {}
  unsigned bytes;
  std::uint64_t bits;
};

struct Printed {
  std::string format;
  std::vector<Argument> arguments;
  std::uint32_t count;
  std::string text;
};

// Calls vprintf() with the format and the arguments.
void expect(const Printed &one) {
  std::string store, characters;
  unsigned at = 0;
  for (const Argument &argument : one.arguments) {
    at = (at + argument.bytes - 1) / argument.bytes * argument.bytes;
    const std::string type = argument.bytes == 8 ? "b64" : "b32", name = argument.bytes == 8 ? "%rd9" : "%r9";
    store += "mov." + type + " " + name + ", " + std::to_string(argument.bits) + "; st.local." + type +
             " [depot+" + std::to_string(at) + "], " + name + ";\n";
    at += argument.bytes;
  }
  for (const char c : one.format) characters += std::to_string(static_cast<unsigned>(c)) + ", ";
  Loaded loaded(testing::thread_kernel(
      R"(
  { .param .b64 p0; .param .b64 p1; .param .b32 r0; .local .align 8 .b8 depot[64]; .reg .b64 %a<4>;
)" + store +
          R"(
  mov.u64 %a1, depot; cvta.local.u64 %a2, %a1; mov.u64 %a3, format; cvta.global.u64 %a3, %a3;
  st.param.b64 [p0], %a3; st.param.b64 [p1], %a2; call (r0), vprintf, (p0, p1); ld.param.b32 %r3, [r0]; }
)",
      ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n.global .align 1 .b8 format[" +
          std::to_string(one.format.size() + 1) + "] = {" + characters + "0};\n"));
  ASSERT_EQ(loaded.refused, "") << one.format;
  const auto in = loaded.memory.add(std::vector<std::uint32_t>{0}), out = loaded.memory.add(4);
  ASSERT_TRUE(loaded.run("k", {}, in, out)) << one.format;
  EXPECT_EQ(loaded.memory.get<std::uint32_t>(out, 1)[0], one.count) << one.format;
  EXPECT_EQ(loaded.printed, one.text) << one.format;
}

TEST(Printf, FormatsTheConversionsOfCuda) {
  for (const Printed &one :
       std::vector<Printed>{{"%5.3d|%d", {7, 8}, 2, "  007|8"},
                            {"%hd|%d", {70000, 7}, 2, "4464|7"},
                            {"%lld|%d", {5ll, 7}, 2, "5|7"},
                            {"%lf|%d", {1.5, 7}, 2, "1.500000|7"},
                            {"%p|%d", {0x1234ll, 7}, 2, "0x1234|7"},
                            {"%c|%d", {321, 7}, 2, "A|7"},
                            {"%0*d|%d", {5, 3, 7}, 3, "00003|7"},
                            {"%*.3f|%d", {9, 1.5, 7}, 3, "    1.500|7"},
                            {"%.5d|%.x|%d", {5, 7, 9}, 3, "00005|7|9"},
                            {"%.f|%.0f|%d", {2.5, 2.5, 7}, 3, "2|2|7"},
                            {"%F|%E|%A|%d", {1.5, 1.5, 1.5, 7}, 4, "1.500000|1.500000E+00|0X1.8P+0|7"},
                            {"%-+5d|% 5d|%+.3e|%#x|%#.3g|%d",
                             {7, 8, 1.5, 255, 1.0, 7},
                             6,
                             "+7   |    8|+1.500e+00|0xff|1.00|7"},
                            {"%%|%d", {7}, 1, "%|7"}})
    expect(one);
}

TEST(Printf, ANullStringIsPrintedInParentheses) {
  expect({"%s|%d", {0ll, 7}, 2, "(null)|7"});
  expect({"%.3s|%10s|%-10s|", {0ll, 0ll, 0ll}, 3, "|    (null)|(null)    |"});
}

TEST(Printf, OtherConversionsTakeTheIntegersOfTheFollowingOnes) {
  for (const Printed &one : std::vector<Printed>{{"%zu|%d", {5ll, 7}, 1, "5|0"},
                                                 {"%jd|%d", {5ll, 7}, 1, "5|0"},
                                                 {"%hhd|%d", {300, 7}, 1, "44|0"},
                                                 {"%d %zu %d", {1, 5ll, 7}, 2, "1 0 0"},
                                                 {"%ld|%hhd|%ld|%d", {1ll, 300, 9ll, 7}, 3, "1|44|9|0"},
                                                 {"%d|%.*d|%d", {1, 5, 2, 7}, 2, "1|00000|0"},
                                                 {"%.*f|%d|%f", {2, 3.25, 7, 1.5}, 2, "0.00|0|3.250000"},
                                                 {"%'d|%d", {1234567, 7}, 1, "1234567|0"},
                                                 {"%y|%d", {7, 8}, 1, "%y|7"},
                                                 {"%D|%d", {5, 7}, 1, "%D|5"},
                                                 {"%m|%d", {7}, 1, "Success|7"},
                                                 {"abc%5\n", {}, 0, "abc%5\n"}})
    expect(one);
}

}  // namespace
}  // namespace cushim::ptx
