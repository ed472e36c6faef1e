// SPDX-License-Identifier: Apache-2.0
// Paths of the fake drivers (tests/support/fakes), and access to their functions.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>

// Returns the directory of a fake driver, for a search path.
inline std::string fake_folder(const std::string &fake) { return CUSHIM_TEST_FAKES "/" + fake; }

inline std::string fake_path(const std::string &fake) { return fake_folder(fake) + "/libcuda.so.1"; }

// Returns a function of a fake driver that this process has loaded; tests read the driver's state with it
// (tests/support/fakes/fake.h). Throws std::runtime_error if there is none.
template <class Function>
Function *fake_function(const std::string &fake, const char *name) {
  void *handle = dlopen(fake_path(fake).c_str(), RTLD_NOW | RTLD_NOLOAD);
  void *function = handle != nullptr ? dlsym(handle, name) : nullptr;
  if (function == nullptr) throw std::runtime_error("no " + std::string(name) + " in " + fake_path(fake));
  dlclose(handle);  // the driver stays loaded
  return reinterpret_cast<Function *>(function);
}
