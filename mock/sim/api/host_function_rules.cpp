// SPDX-License-Identifier: Apache-2.0
#include "api/host_function_rules.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "api/variants.hpp"

namespace cushim::sim {
namespace {

struct HostFunctionRule {
  std::string_view name;  // the base name of the entry point
  InHostFunction rule;
};
using enum InHostFunction;

// Measured on an H200, driver 580: tests/differential/arguments, situation host_function. Those that are not
// listed are refused. Some of the admitted ones refuse the call themselves, after some of their arguments.
constexpr HostFunctionRule kRules[] = {
#include "api/host_function_rules.inc"
};

}  // namespace

InHostFunction host_function_rule_of(std::size_t slot) {
  static const auto rules = [] {
    std::array<InHostFunction, CUSHIM_ENTRY_COUNT> by_slot{};
    for (std::size_t i = 0; i < by_slot.size(); ++i)
      if (const auto *const found =
              std::ranges::find(kRules, detail::variant_names[i].base, &HostFunctionRule::name);
          found != std::end(kRules))
        by_slot[i] = found->rule;
    return by_slot;
  }();
  return rules[slot];
}

}  // namespace cushim::sim
