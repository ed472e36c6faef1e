// SPDX-License-Identifier: Apache-2.0
// Reduces a recording to the calls that show a difference or an error, and writes them as a C++ test.
#include <unistd.h>

#include <fmt/format.h>
#include <cushim/replay/recording.hpp>
#include <cushim/replay/shrink.hpp>
#ifdef CUSHIM_WITH_SIM
#include <cushim/sim/machine.hpp>
#endif

#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>

#include "common/text.hpp"
#include "replay/replay.hpp"

namespace cushim::command {
namespace {

int failure(Exit exit, const std::string &what) {
  std::fputs(fmt::format("cushim replay: {}\n", printable(what)).c_str(), stderr);
  return static_cast<int>(exit);
}

#ifdef CUSHIM_WITH_SIM
replay::Report play_on_new_machine(const replay::Recording &recording, const replay::PlayOptions &options) {
  auto machine = std::make_unique<sim::Machine>(sim::options_from_environment({}));
  replay::Report report = replay::play(recording, machine->driver(), options);
  // A call that does not return still uses the machine.
  if (report.stuck) static_cast<void>(machine.release());
  return report;
}

// Prints the progress on stderr, at most once a second.
class Progress {
 public:
  void operator()(std::size_t calls, std::size_t replays) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::seconds(1)) return;
    last_ = now;
    std::fputs(fmt::format("cushim replay: {} calls are left after {} replays\n", calls, replays).c_str(),
               stderr);
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

void write(const std::string &file, const std::string &text) {
  if (file.empty()) {
    std::cout << text << std::flush;
    return;
  }
  std::ofstream stream(file);
  stream << text << std::flush;
  if (!stream) throw std::runtime_error("cannot write " + file);
}
#endif

}  // namespace

int shrink_recording(const ReplayOptions &options) {
#ifdef CUSHIM_WITH_SIM
  try {
    if (options.driver != "sim") return failure(Exit::usage, "--shrink works on the simulated driver only");
    const auto recording = replay::Recording::read(options.recording);
    const auto play = [&](const replay::PlayOptions &play_options) {
      return play_on_new_machine(recording, play_options);
    };
    const replay::Shrunk shrunk = replay::shrink(recording, play,
                                                 {.call = options.call,
                                                  .ignored = options.ignored,
                                                  .patience = options.patience,
                                                  .progress = Progress()});
    std::ostringstream text;
    replay::write_test(recording, shrunk, text);
    write(options.output, text.str());
    std::fputs(fmt::format("cushim replay: {} of {} calls show it, found with {} replays\n",
                           shrunk.calls.size(), recording.calls().size(), shrunk.replays)
                   .c_str(),
               stderr);
    return static_cast<int>(Exit::good);
  } catch (const replay::ShrinkError &error) {
    return failure(Exit::finding, error.what());
  } catch (const std::exception &error) {
    return failure(Exit::usage, options.recording + ": " + error.what());
  }
#else
  static_cast<void>(options);
  return failure(Exit::usage, "this command was built without the simulated driver");
#endif
}

}  // namespace cushim::command
