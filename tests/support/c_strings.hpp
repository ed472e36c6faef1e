// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace cushim::test {

// Returns pointers to the strings, and a null pointer behind them: an argument list or environment of a new
// process. Valid as long as the strings.
inline std::vector<char *> c_strings(std::vector<std::string> &strings) {
  std::vector<char *> pointers;
  for (std::string &string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace cushim::test
