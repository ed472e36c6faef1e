// SPDX-License-Identifier: Apache-2.0
// cushim replay: lists the calls of a recording, makes them again on a driver, or shrinks them to a test.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "common/outcome.hpp"
#include "common/verb.hpp"

namespace cushim::command {

struct ReplayOptions {
  std::string recording;
  std::string driver = "sim";  // sim, real, or the path of a library
  bool lists = false;          // whether to print the calls instead of making them
  bool as_json = false;
  bool shrinks = false;              // whether to write the few calls that show a difference as a test
  std::optional<std::size_t> call;   // for `shrinks`: the call with the difference
  std::string output;                // for `shrinks`: the test's file; empty: standard output
  std::vector<std::string> ignored;  // entry points whose values are not compared
  std::chrono::seconds patience{10};
};

// Prints the calls of a recording on standard output, as text or as JSON lines. Returns the exit code.
int list_recording(const ReplayOptions &options);

// Writes the calls that show a difference or an error as a C++ test, and its progress on stderr. Returns the
// exit code: good; finding if there is none; usage.
int shrink_recording(const ReplayOptions &options);

struct ReplayOutcome {
  Outcome outcome;
  bool is_stuck = false;  // a thread is still in a call, so the process must end by _exit()
};

// Makes the calls again. Exit: good if all were made and equal; finding if not; no_driver if there is none.
ReplayOutcome replay(const ReplayOptions &options);

// Adds the verb replay.
Verb add_replay(CLI::App &app);

}  // namespace cushim::command
