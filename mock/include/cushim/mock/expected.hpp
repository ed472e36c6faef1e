// SPDX-License-Identifier: Apache-2.0
// What a test has set for the rows of a driver in a frame. Knows no test framework: GoogleMock's part is
// in method.hpp.
#pragma once

#include <cushim/mock/frame.hpp>
#include <cushim/mock/words.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace cushim {
inline namespace v1 {
namespace mock {

// What is set for one row.
class AnyExpected {
 public:
  virtual ~AnyExpected() = default;
};

template <class Signature>
class Expected;

template <class... Arguments>
class Expected<CUresult(Arguments...)> : public AnyExpected {
 public:
  // Answers a call; nothing if nothing is set that covers it.
  virtual std::optional<CUresult> answer(Arguments... arguments) = 0;
};

// Owns a frame, and hands its calls to what is set for their rows. All functions from any thread.
class ExpectedRows : public Owner {
 public:
  std::unique_ptr<AnyReceiver> make_receiver(int slot) final;

  virtual Frame &frame() noexcept = 0;
  // Answers a call for which nothing is set and nothing is allowed.
  virtual CUresult unset(const Call &call) = 0;

  // What is set for a row; null if nothing ever was.
  AnyExpected *expected(int slot) const noexcept { return expected_[slot].load(std::memory_order_acquire); }

  // The same, made if it is the first, of the type of this row.
  template <class Make>
  AnyExpected &expected(int slot, Make make) {
    const std::lock_guard lock(mutex_);
    if (AnyExpected *const present = expected(slot)) return *present;
    kept_.push_back(make());
    expected_[slot].store(kept_.back().get(), std::memory_order_release);
    return *kept_.back();
  }

  // What calls return for which nothing is set, without unset().
  void allow_unset(CUresult answer) noexcept { allowed_ = answer; }
  std::optional<CUresult> allowed() const noexcept {
    const int answer = allowed_.load(std::memory_order_relaxed);
    return answer == kNotAllowed ? std::nullopt : std::optional(static_cast<CUresult>(answer));
  }

 private:
  static constexpr int kNotAllowed = -1;  // no result, so not of its type
  std::atomic<int> allowed_{kNotAllowed};
  std::atomic<AnyExpected *> expected_[CUSHIM_ENTRY_COUNT]{};
  std::mutex mutex_;  // over kept_
  std::vector<std::unique_ptr<AnyExpected>> kept_;
};

}  // namespace mock
}  // namespace v1
}  // namespace cushim
