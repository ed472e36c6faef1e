// SPDX-License-Identifier: Apache-2.0
// The members that EXPECT_CALL and ON_CALL find in a MockDriver as gmock_<symbol>. Declared for every entry
// point but compiled only for those that a test file uses. An entry point of a common signature costs a
// file only its actions, another one as much as a MOCK_METHOD; the seven hundred unused ones cost next to
// nothing.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>

#include <cushim/mock/actions.hpp>
#include <cushim/mock/common_signatures.hpp>
#include <cushim/mock/expected.hpp>
#include <cushim/mock/printers.hpp>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace cushim::mock {

class MockDriver;

// Intercepts the failures that GoogleMock reports while it handles one call. GoogleMock reports an
// unexpected call to the test but not to the mock, which must then not return success.
class Failures {
 public:
  // Holds back the failures of this thread from here on.
  Failures() : reporter_(std::in_place, Reporter::INTERCEPT_ONLY_CURRENT_THREAD, &results_) {}
  // If an exception left the call, forwards the failures unchanged.
  ~Failures();
  Failures(const Failures &) = delete;
  Failures &operator=(const Failures &) = delete;

  // Forwards the failures, with the call in cushim's format. To the report of an unexpected call, adds the
  // variants of the entry point that have expectations. Returns whether the call was unexpected.
  bool pass_on(const MockDriver &mock, const Call &call) {
    reporter_.reset();
    return results_.size() != 0 && pass_on_all(mock, call);
  }

 private:
  using Reporter = testing::ScopedFakeTestPartResultReporter;
  bool pass_on_all(const MockDriver &mock, const Call &call);

  testing::TestPartResultArray results_;
  std::optional<Reporter> reporter_;
};

// Shared by the matchers given to GoogleMock; its use count shows when GoogleMock has cleared them.
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

// Returns an equivalent matcher whose description shows numbers of two digits and more in hexadecimal.
testing::Matcher<CUdeviceptr> in_hexadecimal(const testing::Matcher<CUdeviceptr> &matcher);

// Returns the matcher of an argument for GoogleMock: the one that `given` points to, or one for any value
// if null.
template <class T>
testing::Matcher<T> matcher_of(const void *given) {
  if (given == nullptr) return testing::A<T>();
  const auto &matcher = *static_cast<const testing::Matcher<T> *>(given);
  if constexpr (std::is_same_v<T, CUdeviceptr>)
    return in_hexadecimal(matcher);
  else
    return matcher;
}

// The source location of an EXPECT_CALL or ON_CALL, and the matchers of its arguments: as pointers, so that
// a test file needs no types of its own for each parameter list. Valid as long as the statement.
struct SpecLocation {
  const char *file;
  int line;
  const char *object;
  const char *call;
  const void *const *matchers;
};

// A GoogleMock mocker, as MOCK_METHOD makes it for a method. A default action below all that the test sets
// distinguishes a call without any expectation from an expected one without an action.
template <class Signature>
class Mocker;

template <class... Arguments>
class Mocker<CUresult(Arguments...)> final : public Expected<CUresult(Arguments...)> {
  using Signature = CUresult(Arguments...);

 public:
  // `owner` is the address by which GoogleMock knows the MockDriver.
  Mocker(const MockDriver &mock, const void *owner, int slot) : mock_(mock), slot_(slot) {
    mocker_.SetOwnerAndName(owner, cushim_entry(slot)->symbol);
    mocker_.RegisterOwner(owner);
  }

  auto &expect(const SpecLocation &location) {
    set_default();
    auto spec = to_expect(location.matchers, std::index_sequence_for<Arguments...>());
    auto &expectation = spec.InternalExpectedAt(location.file, location.line, location.object, location.call);
    if constexpr (sizeof...(Arguments) == 0)
      expectation.With(testing::Matcher<const std::tuple<> &>(
          new WithToken<const std::tuple<> &>(testing::_, expectations_)));
    return expectation;
  }

  auto &set_default_at(const SpecLocation &location) {
    set_default();
    return [&]<std::size_t... i>(std::index_sequence<i...>)->auto & {
      return mocker_.With(matcher_of<Arguments>(location.matchers[i])...)
          .InternalDefaultActionSetAt(location.file, location.line, location.object, location.call);
    }
    (std::index_sequence_for<Arguments...>());
  }

  // Held by every expectation that GoogleMock has not cleared.
  const Token &expectations() const noexcept { return expectations_; }

  std::optional<CUresult> answer(Arguments... arguments) override {
    if (default_.expired()) return std::nullopt;  // all expectations were cleared
    if (!is_expected()) {                         // then no call counts as unexpected
      const auto [result, is_default] = invoke(arguments...);
      return is_default ? std::nullopt : std::optional(result);
    }
    Failures failures;
    const auto [result, is_default] = invoke(arguments...);
    const std::array<Value, sizeof...(Arguments)> values{Value(arguments)...};
    const bool is_unexpected = failures.pass_on(mock_, {static_cast<Entry>(slot_), values});
    if (!is_default || is_unexpected) return result;
    return is_expected() ? std::optional(CUDA_SUCCESS) : std::nullopt;
  }

