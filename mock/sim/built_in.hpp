// SPDX-License-Identifier: Apache-2.0
// What profiles/embed.cmake takes into the library at build time, so that no file is looked for at run time.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace cushim::sim {

struct BuiltIn {
  std::string file;  // "h200.json"
  std::string text;
};

// A device that others are like stands before them.
const std::vector<BuiltIn> &built_in_files();
const std::map<int, std::string> &built_in_attribute_names();

}  // namespace cushim::sim
