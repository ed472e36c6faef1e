// SPDX-License-Identifier: Apache-2.0
// Records walks in child processes, so that a walk that crashes, hangs or leaves a broken context ends alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "recording.hpp"

namespace differential {

// The task of a worker process.
struct WorkOfWorker {
  std::function<std::string()> begin;                            // loads the driver; returns its description
  std::function<std::vector<Step>(std::uint64_t seed)> walk;     // makes a walk
  std::function<bool()> is_usable;                               // returns whether another walk may follow
  std::function<void(std::function<void(const Step &)>)> watch;  // sets a function to call before each call
};

struct WorkerOptions {
  std::uint64_t first = 0, count = 0;
  unsigned runs = 2, processes = 4;
  double seconds = 0;       // starts no walk later than that; 0: no limit
  double longest_walk = 5;  // kills a process that needs more seconds for a walk
  // Records these walks again instead of those from `first` on, and drops those with other answers. Walks
  // that there was no time to run stay. Not owned.
  const Recording *before = nullptr;
};

// Records each walk `runs` times. Drops walks with different answers, and those without enough runs. A walk
// that ends the process is recorded up to the call before; its last answer is "crash".
Recording record_in_workers(const WorkOfWorker &work, const WorkerOptions &options, Kind kind);

}  // namespace differential
