// SPDX-License-Identifier: Apache-2.0
// Makes the calls of a recording again, on any driver, and compares results and data.
//
//   replay::Report report = replay::play(replay::Recording::read("program.record"), machine.driver());
#pragma once

#include <cushim/driver.hpp>
#include <cushim/replay/recording.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace cushim::replay {

// Options of play().
struct PlayOptions {
  // Base names of entry points whose values are not compared; "cuMem*" means all names with this prefix.
  // Results are compared anyway.
  std::vector<std::string> ignored{};
  // Ends the replay if a call does not return within this time.
  std::chrono::milliseconds patience{10'000};
  // Makes only these calls: indices in Recording::calls(), in their order. Default: all.
  std::optional<std::vector<std::size_t>> calls{};
  // Makes all calls on one thread.
  bool on_one_thread = false;
};

// A call whose result, or a value or memory that it wrote, differs from the recording.
struct Difference {
  std::size_t call = 0;  // index in Recording::calls()
  std::string what{};    // "result", or the name of the argument
  std::string recorded{}, replayed{};
};

// Calls of one entry point that were not made, for one reason.
struct NotReplayed {
  std::string symbol{}, reason{};
  unsigned long count = 0;
};

// The result of play().
struct Report {
  std::size_t replayed = 0;               // calls
  std::vector<Difference> differences{};  // in order of the calls, at most one for each call
  std::vector<NotReplayed> not_replayed{};
  std::vector<std::size_t> calls_not_replayed{};  // their indices, in order
  // Calls that were made without something that is not in the recording.
  std::vector<NotReplayed> partly_replayed{};
  // A call that did not return within the patience. Its thread still runs, so the process should end.
  std::optional<std::size_t> stuck{};
};

// Makes the calls in the order in which they were made: each recorded thread has a thread here, calls begin
// in the recorded order, and each waits for the calls that had returned before it began in the recording.
// Handles and addresses are replaced by those that the calls made here returned. Values are compared by their
// type: numbers and texts must be equal, handles and addresses must be those of the same objects,
// floating-point numbers (times) and ids are not compared, nor is whether work was complete when a call asked
// (cuEventQuery).
//
// A call is not made if something that it needs is unknown: memory that was not recorded, a handle of a call
// that was not made, pointers inside structures that are not recorded. A host function is replaced by a
// function that writes what the recorded one wrote to pinned, registered and managed memory; those of graphs
// do nothing. Functions of the driver's export tables may make a context current, and are not recorded: if
// the recorded program used them, a call that had a current context then and has none now is made with that
// context.
Report play(const Recording &recording, cushim::Driver &driver, const PlayOptions &options = {});

}  // namespace cushim::replay
