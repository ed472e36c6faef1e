// SPDX-License-Identifier: Apache-2.0
// cushim run: starts a program on the simulated driver, or puts cushim between it and another driver.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/outcome.hpp"
#include "common/verb.hpp"

namespace cushim::command {

struct RunOptions {
  std::string driver;  // sim, real, or the path of a library; empty keeps CUSHIM_DRIVER
  // each has the syntax of the library's environment variable; empty keeps that variable
  std::string devices;
  std::string driver_version;
  std::string schedule;
  std::string seed;
  std::string faults;               // rules, or @ and a file of rules
  std::string report;               // syntax of CUSHIM_REPORT
  std::string check;                // syntax of CUSHIM_CHECK
  std::string trace;                // the file of the trace; its end tells the format
  bool traces_call_stacks = false;  // of each call
  bool measures_gpu_times = false;  // of the work of each call
  std::string record;               // the file of a recording for cushim replay
  std::string record_data;          // none, hashes or full; empty keeps CUSHIM_RECORD_DATA
  std::string kernel_times;         // fixed or model; empty keeps CUSHIM_KERNEL_TIMES
  std::string kernel_limit;         // instructions; empty keeps CUSHIM_KERNEL_LIMIT
  std::string profile_kernels;      // syntax of CUSHIM_PROFILE_KERNELS
  bool has_summary = false;         // whether to print a summary of the calls on stderr
  // Folder for the PTX of cubins that compilers make while the program runs; "none" keeps none. Default:
  // CUSHIM_PTX_STORE, else cushim/ptx in XDG_CACHE_HOME or ~/.cache.
  std::string ptx_store;
  std::string kernels;            // syntax of CUSHIM_KERNELS
  bool skips_kernels = false;     // whether kernels without PTX that are not registered do nothing
  std::optional<int> error_exit;  // exit code if the report of any process has findings
  bool requires_driver = false;   // whether it is an error if no process opens cushim's libcuda.so.1
  std::string
      library;  // the directory of cushim's libcuda.so.1; default: the one installed with this command
  std::vector<std::string> program;

  bool is_traced() const { return !trace.empty() || has_summary; }
};

// Replaces this process by the program. If a report, an exit code for findings, or a check that the driver
// was opened is requested, waits for the program instead and exits with its status. Returns the exit code of
// an error of these, or if the program cannot be started.
Outcome run(const RunOptions &options);

// Adds the verb run.
Verb add_run(CLI::App &app);

}  // namespace cushim::command
