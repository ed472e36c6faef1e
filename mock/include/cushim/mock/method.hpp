// SPDX-License-Identifier: Apache-2.0
// What EXPECT_CALL and ON_CALL find in a MockDriver under gmock_<symbol>. Declared for every entry, compiled
// only for those that a test file sets something for: an entry costs a file what a MOCK_METHOD costs,
// and the seven hundred that it does not mention cost next to nothing.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>

#include <cushim/mock/expected.hpp>
#include <cushim/mock/printers.hpp>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

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

  // Passes them on, with what is known about the row's variants added to what GoogleMock says of an
  // unexpected call. Whether it said that.
  bool pass_on(const MockDriver &mock, int slot) {
    reporter_.reset();
    return results_.size() != 0 && pass_on_all(mock, slot);
  }

 private:
  using Reporter = testing::ScopedFakeTestPartResultReporter;
  bool pass_on_all(const MockDriver &mock, int slot);

  testing::TestPartResultArray results_;
  std::optional<Reporter> reporter_;
};

// Shared by what GoogleMock is given, to learn when it has cleared it.
using Token = std::shared_ptr<const bool>;

// A matcher that also holds a token.
template <class T>
class WithToken : public testing::MatcherInterface<T> {
 public:
  WithToken(testing::Matcher<T> matcher, Token token)
      : matcher_(std::move(matcher)), token_(std::move(token)) {}
  bool MatchAndExplain(T value, testing::MatchResultListener *listener) const override {
    return matcher_.MatchAndExplain(value, listener);
  }
  void DescribeTo(std::ostream *out) const override { matcher_.DescribeTo(out); }
  void DescribeNegationTo(std::ostream *out) const override { matcher_.DescribeNegationTo(out); }

 private:
  testing::Matcher<T> matcher_;
  Token token_;
};

// GoogleMock's own mocker: what MOCK_METHOD makes for a method, used with the same calls.
//
// Below all that the test sets lies a default of ours, by which a call for which nothing is set is told
// from one that the test expects without saying what it returns.
template <class Signature>
class Mocker;

template <class... Arguments>
class Mocker<CUresult(Arguments...)> final : public Expected<CUresult(Arguments...)> {
  using Signature = CUresult(Arguments...);

 public:
  // GoogleMock knows the MockDriver by the address `owner`.
  Mocker(const MockDriver &mock, const void *owner, int slot) : mock_(mock), slot_(slot) {
    mocker_.SetOwnerAndName(owner, cushim_entry(slot)->symbol);
    mocker_.RegisterOwner(owner);
  }

  testing::MockSpec<Signature> to_expect(const testing::Matcher<Arguments> &...matchers) {
    set_default();
    if constexpr (sizeof...(Arguments) == 0)
      return mocker_.With();
    else
      return with_token(matchers...);
  }

  testing::MockSpec<Signature> to_default(const testing::Matcher<Arguments> &...matchers) {
    set_default();
    return mocker_.With(matchers...);
  }

  // Held by every expectation that is not cleared.
  const Token &expectations() const noexcept { return expectations_; }

  std::optional<CUresult> answer(Arguments... arguments) override {
    if (default_.expired()) return std::nullopt;  // all was cleared
    if (!is_expected()) {                         // so no call is an unexpected one
      const auto [result, is_default] = invoke(arguments...);
      return is_default ? std::nullopt : std::optional(result);
    }
    Failures failures;
    const auto [result, is_default] = invoke(arguments...);
    const bool is_unexpected = failures.pass_on(mock_, slot_);
    if (!is_default || is_unexpected) return result;
    return is_expected() ? std::optional(CUDA_SUCCESS) : std::nullopt;
  }

 private:
  bool is_expected() const noexcept { return expectations_.use_count() > 1; }

  // GoogleMock's answer, and whether it is our default's.
  std::pair<CUresult, bool> invoke(Arguments... arguments) {
    const bool outer = std::exchange(is_defaulted(), false);
    const CUresult result = mocker_.Invoke(arguments...);
    return {result, std::exchange(is_defaulted(), outer)};
  }

  // Whether our default has answered, in the innermost call of this thread.
  static bool &is_defaulted() noexcept {
    thread_local bool is_defaulted = false;
    return is_defaulted;
  }

  void set_default() {
    if (!default_.expired()) return;
    const Token token = std::make_shared<bool>();
    default_ = token;
    mocker_.With(testing::A<Arguments>()...)
        .InternalDefaultActionSetAt("cushim's mock driver", -1, "", "")
        .WillByDefault([token](Arguments...) {
          is_defaulted() = true;
          return CUDA_ERROR_NOT_SUPPORTED;
        });
  }

  template <class First, class... Rest>
  testing::MockSpec<Signature> with_token(const testing::Matcher<First> &first,
                                          const testing::Matcher<Rest> &...rest) {
    return mocker_.With(testing::Matcher<First>(new WithToken<First>(first, expectations_)), rest...);
  }

  const MockDriver &mock_;
  const int slot_;
  const Token expectations_ = std::make_shared<bool>();
  std::weak_ptr<const bool> default_;
  testing::internal::FunctionMocker<Signature> mocker_;
};

// What EXPECT_CALL and ON_CALL do with the matchers that they were given.
template <class Signature>
class Spec;

template <class... Arguments>
class Spec<CUresult(Arguments...)> {
  using Signature = CUresult(Arguments...);

 public:
  Spec(Mocker<Signature> &mocker, const testing::Matcher<Arguments> &...matchers)
      : mocker_(mocker), matchers_(matchers...) {}

  // GoogleMock's macros call these three.
  Spec &operator()(const testing::internal::WithoutMatchers &, void *) { return *this; }

  auto &InternalExpectedAt(const char *file, int line, const char *object, const char *call) {
    auto &expectation =
        std::apply([&](const auto &...matchers) { return mocker_.to_expect(matchers...); }, matchers_)
            .InternalExpectedAt(file, line, object, call);
    if constexpr (sizeof...(Arguments) == 0)
      expectation.With(testing::Matcher<const std::tuple<> &>(
          new WithToken<const std::tuple<> &>(testing::_, mocker_.expectations())));
    return expectation;
  }

  auto &InternalDefaultActionSetAt(const char *file, int line, const char *object, const char *call) {
    return std::apply([&](const auto &...matchers) { return mocker_.to_default(matchers...); }, matchers_)
        .InternalDefaultActionSetAt(file, line, object, call);
  }

 private:
  Mocker<Signature> &mocker_;
  std::tuple<testing::Matcher<Arguments>...> matchers_;
};

template <class Signature>
class Method;

template <class... Arguments>
class Method<CUresult(Arguments...)> {
  using Signature = CUresult(Arguments...);

 public:
  Spec<Signature> operator()(const testing::Matcher<Arguments> &...matchers);
  // For an expectation without a list of arguments.
  Spec<Signature> operator()(const testing::internal::WithoutMatchers &,
                             testing::internal::Function<Signature> *) {
    return (*this)(testing::A<Arguments>()...);
  }

 private:
  friend class MockDriver;
  Method(MockDriver &mock, int slot) noexcept : mock_(mock), slot_(slot) {}
  static std::unique_ptr<AnyExpected> make(const MockDriver &mock, const void *owner, int slot) {
    return std::unique_ptr<AnyExpected>(new Mocker<Signature>(mock, owner, slot));
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
