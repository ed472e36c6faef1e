// SPDX-License-Identifier: Apache-2.0
// Calls of a driver that must not fail, and processor time.
#pragma once

#include <cuda.h>
#include <time.h>

#include <stdexcept>
#include <string>

namespace cushim::bench {

// Throws if a call failed.
inline void need(CUresult code) {
  if (code != CUDA_SUCCESS) throw std::runtime_error("a call answered " + std::to_string(code));
}

// Initializes a driver, and makes the primary context of a device current.
void enter(const auto &driver, int device = 0) {
  CUcontext context = nullptr;
  need(driver.cuInit(0));
  need(driver.cuDevicePrimaryCtxRetain(&context, device));
  need(driver.cuCtxSetCurrent(context));
}

// Returns the processor time of all threads of the process.
inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}
double processor_seconds_of(auto &&work) {
  const double start = processor_seconds();
  work();
  return processor_seconds() - start;
}

}  // namespace cushim::bench
