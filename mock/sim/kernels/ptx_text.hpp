// SPDX-License-Identifier: Apache-2.0
// PTX as text: recognized, and several texts as one.
#pragma once

#include <string>
#include <string_view>

namespace cushim::sim {

// Returns whether the text begins as PTX does: with .version, after comments and white space.
bool is_ptx(std::string_view text);

// Appends PTX to a module, for a linker that works on text. If `module` is not empty, leaves out the
// directives that may occur only once, and definitions of .weak and .common names that the module defines;
// renames names of one text that the other declares, if they are neither visible nor external.
void append_ptx(std::string &module, std::string_view ptx);

}  // namespace cushim::sim
