// SPDX-License-Identifier: Apache-2.0
#include "walk_as_test.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace differential {

std::string head_of_tests() {
  return "// SPDX-License-Identifier: Apache-2.0\n"
         "// Random programs of driver calls, as cushim_differential prints them.\n"
         "#include \"program.hpp\"\n\n"
         "using namespace differential;\n";
}

std::string as_test(std::uint64_t seed, std::span<const Step> steps, const std::string &remark) {
  const bool is_of_two = std::ranges::any_of(steps, [](const Step &step) { return step.process != 0; });
  const std::string margin(is_of_two ? 4 : 2, ' ');
  std::string text = fmt::format("\n// {}\n{}Seed_{}) {{\n", remark,
                                 is_of_two ? "PROGRAM_OF_TWO(" : "TEST_F(Program, ", seed);
  const Step *last = nullptr;
  for (const Step &step : steps) {
    if (is_of_two && (last == nullptr || last->process != step.process))
      text += fmt::format("{}  if (in({})) {{\n", last == nullptr ? "" : "  }\n", step.process);
    last = &step;
    for (const std::string &statement : step.before) text += fmt::format("{}{};\n", margin, statement);
    // A step without a symbol is a function of the program, not a driver call.
    const bool is_call = !step.symbol.empty();
    const std::string code = step.answer.substr(0, step.answer.find(' '));
    const bool has_settled = std::ranges::find(step.before, "settle()") != step.before.end();
    std::string call = step.call;
    if (is_of_two && has_settled && code == "0")
      call = fmt::format("EXPECT_TRUE(soon([&] {{ return driver().{}; }}))", step.call);
    else if (is_call)
      call = fmt::format("EXPECT_EQ(driver().{}, CUresult({}))", step.call, code);
    if (step.declarations.empty() && step.after.empty()) {
      text += fmt::format("{}{};\n", margin, call);
      continue;
    }
    text += fmt::format("{}{{\n", margin);
    for (const std::string &declaration : step.declarations)
      text += fmt::format("{}  {};\n", margin, declaration);
    text += fmt::format("{}  {};\n", margin, call);
    for (const std::string &statement : step.after) text += fmt::format("{}  {};\n", margin, statement);
    text += fmt::format("{}}}\n", margin);
  }
  return text + (is_of_two ? "  }\n}\n" : "}\n");
}

}  // namespace differential
