// SPDX-License-Identifier: Apache-2.0
#include <cushim/replay/recording.hpp>
#include <cushim/trace/trace.hpp>

#include <cstdio>
#include <exception>
#include <iostream>

#include "common/text.hpp"
#include "replay/replay.hpp"

namespace cushim::command {

int list_recording(const ReplayOptions &options) {
  try {
    const replay::Recording recording = replay::Recording::read(options.recording);
    if (const auto offset = recording.incomplete_block())
      std::fprintf(stderr, "cushim replay: the recording ends inside the block at offset %llu\n",
                   static_cast<unsigned long long>(*offset));
    else if (!recording.is_complete())
      std::fputs(
          "cushim replay: the process did not end normally, or still runs: its last calls are missing\n",
          stderr);
    (options.as_json ? trace::write_json : trace::write_text)(recording.trace(), std::cout);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "cushim replay: %s: %s\n", printable(options.recording).c_str(),
                 printable(error.what()).c_str());
    return static_cast<int>(Exit::usage);
  }
  return static_cast<int>(std::cout.flush() ? Exit::good : Exit::finding);
}

}  // namespace cushim::command
