// SPDX-License-Identifier: Apache-2.0
#include "known_differences.hpp"

#include <fmt/format.h>

#include <sstream>
#include <stdexcept>

#include "lines.hpp"

namespace differential {

DifferencesByCall read_known_calls(const std::string &name) {
  DifferencesByCall known;
  for (const auto &[number, text] : lines_of(name)) {
    if (text.empty() || text.starts_with('#')) continue;
    std::istringstream line(text);
    std::string symbol, cause;
    std::size_t count = 0;
    if (!(line >> symbol >> count >> cause) || !known.emplace(symbol, count).second)
      throw std::runtime_error(
          fmt::format("{}:{}: not an entry point of its own, a number and a cause", name, number));
  }
  return known;
}

std::string unknown_differences(const DifferencesByCall &found, const DifferencesByCall &known) {
  std::string text;
  for (const auto &[symbol, count] : found) {
    const auto listed = known.find(symbol);
    const std::size_t allowed = listed == known.end() ? 0 : listed->second;
    if (count > allowed)
      text += fmt::format("{}: the first difference of {} walks, {} are known\n", symbol, count, allowed);
  }
  return text;
}

}  // namespace differential
