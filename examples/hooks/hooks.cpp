// SPDX-License-Identifier: Apache-2.0
// Watches what a program asks of the driver, on whatever driver this machine has, or without any.
#include <cushim/cushim.hpp>

#include <iostream>

#include "call_counter.hpp"
#include "call_log.hpp"

namespace {

// Knows nothing of hooks.
void look_at_devices() {
  cushim::driver().cuInit(0);
  int count = 0;
  if (cushim::driver().cuDeviceGetCount(&count) != CUDA_SUCCESS) return;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    CUdevice device;
    cushim::driver().cuDeviceGet(&device, ordinal);
  }
}

}  // namespace

int main() {
  cushim::Driver &driver = cushim::current_driver();
  CallCounter<&cuInit, &cuDeviceGetCount, &cuDeviceGet> counter(driver);
  {
    const CallLog<&cuInit, &cuDeviceGetCount, &cuDeviceGet> log(driver, std::cout);
    look_at_devices();
  }
  look_at_devices();  // counted, not logged
  std::cout << "cuInit " << counter.count<&cuInit>() << ", cuDeviceGetCount "
            << counter.count<&cuDeviceGetCount>() << ", cuDeviceGet " << counter.count<&cuDeviceGet>()
            << '\n';
}
