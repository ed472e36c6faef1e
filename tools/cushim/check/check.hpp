// SPDX-License-Identifier: Apache-2.0
// cushim check: the requirements of programs and libraries on the machine they run on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/check_facts.hpp"
#include "common/outcome.hpp"
#include "common/verb.hpp"

namespace cushim::command {

struct CheckOptions {
  std::vector<std::string> paths = {};
  int max_driver = 0;  // 12020: a file that imports a newer entry point is a finding; 0: no limit
  int max_glibc = 0;   // 2028: a file that needs a glibc newer than 2.28 is a finding; 0: no limit
  std::vector<std::string> forbid = {};  // elements of forbidden_properties()
};

// A violation of the options by a file.
struct Finding {
  std::string name;  // of the file
  std::string rule;  // "max-driver", "max-glibc", or the value of --forbid
  std::string text;  // printed after the name
};

// A file or path that was not inspected, or not completely.
struct Unchecked {
  std::string name;
  std::string why;  // printed after the name
};

struct CheckReport {
  std::vector<FileFacts> files;
  std::vector<Finding> findings;
  std::vector<Unchecked> unchecked;
  bool has_unreadable_path = false;  // whether any path in CheckOptions could not be read
};

// Returns "2.28" for 2028.
std::string glibc_text(int version);

// Returns 2028 for "2.28". Returns nullopt if the text is not a version of glibc.
std::optional<int> parse_glibc(std::string_view text);

// Returns the values that --forbid accepts.
const std::vector<std::string> &forbidden_properties();

// Inspects all programs and libraries under the paths. Opens no driver. Records files that cannot be
// inspected and continues.
CheckReport check(const CheckOptions &options);

// Formats the report. Exit::usage if a path cannot be read; otherwise Exit::finding if there are findings or
// unchecked files; otherwise Exit::good.
Outcome report(const CheckReport &report);

// Adds the verb check.
Verb add_check(CLI::App &app);

}  // namespace cushim::command
