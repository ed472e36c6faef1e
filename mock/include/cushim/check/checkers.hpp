// SPDX-License-Identifier: Apache-2.0
// Enables checkers by name.
#pragma once

#include <cushim/check/finding.hpp>
#include <cushim/driver.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace cushim::check {

// Enables the checkers of a comma-separated list of names ("leaks,misuse") until it is destroyed.
class Checkers {
 public:
  // Throws std::invalid_argument for an unknown name; the message suggests the nearest known one.
  Checkers(Driver &driver, std::string_view names);

  // Return the findings of all checkers, one checker after another. finish() calls Checker::finish() of
  // each.
  std::vector<Finding> findings() const;
  std::vector<Finding> finish();

 private:
  std::vector<std::unique_ptr<Checker>> checkers_;
};

// Returns the names of all checkers.
std::vector<std::string_view> checker_names();

}  // namespace cushim::check
