// SPDX-License-Identifier: Apache-2.0
// The report of a process, which environment variables enable.
#pragma once

#include <cushim/check/finding.hpp>
#include <cushim/sim/usage.hpp>

#include <string>
#include <vector>

namespace cushim::sim {

struct ReportOptions {
  // CUSHIM_REPORT: "stderr" for a text report, or the name of a JSON file, in which %p is the process ID;
  // without %p, ".PROCESS" is appended, since child processes report too. Empty: no report.
  std::string to;
  // CUSHIM_ERROR_EXITCODE: the exit status of a process whose report has findings; 0 keeps the program's
  // own.
  int error_exit_code = 0;
  // CUSHIM_RUN_FOLDER, set by cushim run for itself: processes create PROCESS.opened and PROCESS.findings
  // in it.
  std::string run_folder;

  // Returns whether the end of a process must report anything, apart from findings of checkers.
  bool is_wanted() const noexcept { return !to.empty() || error_exit_code != 0 || !run_folder.empty(); }
};

// Reads the environment variables. Throws std::invalid_argument for a value that cannot be parsed.
ReportOptions report_options_from_environment();

// Records that this process has opened the driver at this path; empty for the simulated driver. Throws
// std::runtime_error if the report cannot be written.
void begin_report(const ReportOptions &options, const std::string &driver);

// Reports what the program did and what checkers found; without a report, writes findings to stderr. Does
// not return if the process must end with another exit status.
void end_report(const ReportOptions &options, const std::string &driver, const Usage &usage,
                const std::vector<check::Finding> &findings);

}  // namespace cushim::sim
