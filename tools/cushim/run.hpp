// SPDX-License-Identifier: Apache-2.0
// cushim run: starts a program on the simulated driver instead of the machine's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "outcome.hpp"

namespace cushim::command {

struct RunOptions {
  std::string devices;  // each as the environment variable of the library; empty leaves that alone
  std::string driver_version;
  std::string schedule;
  std::string seed;
  std::string faults;             // rules, or @ and a file of them
  std::string report;             // the same
  std::string check;              // the same
  std::optional<int> error_exit;  // the exit code if the report of any process has findings
  bool requires_driver = false;   // whether it is a failure if no process opens the simulated driver
  std::string library;  // the simulated driver's folder; empty is the one that came with this command
  std::vector<std::string> program;
};

// Becomes the program, whose output and exit status are then its own; or, where something is to be looked at
// afterwards, waits for it and ends as it did. Returns the exit code of what is to be said of that, or if the
// program cannot be started.
Outcome run(const RunOptions &options);

}  // namespace cushim::command
