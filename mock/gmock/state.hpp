// SPDX-License-Identifier: Apache-2.0
// What is behind a MockDriver.
#pragma once

#include <cushim/mock/frame.hpp>
#include <cushim/mock/mock_driver.hpp>

namespace cushim {
inline namespace v1 {
namespace mock {

class MockDriver::State final : public Owner {
 public:
  explicit State(int version);
  ~State() override;

  Frame &frame() noexcept { return frame_; }
  std::unique_ptr<AnyReceiver> make_receiver(int slot) override;  // rows.cpp

  // What the test has set for a row; null if nothing ever.
  AnyExpected *expected(int slot) const noexcept { return expected_[slot].load(std::memory_order_acquire); }
  AnyExpected &expected(int slot, const MockDriver &mock, const void *owner, Make make);
  std::string set_variants(int slot) const;

  void allow_unset(CUresult answer) noexcept { allowed_ = answer; }
  // What calls return for which nothing is set; nothing if they must fail.
  std::optional<CUresult> allowed() const noexcept {
    const CUresult answer = allowed_.load(std::memory_order_relaxed);
    return answer == kNotAllowed ? std::nullopt : std::optional(answer);
  }
  // Fails the test for a call for which nothing is set.
  CUresult fail(const Call &call) const;

 private:
  static constexpr CUresult kNotAllowed = static_cast<CUresult>(~0u >> 1);
  std::atomic<CUresult> allowed_{kNotAllowed};
  std::atomic<AnyExpected *> expected_[CUSHIM_ENTRY_COUNT]{};
  std::mutex mutex_;  // over kept_
  std::vector<std::unique_ptr<AnyExpected>> kept_;
  Frame &frame_;  // last: calls may come as soon as it is taken
};

}  // namespace mock
}  // namespace v1
}  // namespace cushim
