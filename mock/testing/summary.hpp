// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "record.hpp"

namespace cushim::testing {

// Counts the results of tests.
class Summary : public ::testing::EmptyTestEventListener {
 public:
  void OnTestEnd(const ::testing::TestInfo &test) override;

  int executed() const { return passed_ + failed_; }
  int skipped() const;

  // Returns JSON: tests, driver, devices, and the comparison of answers if there was one.
  std::string json(const Comparison *comparison) const;
  // Returns "executed 1200 (1200 passed, 0 failed), skipped 3: needs gpus:2 (3)".
  std::string text() const;

 private:
  int passed_ = 0;
  int failed_ = 0;
  std::map<std::string, int> skipped_by_;
};

}  // namespace cushim::testing
