// SPDX-License-Identifier: Apache-2.0
// Kernels of modules that tests load. The current driver unloads the modules with their contexts.
#pragma once

#include <cushim/driver.hpp>

#include <string>

#include "support/need.hpp"

namespace cushim::test {

// Loads PTX into the current context.
inline CUmodule loaded_module(const std::string &ptx) {
  CUmodule module = nullptr;
  need(driver().cuModuleLoadData(&module, ptx.c_str()));
  return module;
}

inline CUfunction kernel_of(CUmodule module, const char *name) {
  CUfunction kernel = nullptr;
  need(driver().cuModuleGetFunction(&kernel, module, name));
  return kernel;
}

}  // namespace cushim::test
