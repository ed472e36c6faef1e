// SPDX-License-Identifier: Apache-2.0
// Calls as in user code; dispatch_code_test.cpp disassembles the object file.
#include <cushim/driver.hpp>

extern "C" {

// Calls through the current driver.
CUresult call_query(CUevent event) { return cushim::driver().cuEventQuery(event); }
CUresult call_alloc(CUdeviceptr *pointer, size_t bytes) {
  return cushim::driver().cuMemAlloc(pointer, bytes);
}

// More arguments than registers: dispatched at the call site.
CUresult call_launch(CUfunction function, void **parameters) {
  return cushim::driver().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);
}

// A call through a stored Driver reference needs one load less.
CUresult call_through_object(cushim::Driver &driver, CUevent event) { return driver.cuEventQuery(event); }
}
