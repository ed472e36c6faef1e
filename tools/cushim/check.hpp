// SPDX-License-Identifier: Apache-2.0
// cushim check: what programs and libraries ask of the machine that they will run on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "check_facts.hpp"
#include "outcome.hpp"

namespace cushim::command {

struct CheckOptions {
  std::vector<std::string> paths = {};
  int max_driver = 0;  // 12020: a file that imports a newer entry point is a finding; 0 for any
  std::vector<std::string> forbid = {};  // words of forbidden_things()
};

// Something that a file must not have by the options.
struct Finding {
  std::string name;  // of the file
  std::string rule;  // "max-driver", or the forbidden word
  std::string text;  // goes behind the name
};

// A file or a path that was not, or not wholly, looked at.
struct Unchecked {
  std::string name;
  std::string why;  // goes behind the name
};

struct CheckReport {
  std::vector<FileFacts> files;
  std::vector<Finding> findings;
  std::vector<Unchecked> unchecked;
  bool has_unreadable_path = false;  // of the paths given
};

// What --forbid can name.
const std::vector<std::string> &forbidden_things();

// Looks at all programs and libraries under the paths. Opens no driver. What cannot be looked at is noted,
// and the rest goes on.
CheckReport check(const CheckOptions &options);

// The report as it is printed. Exit::usage if a path cannot be read; else Exit::finding if there are
// findings, or if something was left unchecked; else Exit::good.
Outcome report(const CheckReport &report);

}  // namespace cushim::command
