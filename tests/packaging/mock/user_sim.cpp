// SPDX-License-Identifier: Apache-2.0
// A user's program that uses the simulated driver.
#include <cushim/cushim.hpp>
#include <cushim/sim/machine.hpp>

int main() {
  const cushim::sim::Machine machine({.devices = "h200x2"});
  const cushim::ScopedDriver scope(machine.driver());
  int devices = 0;
  const bool counted = cushim::driver().cuInit(0) == CUDA_SUCCESS &&
                       cushim::driver().cuDeviceGetCount(&devices) == CUDA_SUCCESS;
  return counted && devices == 2 ? 0 : 1;
}