 private:
  bool is_expected() const noexcept { return expectations_.use_count() > 1; }

  // Returns GoogleMock's result, and whether it came from the default action.
  std::pair<CUresult, bool> invoke(Arguments... arguments) {
    const bool outer = std::exchange(is_defaulted(), false);
    const CUresult result = mocker_.Invoke(arguments...);
    return {result, std::exchange(is_defaulted(), outer)};
  }

  // True if the default action handled the innermost call of this thread.
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
          return kUnexpected;
        });
  }

  // Makes the expectation's matchers. The first one holds a token.
  template <std::size_t... i>
  testing::MockSpec<Signature> to_expect(const void *const *matchers, std::index_sequence<i...>) {
    return mocker_.With(with_token<i>(matcher_of<Arguments>(matchers[i]))...);
  }
  template <std::size_t i, class T>
  testing::Matcher<T> with_token(testing::Matcher<T> matcher) const {
    if constexpr (i == 0)
      return testing::Matcher<T>(new WithToken<T>(std::move(matcher), expectations_));
    else
      return matcher;
  }

  const MockDriver &mock_;
  const int slot_;
  const Token expectations_ = std::make_shared<bool>();
  std::weak_ptr<const bool> default_;
  testing::internal::FunctionMocker<Signature> mocker_;
};

// The functions that need a Mocker of this signature. Not inline: the library contains those of the
// signatures in common_signatures.hpp, so a test file that uses no others compiles no GoogleMock mocker.
template <class Signature>
AnyExpected *make_mocker(const MockDriver &mock, const void *owner, int slot) {
  return new Mocker<Signature>(mock, owner, slot);
}
template <class Signature>
testing::internal::TypedExpectation<Signature> &expect(AnyExpected &mocker, const SpecLocation &location) {
  return static_cast<Mocker<Signature> &>(mocker).expect(location);
}
template <class Signature>
testing::internal::OnCallSpec<Signature> &set_default(AnyExpected &mocker, const SpecLocation &location) {
  return static_cast<Mocker<Signature> &>(mocker).set_default_at(location);
}

#define CUSHIM_COMMON_SIGNATURE(...)                                                                         \
  extern template AnyExpected *make_mocker<CUresult(__VA_ARGS__)>(const MockDriver &, const void *, int);    \
  extern template testing::internal::TypedExpectation<CUresult(__VA_ARGS__)> &expect<CUresult(__VA_ARGS__)>( \
      AnyExpected &, const SpecLocation &);                                                                  \
  extern template testing::internal::OnCallSpec<CUresult(__VA_ARGS__)> &set_default<CUresult(__VA_ARGS__)>(  \
      AnyExpected &, const SpecLocation &);                                                                  \
  extern template testing::Action<CUresult(__VA_ARGS__)> detail::return_code<CUresult(__VA_ARGS__)>(CUresult);
CUSHIM_COMMON_SIGNATURES(CUSHIM_COMMON_SIGNATURE)
#undef CUSHIM_COMMON_SIGNATURE

// The result of calling a Method with matchers, which EXPECT_CALL and ON_CALL use.
template <class Signature, std::size_t count>
class Spec {
 public:
  Spec(AnyExpected &mocker, const std::array<const void *, count> &matchers)
      : mocker_(mocker), matchers_(matchers) {}

  // GoogleMock's macros call these three.
  Spec &operator()(const testing::internal::WithoutMatchers &, void *) { return *this; }

  auto &InternalExpectedAt(const char *file, int line, const char *object, const char *call) {
    return expect<Signature>(mocker_, {file, line, object, call, matchers_.data()});
  }

  auto &InternalDefaultActionSetAt(const char *file, int line, const char *object, const char *call) {
    return set_default<Signature>(mocker_, {file, line, object, call, matchers_.data()});
  }

 private:
  AnyExpected &mocker_;
  std::array<const void *, count> matchers_;
};

template <class Signature>
class Method;

template <class... Arguments>
class Method<CUresult(Arguments...)> {
  using Signature = CUresult(Arguments...);
  using SpecOfIt = Spec<Signature, sizeof...(Arguments)>;

 public:
  SpecOfIt operator()(const testing::Matcher<Arguments> &...matchers) {
    return {mocker(), {static_cast<const void *>(&matchers)...}};
  }
  // For an expectation without a list of arguments.
  SpecOfIt operator()(const testing::internal::WithoutMatchers &, testing::internal::Function<Signature> *) {
    return {mocker(), {}};
  }

 private:
  friend class MockDriver;
  Method(MockDriver &mock, int slot) noexcept : mock_(mock), slot_(slot) {}
  AnyExpected &mocker();

  MockDriver &mock_;
  int slot_;
};

// An entry point whose types need newer CUDA headers than these.
template <int NeededCudaVersion>
class UntypedMethod : public CushimUntypedEntry<NeededCudaVersion> {
 private:
  // As large as Method, so that MockDriver has the same layout with all headers.
  int unused_number_ = 0;
};

}  // namespace cushim::mock
