// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cushim/driver.hpp>

#include "support/need.hpp"

namespace cushim::test {

// Loads a module into the current context, and returns its kernel, which has no parameters and does nothing.
// The module is unloaded with the context.
inline CUfunction empty_kernel() {
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  need(driver().cuModuleLoadData(&module, ".version 7.8\n.target sm_52\n.visible .entry empty() { ret; }"));
  need(driver().cuModuleGetFunction(&kernel, module, "empty"));
  return kernel;
}

}  // namespace cushim::test
