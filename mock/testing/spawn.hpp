// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace cushim::testing {

// Starts this program again with these arguments and this run's driver. It inherits file as descriptor 3
// (and is told so), and writes what it prints to output unless that is -1. GoogleTest's own environment
// variables do not reach it. Throws std::runtime_error.
pid_t spawn(const std::vector<std::string> &arguments, int file, int output);

// Waits: the exit status, or -signal.
int wait_for(pid_t process);

// Makes the kernel end this process when the thread of the parent that started it ends.
void end_with_parent();

}  // namespace cushim::testing
