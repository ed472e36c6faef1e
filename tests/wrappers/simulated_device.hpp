// SPDX-License-Identifier: Apache-2.0
// A fixture of tests that run wrappers on the simulated driver.
#pragma once

#include <gtest/gtest.h>
#include <cushim/cushim.hpp>
#include <cushim/sim/machine.hpp>

namespace cushim::test {

// Makes a simulated machine the current driver, and the primary context of its device 0 the current context.
class SimulatedDevice : public testing::Test {
 public:
  sim::Machine machine;
  ScopedDriver scope{machine.driver()};
  int initialized = (init(), 1);
  Device device = Device::get(0);
  PrimaryContext primary = PrimaryContext::retain(device);
  ScopedContext current{primary};
};

}  // namespace cushim::test
