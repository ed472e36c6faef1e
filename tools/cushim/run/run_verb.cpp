// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "run/run.hpp"

namespace cushim::command {

Verb add_run(CLI::App &app) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App *verb =
      app.add_subcommand("run", "Run a program on the SIMULATED driver: cushim run -- PROGRAM ARGS...");
  verb->add_option("--devices", options->devices,
                   "Simulated devices: h200, h200x2, mine.json (see cushim profiles). Default: h200.");
  verb->add_option("--driver-version", options->driver_version,
                   "CUDA version of the simulated driver: 11.8, 12.4. It has no entry points of later "
                   "versions. Default: the version in the device profile.");
  verb->add_option(
      "--schedule", options->schedule,
      "When asynchronous work runs: background, eager, deferred or seeded. Default: background.");
  verb->add_option("--seed", options->seed, "Seed for --schedule seeded. Default: 1.");
  verb->add_option(
      "--faults", options->faults,
      "Rules for calls that fail: cuMemAlloc:3=OUT_OF_MEMORY, cuEvent*:p0.01@seed7=LAUNCH_FAILED, "
      "memory:2GiB, device0:lost@1.5ms. Separate rules by ; or pass @FILE. See docs/guide/faults.md. "
      "Default: no faults.");
  verb->add_option("--report", options->report,
                   "Write a report of each process to this file (%p is replaced by the process id), or to "
                   "stderr. Default: no report.");
  verb->add_option("--check", options->check,
                   "Checkers to enable, separated by commas: leaks, misuse, hazards, deadlock. See "
                   "docs/guide/checkers.md. Default: none.");
  verb->add_option("--error-exitcode", options->error_exit,
                   "Exit with this code if a process has findings: objects that were not freed, calls that "
                   "are not implemented, or findings of checkers. Default: the exit code of the program.")
      ->check(CLI::Range(1, 255));
  verb->add_flag("--require-driver", options->requires_driver,
                 "Exit with code 3 and print the reason if no process opens the simulated driver.");
  verb->add_option("--library", options->library,
                   "Directory of the simulated libcuda.so.1. Default: the one installed with this command.");
  verb->add_option("PROGRAM", options->program, "The program and its arguments.")->required();
  verb->positionals_at_end();
  verb->footer(
      "The options set variables of the simulated driver: CUSHIM_DEVICES, CUSHIM_DRIVER_VERSION, "
      "CUSHIM_SCHEDULE, CUSHIM_SEED, CUSHIM_FAULTS, CUSHIM_REPORT, CUSHIM_CHECK. Without an option, its "
      "variable keeps its value.");
  return {verb, [options] { return print(run(*options), false); }};
}

}  // namespace cushim::command
