// SPDX-License-Identifier: Apache-2.0
// Differences from a recording that are known. The file has a line for each entry point: its name, the
// largest number of walks whose first difference it may be, and the cause. "results" is what kernels have
// written.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace differential {

using DifferencesByCall = std::map<std::string, std::size_t>;

// Throws std::runtime_error with the file and the line.
DifferencesByCall read_known_calls(const std::string &file);
// Returns a message for each entry point with more differences than known.
std::string unknown_differences(const DifferencesByCall &found, const DifferencesByCall &known);

}  // namespace differential
