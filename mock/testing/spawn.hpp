// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace cushim::testing {

// Returns the environment of the processes of this run: this process's without GoogleTest's own variables.
std::vector<char *> environment_of_child();

// Starts this program again with these arguments and this run's driver. The child inherits `file` as
// descriptor 3 (and gets --cushim-file=3), and its output goes to `output` unless that is -1.
// Throws std::runtime_error.
pid_t spawn(const std::vector<std::string> &arguments, int file, int output);

// Waits for a process. Returns its exit status, or the negative signal number.
int wait_for(pid_t process);

// Makes the kernel kill this process when the thread of the parent that started it ends.
void end_with_parent();

}  // namespace cushim::testing
