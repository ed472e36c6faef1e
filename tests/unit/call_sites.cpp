// SPDX-License-Identifier: Apache-2.0
// Calls as users write them, for dispatch_code_test.cpp to look at in the object file.
#include <cushim/driver.hpp>

extern "C" {

// Calls through whatever driver is current.
CUresult call_query(CUevent event) { return cushim::driver().cuEventQuery(event); }
CUresult call_alloc(CUdeviceptr *pointer, size_t bytes) {
  return cushim::driver().cuMemAlloc(pointer, bytes);
}

// More arguments than registers hold: dispatched at the call site.
CUresult call_launch(CUfunction function, void **parameters) {
  return cushim::driver().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);
}

// Through an object that remembers its driver: one load less.
CUresult call_through_object(cushim::Driver &driver, CUevent event) { return driver.cuEventQuery(event); }
}
