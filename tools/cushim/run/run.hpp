// SPDX-License-Identifier: Apache-2.0
// cushim run: starts a program on the simulated driver instead of the installed one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/outcome.hpp"
#include "common/verb.hpp"

namespace cushim::command {

struct RunOptions {
  // each has the syntax of the library's environment variable; empty keeps that variable
  std::string devices;
  std::string driver_version;
  std::string schedule;
  std::string seed;
  std::string faults;             // rules, or @ and a file of rules
  std::string report;             // syntax of CUSHIM_REPORT
  std::string check;              // syntax of CUSHIM_CHECK
  std::optional<int> error_exit;  // exit code if the report of any process has findings
  bool requires_driver = false;   // whether it is an error if no process opens the simulated driver
  std::string library;  // the simulated driver's directory; default: the one installed with this command
  std::vector<std::string> program;
};

// Replaces this process by the program. If a report, an exit code for findings, or a check that the driver
// was opened is requested, waits for the program instead and exits with its status. Returns the exit code of
// an error of these, or if the program cannot be started.
Outcome run(const RunOptions &options);

// Adds the verb run.
Verb add_run(CLI::App &app);

}  // namespace cushim::command
