// SPDX-License-Identifier: Apache-2.0
#include "graphs/capture_rules.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "api/variants.hpp"

namespace cushim::sim {
namespace {

using enum InCapture;
using enum Unsafe;

// Measured on an H200, driver 580: tests/conformance/capture_outside_calls.cpp, capture_stream_calls.cpp.
constexpr CaptureRule kRules[] = {
#include "graphs/capture_rules.inc"
};

std::array<CaptureRule, CUSHIM_ENTRY_COUNT> rules_by_slot() {
  std::array<CaptureRule, CUSHIM_ENTRY_COUNT> rules;
  for (std::size_t slot = 0; slot < rules.size(); ++slot)
    for (const std::string_view name :  // the rule of the base name gives way to that of the version
         {detail::variant_names[slot].base, detail::variant_names[slot].versioned})
      if (const auto *const found = std::ranges::find(kRules, name, &CaptureRule::name);
          found != std::end(kRules))
        rules[slot] = *found;
  return rules;
}

}  // namespace

const CaptureRule &capture_rule_of(std::size_t slot) {
  static const auto rules = rules_by_slot();
  return rules[slot];
}

}  // namespace cushim::sim
