// SPDX-License-Identifier: Apache-2.0
// Which entry points of the simulated driver each test calls (--write-calls).
#pragma once

#include <cushim/sim/machine.hpp>

#include <string>

namespace cushim::testing {

// From now on this machine's calls are noted, if the options ask for it. The first process of a run begins
// the file: "# serves cuInit" for each entry point that the driver has; the processes that it starts go on
// with it. Throws std::runtime_error if the file cannot be written.
void begin_calls(sim::Machine &machine);

// Adds a line of what was called since the last one, if anything was: "Suite.Name: key = cuInit cuDeviceGet".
// A process that is killed leaves out its last one.
void note_calls(const std::string &key);

}  // namespace cushim::testing
