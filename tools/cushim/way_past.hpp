// SPDX-License-Identifier: Apache-2.0
// Why a program that was started on the simulated driver did not come to it.
#pragma once

#include <string>

namespace cushim::command {

// In words, by what the program's file says of itself. program: as it was started, looked for as execvp()
// does.
std::string way_past(const std::string &program);

}  // namespace cushim::command
