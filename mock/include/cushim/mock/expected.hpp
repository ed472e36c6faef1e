// SPDX-License-Identifier: Apache-2.0
// The expectations that a test sets for the entry points of a driver. Independent of the test framework:
// method.hpp has the GoogleMock part.
#pragma once

#include <cushim/mock/driver_slot.hpp>
#include <cushim/mock/text.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace cushim::mock {

// The result of a call that no expectation covers and no default action handles.
inline constexpr CUresult kUnexpected = CUDA_ERROR_NOT_SUPPORTED;

// The expectations for one entry point.
class AnyExpected {
 public:
  virtual ~AnyExpected() = default;
};

template <class Signature>
class Expected;

template <class... Arguments>
class Expected<CUresult(Arguments...)> : public AnyExpected {
 public:
  // Handles a call; returns nothing if no expectation covers it.
  virtual std::optional<CUresult> answer(Arguments... arguments) = 0;
};

// Owns a driver slot and dispatches its calls to the expectations. Thread-safe.
class ExpectedCalls : public Owner {
 public:
  std::unique_ptr<AnyReceiver> make_receiver(int slot) final;

  virtual DriverSlot &driver_slot() noexcept = 0;
  // Handles a call that no expectation covers and that allow_unset() does not allow.
  virtual CUresult unset(const Call &call) = 0;

  // Returns the expectations of an entry point; null if none were ever set.
  AnyExpected *expected(int slot) const noexcept { return expected_[slot].load(std::memory_order_acquire); }

  // The same, creating them with `make` if there are none.
  template <class Make>
  AnyExpected &expected(int slot, Make make) {
    const std::lock_guard lock(mutex_);
    if (AnyExpected *const present = expected(slot)) return *present;
    kept_.push_back(make());
    expected_[slot].store(kept_.back().get(), std::memory_order_release);
    return *kept_.back();
  }

  // Sets the code that calls without expectations return, in place of unset().
  void allow_unset(CUresult answer) noexcept { allowed_ = answer; }
  std::optional<CUresult> allowed() const noexcept {
    const int answer = allowed_.load(std::memory_order_relaxed);
    return answer == kNotAllowed ? std::nullopt : std::optional(static_cast<CUresult>(answer));
  }

 private:
  static constexpr int kNotAllowed = -1;  // not a CUresult, so this is an int
  std::atomic<int> allowed_{kNotAllowed};
  std::atomic<AnyExpected *> expected_[CUSHIM_ENTRY_COUNT]{};
  std::mutex mutex_;  // guards kept_
  std::vector<std::unique_ptr<AnyExpected>> kept_;
};

}  // namespace cushim::mock
