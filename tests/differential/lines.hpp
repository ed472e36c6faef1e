// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace differential {

struct Line {
  int number;  // from 1 on
  std::string text;
};

// Returns the lines of a file. Throws std::runtime_error if it cannot be read.
inline std::vector<Line> lines_of(const std::string &name) {
  std::ifstream file(name);
  if (!file) throw std::runtime_error("cannot read " + name);
  std::vector<Line> lines;
  for (std::string text; std::getline(file, text);)
    lines.push_back({static_cast<int>(lines.size()) + 1, text});
  return lines;
}

}  // namespace differential
