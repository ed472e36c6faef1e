// SPDX-License-Identifier: Apache-2.0
// Recorded answers to walks, one line per walk: "seed fingerprint answer;answer;...". The fingerprint is a
// hash of the calls. It distinguishes a changed generator from a driver with different answers.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "walk.hpp"

namespace differential {

// Returns the subjects of walks by name.
const std::map<std::string, Subject> &subjects();

struct Recording {
  std::string about;  // the first line: driver and devices
  Kind kind{.choices = 0};
  unsigned dropped = 0;  // number of walks that the recorded driver did not always answer alike
  struct Line {
    std::string fingerprint;
    std::vector<std::string> answers;
  };
  std::map<std::uint64_t, Line> walks;
};

Recording::Line line_of(const std::vector<Step> &steps);

// Throw std::runtime_error with the file and the line.
void write(const std::string &file, const Recording &recording);
Recording read(const std::string &file);

// Reads the seeds of a subject's recorded walks that the simulated driver is known to answer otherwise, with
// the causes. Throws like read().
std::map<std::uint64_t, std::string> read_known_differences(const std::string &file, Subject subject);
// Prints the number of known differences by cause. Returns whether exactly the listed ones of the compared
// walks are different.
bool are_known(const std::map<std::uint64_t, std::string> &known, const std::set<std::uint64_t> &compared,
               const std::set<std::uint64_t> &different);

}  // namespace differential
