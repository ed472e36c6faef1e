// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "suite.hpp"

namespace cushim::ptx::random {

// Append forms that the parser's table does not describe completely.
void add_video_forms(std::vector<Form> &to);   // with selectors of bytes and half words
void add_move_forms(std::vector<Form> &to);    // moves of parts, and instructions of warps
void add_memory_forms(std::vector<Form> &to);  // loads, stores and atomics on memory of the thread

}  // namespace cushim::ptx::random
