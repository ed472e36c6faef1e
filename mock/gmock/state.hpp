// SPDX-License-Identifier: Apache-2.0
// What is behind a MockDriver.
#pragma once

#include <cushim/mock/expected.hpp>
#include <cushim/mock/mock_driver.hpp>

namespace cushim {
inline namespace v1 {
namespace mock {

class MockDriver::State final : public ExpectedRows {
 public:
  explicit State(int version);
  ~State() override;

  Frame &frame() noexcept override { return frame_; }
  // Fails the test.
  CUresult unset(const Call &call) override;
  std::string set_variants(int slot) const;

 private:
  Frame &frame_;  // last: calls may come as soon as it is taken
};

}  // namespace mock
}  // namespace v1
}  // namespace cushim
