// SPDX-License-Identifier: Apache-2.0
#include <cushim/ptx/module.hpp>

#include <algorithm>

namespace cushim::ptx {

const Function *Module::find_function(std::string_view name) const {
  for (const Function &one : functions)
    if (one.name == name) return &one;
  return nullptr;
}

const Variable *Module::find_variable(std::string_view name) const {
  for (const Variable &one : variables)
    if (one.name == name) return &one;
  return nullptr;
}

std::string Diagnostic::text() const {
  static constexpr std::string_view words[] = {"warning ", "error   ", "fatal   "};
  std::string made = "ptxas application ptx input, line " + std::to_string(position.line) + "; ";
  made += words[static_cast<std::size_t>(severity)];
  return made + ": " + message;
}

bool ParseResult::ok() const {
  return std::none_of(diagnostics.begin(), diagnostics.end(),
                      [](const Diagnostic &one) { return one.severity != Severity::warning; });
}

std::string ParseResult::log() const {
  std::string made;
  for (const Diagnostic &one : diagnostics) made += one.text() + "\n";
  return made;
}

}  // namespace cushim::ptx
