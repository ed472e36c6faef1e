// SPDX-License-Identifier: Apache-2.0
// The implementation of MockDriver.
#pragma once

#include <cushim/mock/expected.hpp>
#include <cushim/mock/mock_driver.hpp>

namespace cushim::mock {

class MockDriver::State final : public ExpectedCalls {
 public:
  explicit State(int version);
  ~State() override;

  DriverSlot &driver_slot() noexcept override { return driver_slot_; }
  // Fails the test.
  CUresult unset(const Call &call) override;
  std::string set_variants(int slot) const;

 private:
  DriverSlot &driver_slot_;  // last member: calls may arrive as soon as it is taken
};

}  // namespace cushim::mock
