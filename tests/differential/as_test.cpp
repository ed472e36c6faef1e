// SPDX-License-Identifier: Apache-2.0
#include "as_test.hpp"

#include <fmt/format.h>

namespace differential {

std::string head_of_tests() {
  return "// SPDX-License-Identifier: Apache-2.0\n"
         "// Random programs of driver calls, as cushim_differential prints them.\n"
         "#include \"program.hpp\"\n\n"
         "using namespace differential;\n";
}

std::string as_test(std::uint64_t seed, std::span<const Step> steps, const std::string &remark) {
  std::string text = fmt::format("\n// {}\nTEST_F(Program, Seed_{}) {{\n", remark, seed);
  for (const Step &step : steps) {
    for (const std::string &statement : step.before) text += fmt::format("  {};\n", statement);
    // What is not a call of the driver is a function of the program.
    const bool is_call = !step.symbol.empty();
    std::string call = is_call ? fmt::format("EXPECT_EQ(driver().{}, CUresult({}))", step.call,
                                             step.answer.substr(0, step.answer.find(' ')))
                               : step.call;
    if (step.declarations.empty() && step.after.empty()) {
      text += fmt::format("  {};\n", call);
      continue;
    }
    text += "  {\n";
    for (const std::string &declaration : step.declarations) text += fmt::format("    {};\n", declaration);
    text += fmt::format("    {};\n", call);
    for (const std::string &statement : step.after) text += fmt::format("    {};\n", statement);
    text += "  }\n";
  }
  return text + "}\n";
}

}  // namespace differential
