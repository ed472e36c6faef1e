// SPDX-License-Identifier: Apache-2.0
// Checkers by name, as a user of a program switches them on.
#pragma once

#include <cushim/check/finding.hpp>
#include <cushim/driver.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace cushim::check {

// All checkers of a list of words, "leaks,misuse". They are on as long as this lives.
class Checkers {
 public:
  // Throws std::invalid_argument for a word that is none, naming the nearest that is.
  Checkers(Driver &driver, std::string_view words);

  // Of all, one checker after another; finish() as Checker::finish().
  std::vector<Finding> findings() const;
  std::vector<Finding> finish();

 private:
  std::vector<std::unique_ptr<Checker>> checkers_;
};

// The words that there are.
std::vector<std::string_view> checker_names();

}  // namespace cushim::check
