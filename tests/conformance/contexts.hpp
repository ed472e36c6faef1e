// SPDX-License-Identifier: Apache-2.0
// The fixture of the statements about contexts.
#pragma once

#include "conformance.hpp"

namespace conformance {

// A context in context_out is destroyed at the end of the test.
class Contexts : public OnDevice {
 protected:
  void TearDown() override {
    if (context_out != nullptr) driver().cuCtxDestroy(context_out);
    OnDevice::TearDown();
  }

 public:
  CUcontext current() {
    CUcontext current = nullptr;
    NEED(driver().cuCtxGetCurrent(&current));
    return current;
  }
  // Creates a context that the test destroys, and that is not current.
  static CUcontext own_context() {
    CUcontext made = nullptr, popped = nullptr;
    NEED(driver().cuCtxCreate_v2(&made, 0, 0));
    NEED(driver().cuCtxPopCurrent(&popped));
    return made;
  }
  CUctxCreateParams parameters = {};
  CUexecAffinityParam affinity = {};
};

}  // namespace conformance
