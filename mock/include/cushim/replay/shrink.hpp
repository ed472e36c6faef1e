// SPDX-License-Identifier: Apache-2.0
// Finds the few calls of a recording that show a difference or an error, and writes them as a C++ test.
#pragma once

#include <cushim/replay/player.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace cushim::replay {

// There is nothing to shrink, or the difference does not appear again.
class ShrinkError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The difference or error that a shrunk recording must still show, and how it is found.
struct ShrinkOptions {
  // The call whose difference or error is kept. Default: the first that differs; if none does, the first that
  // returned an error when it was recorded.
  std::optional<std::size_t> call{};
  std::vector<std::string> ignored{};         // as in PlayOptions
  std::chrono::milliseconds patience{2'000};  // of each replay
  // Called after each replay with the number of calls that are left and the number of replays.
  std::function<void(std::size_t calls, std::size_t replays)> progress{};
};

// The calls that show a difference or an error.
struct Shrunk {
  std::vector<std::size_t> calls{};        // indices in Recording::calls(), in order; the last one shows it
  std::optional<Difference> difference{};  // of the last call; nullopt: it returns the recorded error
  bool is_on_one_thread = false;           // whether all calls may be made on one thread
  std::size_t replays = 0;
};

// Plays calls of the recording on a new driver.
using PlayOnNewDriver = std::function<Report(const PlayOptions &options)>;

// Removes calls that the difference or error does not need. With a call, all calls that need its objects are
// removed. Calls that stay must have the same results as before. Throws ShrinkError.
Shrunk shrink(const Recording &recording, const PlayOnNewDriver &play, const ShrinkOptions &options = {});

// Writes a file with a GoogleTest test that makes the calls on a simulated driver and expects what was
// recorded. It needs cushim::sim. Throws ShrinkError if the test would need more than 4 MiB of data.
void write_test(const Recording &recording, const Shrunk &shrunk, std::ostream &to);

}  // namespace cushim::replay
