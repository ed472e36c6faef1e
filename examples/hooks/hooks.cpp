// SPDX-License-Identifier: Apache-2.0
// Observes the driver calls of a program, with this machine's driver or without one.
#include <cushim/cushim.hpp>

#include <iostream>

#include "call_counter.hpp"
#include "call_log.hpp"

namespace {

using cushim::Entry;

// The observed code; it does not know about hooks.
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
  CallCounter<Entry::cuInit, Entry::cuDeviceGetCount, Entry::cuDeviceGet> counter(driver);
  {
    const CallLog<Entry::cuInit, Entry::cuDeviceGetCount, Entry::cuDeviceGet> log(driver, std::cout);
    look_at_devices();
  }
  look_at_devices();  // counted, not logged
  std::cout << "cuInit " << counter.count<Entry::cuInit>() << ", cuDeviceGetCount "
            << counter.count<Entry::cuDeviceGetCount>() << ", cuDeviceGet "
            << counter.count<Entry::cuDeviceGet>() << '\n';
}
