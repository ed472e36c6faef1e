// SPDX-License-Identifier: Apache-2.0
// Records which entry points of the simulated driver each test calls (--write-calls).
#pragma once

#include <cushim/sim/machine.hpp>

#include <string>

namespace cushim::testing {

// Starts recording this machine's calls if --write-calls is set. The first process of a run creates the
// file, with "# serves cuInit" for each entry point that the driver has; the processes that it starts
// append to it. Throws std::runtime_error if the file cannot be written.
void begin_calls(sim::Machine &machine);

// Appends a line with the calls since the last line, if there were any: "Suite.Name: key = cuInit
// cuDeviceGet". The last line of a process that is killed is lost.
void record_calls(const std::string &key);

}  // namespace cushim::testing
