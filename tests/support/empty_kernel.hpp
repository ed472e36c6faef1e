// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/kernels.hpp"

namespace cushim::test {

// Loads a module into the current context, and returns its kernel, which has no parameters and does nothing.
// The module is unloaded with the context.
inline CUfunction empty_kernel() {
  return kernel_of(loaded_module(".version 7.8\n.target sm_52\n.visible .entry empty() { ret; }"), "empty");
}

}  // namespace cushim::test
