// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cushim/ptx/module.hpp>

namespace cushim::sim {

// Returns whether a function asks by `query` (txq or suq) the object of a handle for more than its width, its
// height and its depth. Measured on an H200, driver 580: a module has no kernel that does so by txq, and one
// with a kernel that does so by suq is not loaded.
bool asks_more_than_extents(const ptx::Module &module, const ptx::Function &function, ptx::Opcode query);

}  // namespace cushim::sim
