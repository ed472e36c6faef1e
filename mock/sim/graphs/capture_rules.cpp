// SPDX-License-Identifier: Apache-2.0
#include "graphs/capture_rules.hpp"

#include "api/variants.hpp"

namespace cushim::sim {
namespace {

using enum InCapture;
using enum Unsafe;

// Measured on an H200, driver 580: tests/conformance/capture_outside_calls.cpp, capture_stream_calls.cpp.
constexpr CaptureRule kRules[] = {
#include "graphs/capture_rules.inc"
};

}  // namespace

const CaptureRule &capture_rule_of(std::size_t slot) {
  static const auto rules = rows_by_slot(kRules);
  return rules[slot];
}

}  // namespace cushim::sim
