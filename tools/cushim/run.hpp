// SPDX-License-Identifier: Apache-2.0
// cushim run: starts a program on the simulated driver instead of the machine's.
#pragma once

#include <string>
#include <vector>

#include "outcome.hpp"

namespace cushim::command {

struct RunOptions {
  std::string devices;  // each as the environment variable of the library; empty leaves that alone
  std::string driver_version;
  std::string schedule;
  std::string seed;
  std::string library;  // the simulated driver's folder; empty is the one that came with this command
  std::vector<std::string> program;
};

// Becomes the program, whose output and exit status are then its own. Returns only if that was not possible.
Outcome run(const RunOptions &options);

}  // namespace cushim::command
