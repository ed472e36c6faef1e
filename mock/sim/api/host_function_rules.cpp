// SPDX-License-Identifier: Apache-2.0
#include "api/host_function_rules.hpp"

#include <string_view>

#include "api/variants.hpp"

namespace cushim::sim {
namespace {

struct HostFunctionRule {
  std::string_view name;  // the base name of the entry point
  InHostFunction rule = InHostFunction::refused;
};
using enum InHostFunction;

// Measured on an H200, driver 580: tests/differential/arguments, situation host_function. Those that are not
// listed are refused. Some of the admitted ones refuse the call themselves, after some of their arguments.
constexpr HostFunctionRule kRules[] = {
#include "api/host_function_rules.inc"
};

}  // namespace

InHostFunction host_function_rule_of(std::size_t slot) {
  static const auto rules = rows_by_slot(kRules);
  return rules[slot].rule;
}

}  // namespace cushim::sim
