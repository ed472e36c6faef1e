// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "replay/replay.hpp"

namespace cushim::command {

Verb add_replay(CLI::App &app) {
  struct Given {
    ReplayOptions options;
    unsigned patience = 10;
    bool compares = false;
    std::optional<std::size_t> call;
  };
  const auto given = std::make_shared<Given>();
  ReplayOptions &options = given->options;
  CLI::App *verb =
      app.add_subcommand("replay",
                         "Make the driver calls of a recording (cushim run --record FILE) "
                         "again, and name the first call whose result "
                         "or data differs; list them; or shrink them to a test. See docs/guide/replay.md.");
  verb->add_option(
      "--driver", options.driver,
      "The driver that receives the calls: sim, the simulated one, with CUSHIM_DEVICES and its other "
      "variables; real, the installed one; or the path of a libcuda.so.1. Default: sim.");
  verb->add_option("--ignore", options.ignored,
                   "Entry points whose values are not compared, separated by commas: cuDeviceGetAttribute, "
                   "cuDevice*. Results are compared. Default: none.")
      ->delimiter(',');
  verb->add_option("--patience", given->patience,
                   "Seconds after which a call that does not return ends the replay. Default: 10.")
      ->check(CLI::Range(1U, 86'400U));
  auto *const lists = verb->add_flag(
      "--list", options.lists, "Make no call; print all, one a line, with arguments, results and times.");
  verb->add_flag("--compare", given->compares,
                 "Compare results and data. This is the default; the flag says so in scripts.")
      ->excludes(lists);
  auto *const shrinks =
      verb->add_flag("--shrink", options.shrinks,
                     "Leave out calls as long as the first difference, or else the first error, stays the "
                     "same on the simulated driver; print the rest as a C++ test of GoogleTest.")
          ->excludes(lists);
  verb->add_option(
          "--call", given->call,
          "With --shrink: the number of the call whose difference or error is kept, as `cushim "
          "replay` prints it. Default: the first that differs, else the first that returned an error.")
      ->needs(shrinks)
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--output", options.output,
                   "With --shrink: the file of the test. Default: standard output.")
      ->needs(shrinks);
  verb->add_flag("--json", options.as_json, "Print JSON; with --list, one object a line. Default: text.")
      ->excludes(shrinks);
  verb->add_option("RECORDING", options.recording, "The recording.")->required();
  verb->footer(
      "Exit codes: 0 all calls were made and nothing differs; 1 a difference, a call that could not be made, "
      "or one "
      "that did not return, or --shrink finds nothing; 2 the recording cannot be read; 3 no driver.");
  return {verb, [given] {
            if (given->options.lists) return list_recording(given->options);
            given->options.patience = std::chrono::seconds(given->patience);
            given->options.call = given->call;
            if (given->options.shrinks) {
              const int code = shrink_recording(given->options);
              // A call that did not return may still run.
              std::fflush(nullptr);
              _exit(code);
            }
            const ReplayOutcome done = replay(given->options);
            const int code = print(done.outcome, given->options.as_json);
            if (done.is_stuck) _exit(code);
            return code;
          }};
}

}  // namespace cushim::command
