// SPDX-License-Identifier: Apache-2.0
// What the library says of a process at its end, where its environment asks for it.
#pragma once

#include <cushim/check/finding.hpp>
#include <cushim/sim/machine.hpp>

#include <string>
#include <vector>

namespace cushim::sim {

struct ReportOptions {
  // CUSHIM_REPORT: "stderr" for people, else the file, in JSON. %p is the process; without it, ".PROCESS" is
  // appended, since children report too. Empty: no report.
  std::string to;
  // CUSHIM_ERROR_EXITCODE: how a process ends whose report has findings; 0 leaves that to the program.
  int error_exit_code = 0;
  // CUSHIM_RUN_FOLDER, which cushim run sets for itself: processes leave PROCESS.opened and PROCESS.findings.
  std::string run_folder;
};

// Throws std::invalid_argument if a variable cannot be understood.
ReportOptions report_options_from_environment();

// Says that this process has opened the driver. Throws std::runtime_error if the report cannot be written.
void begin_report(const ReportOptions &options);

// Says what was done, and what checkers found; that on stderr if there is to be no report. Does not return if
// the process is to end with another exit code.
void end_report(const ReportOptions &options, const Usage &usage,
                const std::vector<check::Finding> &findings);

}  // namespace cushim::sim
