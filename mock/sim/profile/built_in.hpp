// SPDX-License-Identifier: Apache-2.0
// Built-in profiles, which embed.cmake compiles into the library, so that no file is needed at run time.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace cushim::sim {

struct BuiltIn {
  std::string file;  // "h200.json"
  std::string text;
};

// A profile comes after the profile that its "like" names.
const std::vector<BuiltIn> &built_in_files();
const std::map<int, std::string> &built_in_attribute_names();

}  // namespace cushim::sim
