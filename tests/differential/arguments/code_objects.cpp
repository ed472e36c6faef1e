// SPDX-License-Identifier: Apache-2.0
// Modules, libraries, kernels and links.
#include <fmt/format.h>

#include "make_object.hpp"

namespace arguments {

CUmodule Objects::module() {
  return once<CUmodule>("module", [this](CUmodule *made) { return driver_->cuModuleLoadData(made, kPtx); });
}
CUfunction Objects::function(const char *name) {
  return once<CUfunction>(
      fmt::format("function {}", name),
      [&](CUfunction *made) { return driver_->cuModuleGetFunction(made, module(), name); },
      [](CUfunction) {});
}
CUlibrary Objects::library() {
  return once<CUlibrary>("library", [this](CUlibrary *made) {
    return driver_->cuLibraryLoadData(made, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0);
  });
}
CUkernel Objects::kernel(const char *name) {
  return once<CUkernel>(
      fmt::format("kernel {}", name),
      [&](CUkernel *made) { return driver_->cuLibraryGetKernel(made, library(), name); }, [](CUkernel) {});
}
CUlinkState Objects::link() {
  return once<CUlinkState>(
      "link", [this](CUlinkState *made) { return driver_->cuLinkCreate(0, nullptr, nullptr, made); });
}

}  // namespace arguments
