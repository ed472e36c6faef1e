// SPDX-License-Identifier: Apache-2.0
// What EXPECT_CALL and ON_CALL find in a MockDriver under gmock_<symbol>. Declared for every entry, compiled
// only for those that a test file sets something for: an entry costs a file what a MOCK_METHOD costs,
// and the seven hundred that it does not mention cost next to nothing.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>

#include <cushim/mock/printers.hpp>

#include <memory>
#include <optional>
#include <string>

namespace cushim {
inline namespace v1 {
namespace mock {

class MockDriver;

// What GoogleMock reports while it answers one call. It tells the test that a call was not expected, but
// not its caller, who must then not let the call succeed; so the reports come by here.
class Failures {
 public:
  // From here on, failures of this thread wait.
  Failures() : reporter_(std::in_place, Reporter::INTERCEPT_ONLY_CURRENT_THREAD, &results_) {}
  // If the call was left by an exception, passes them on as they are.
  ~Failures();
  Failures(const Failures &) = delete;
  Failures &operator=(const Failures &) = delete;

  enum class Verdict {
    answered,    // by an expectation or a default that the test has set
    unexpected,  // no expectation matches the arguments, or it is used up
    unset,       // nothing is set any more
  };

  // Passes them on, with what is known about the row's variants added to GoogleMock's own words. What
  // it says of an unset call is left out, for MockDriver says it better.
  Verdict pass_on(const MockDriver &mock, int slot) {
    reporter_.reset();
    return results_.size() == 0 ? Verdict::answered : pass_on_all(mock, slot);
  }

 private:
  using Reporter = testing::ScopedFakeTestPartResultReporter;
  Verdict pass_on_all(const MockDriver &mock, int slot);

  testing::TestPartResultArray results_;
  std::optional<Reporter> reporter_;
};

// What the test has set for one row of one mock.
class AnyExpected {
 public:
  virtual ~AnyExpected() = default;
};

template <class Signature>
class Expected;

template <class... Arguments>
class Expected<CUresult(Arguments...)> : public AnyExpected {
 public:
  // Answers a call; nothing if nothing is set any more.
  virtual std::optional<CUresult> answer(Arguments... arguments) = 0;
};

// GoogleMock's own mocker, what MOCK_METHOD makes for a method, and used with the same calls.
template <class Signature>
class Mocker;

template <class... Arguments>
class Mocker<CUresult(Arguments...)> final : public Expected<CUresult(Arguments...)> {
 public:
  // GoogleMock knows the MockDriver by the address `owner`.
  Mocker(const MockDriver &mock, const void *owner, int slot) : mock_(mock), slot_(slot) {
    mocker_.SetOwnerAndName(owner, cushim_entry(slot)->symbol);
    mocker_.RegisterOwner(owner);
  }

  testing::MockSpec<CUresult(Arguments...)> with(const testing::Matcher<Arguments> &...matchers) {
    return mocker_.With(matchers...);
  }

  std::optional<CUresult> answer(Arguments... arguments) override {
    Failures failures;
    const CUresult result = mocker_.Invoke(arguments...);
    switch (failures.pass_on(mock_, slot_)) {
      case Failures::Verdict::answered:
        return result;
      case Failures::Verdict::unexpected:
        return CUDA_ERROR_NOT_SUPPORTED;
      case Failures::Verdict::unset:
        break;
    }
    return std::nullopt;
  }

 private:
  const MockDriver &mock_;
  const int slot_;
  testing::internal::FunctionMocker<CUresult(Arguments...)> mocker_;
};

template <class Signature>
class Method;

template <class... Arguments>
class Method<CUresult(Arguments...)> {
  using Signature = CUresult(Arguments...);

 public:
  testing::MockSpec<Signature> operator()(const testing::Matcher<Arguments> &...matchers);
  // For an expectation without a list of arguments.
  testing::MockSpec<Signature> operator()(const testing::internal::WithoutMatchers &,
                                          testing::internal::Function<Signature> *) {
    return (*this)(testing::A<Arguments>()...);
  }

 private:
  friend class MockDriver;
  Method(MockDriver &mock, int slot) noexcept : mock_(mock), slot_(slot) {}
  static std::unique_ptr<AnyExpected> make(const MockDriver &mock, const void *owner, int slot) {
    return std::make_unique<Mocker<Signature>>(mock, owner, slot);
  }

  MockDriver &mock_;
  int slot_;
};

// A row whose types need newer CUDA headers than these.
template <int NeededCudaVersion>
class UntypedMethod {
 public:
  template <class... Arguments>
  void operator()(Arguments &&...) const {
    static_assert(sizeof...(Arguments) + 1 == 0,
                  "this entry point needs newer CUDA headers; see UntypedMethod's argument");
  }

 private:
  // As large as the other, so that a MockDriver is the same under all headers.
  void *unused_pointer_ = nullptr;
  int unused_number_ = 0;
};

}  // namespace mock
}  // namespace v1
}  // namespace cushim
