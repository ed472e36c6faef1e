// SPDX-License-Identifier: Apache-2.0
// Recognizes PTX text, and merges several texts into one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cushim::sim {

// Returns whether the text begins as PTX does: with .version, after comments and white space.
bool is_ptx(std::string_view text);

// Appends PTX to a module, for a linker that works on text. The module keeps the newer .version and the
// higher .target of the two. If `module` is not empty, leaves out the directives that may occur only once,
// and definitions of .weak and .common names that the module defines; renames names of one text that the
// other declares, if they are neither visible nor external.
void append_ptx(std::string &module, std::string_view ptx);

// Returns the PTX with a limit of registers (.maxnreg) for each kernel that has neither launch bounds
// (.maxntid) nor a limit of its own, as the compiler's option -maxrregcount limits them.
std::string with_register_limit(std::string_view ptx, unsigned max_registers);

// Returns the PTX with definitions of functions that are only declared. They trap, so no kernel may reach
// them.
std::string with_traps(std::string_view ptx, const std::vector<std::string> &functions);

}  // namespace cushim::sim
