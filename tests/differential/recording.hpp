// SPDX-License-Identifier: Apache-2.0
// Answers to walks as a file: a line a walk, "seed fingerprint answer;answer;...". The fingerprint is of the
// calls, so that a generator that has changed is told from a driver that answers otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "walk.hpp"

namespace differential {

// The subjects of walks by name.
const std::map<std::string, Subject> &subjects();

struct Recording {
  std::string about;  // the first line: driver and devices
  Kind kind{.choices = 0};
  unsigned dropped = 0;  // walks that the driver itself did not answer twice alike
  struct Line {
    std::string fingerprint;
    std::vector<std::string> answers;
  };
  std::map<std::uint64_t, Line> walks;
};

Recording::Line line_of(const std::vector<Step> &steps);

// Both throw std::runtime_error, which names the file and the line.
void write(const std::string &file, const Recording &recording);
Recording read(const std::string &file);

}  // namespace differential
