// SPDX-License-Identifier: Apache-2.0
// Fresh processes, each made by fork from a process of this program that has registered its tests and loaded
// no driver. Starting the program for each of them takes ten times as long: it registers thousands of tests.
#pragma once

#include <sys/types.h>

#include <string>

#include "options.hpp"

namespace cushim::testing {

// Runs a test ("Suite.Name") in a fresh process, which has this process's environment, and waits for its end.
// Its answers and its output are written to these files. Returns its exit status, or the negative signal
// number. Throws std::runtime_error.
int run_in_fresh_process(const std::string &test, int answers, int output);

// Runs in the process that the first run_in_fresh_process() starts: forks a process for each request. Returns
// only in the forked processes, with the options for the test. Ends this process when the socket is closed.
Options serve_fresh_processes(Options options);

}  // namespace cushim::testing
