// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cushim/check/checkers.hpp>
#include <cushim/testing/no_findings.hpp>

namespace cushim::testing {

NoFindings::NoFindings(std::string_view checkers, Driver &driver, const Where &where)
    : checkers_(std::make_unique<check::Checkers>(driver, checkers)), where_(where) {}

NoFindings::~NoFindings() {
  try {
    for (const check::Finding &finding : checkers_->finish())
      ADD_FAILURE_AT(where_.file_name(), static_cast<int>(where_.line())) << finding;
  } catch (...) {
    // GoogleTest is configured to throw failures, and has already recorded this one.
  }
}

}  // namespace cushim::testing
