// SPDX-License-Identifier: Apache-2.0
// A driver with expectations, for GoogleMock:
//
//   cushim::mock::MockDriver mock;
//   cushim::ScopedDriver scope(mock);
//   EXPECT_CALL(mock, cuMemAlloc(_, 1024)).WillOnce(Gives(CUdeviceptr{0x1000}));
//   EXPECT_CALL(mock, cuMemFree(0x1000)).WillOnce(Returns(CUDA_ERROR_INVALID_VALUE));
//
// Every entry point can be expected, by the name that <cuda.h> gives the call in the file at hand:
// cuMemAlloc above means cuMemAlloc_v2. A call for which nothing is set fails the test, with its
// arguments, and returns CUDA_ERROR_NOT_SUPPORTED; so does one that no expectation matches. One that is
// expected without an action returns CUDA_SUCCESS.
#pragma once

#include <cushim/driver.hpp>
#include <cushim/mock/actions.hpp>
#include <cushim/mock/matchers.hpp>
#include <cushim/mock/method.hpp>

namespace cushim {
inline namespace v1 {
namespace mock {

// What GoogleMock takes a MockDriver for: a mock that sees by itself to calls without an expectation.
class Registration {};

// A mock of the driver. Up to 16 may live at once, less what hooks have taken (cushim/mock/frame.hpp).
// Calls and expectations from any thread. Expectations are verified when it ends, and by
// testing::Mock::VerifyAndClearExpectations(&mock). It waits at its end for the calls inside, and must not
// end inside one. What is set with ON_CALL is answered without being expected.
class MockDriver : private testing::NiceMock<Registration> {
 public:
  // Plays a driver of this version (12040 is 12.4): what came later it does not have. Throws
  // PoolExhausted. Makes no driver call.
  explicit MockDriver(int version = CUDA_VERSION);
  ~MockDriver();
  MockDriver(const MockDriver &) = delete;
  MockDriver &operator=(const MockDriver &) = delete;

  // The driver whose calls come here. Make it current with ScopedDriver, or hand it to what takes a
  // Driver &. It outlives this object: then calls return CUDA_ERROR_DEINITIALIZED and fail the test.
  // cuGetProcAddress answers its own functions, unless the test sets something else for it.
  Driver &driver() const noexcept;
  operator Driver &() const noexcept { return driver(); }

  // From now on, calls for which nothing at all is set return this and do not fail the test. For tests of
  // what a program does where the driver does little. With CUDA_SUCCESS, what calls have to write stays
  // unwritten.
  void allow_unset(CUresult answer) noexcept;

// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  Method<CUresult parameters> gmock_##symbol{*this, slot};
#define CUSHIM_ENTRY_UNTYPED(slot, symbol, base, version, thread, parameters, arguments) \
  UntypedMethod<version> gmock_##symbol;
#include <cushim/entry_points.inc>
  // clang-format on

  class State;  // the library's

 private:
  template <class>
  friend class Method;
  friend class Failures;
  using Make = std::unique_ptr<AnyExpected> (*)(const MockDriver &, const void *owner, int slot);
  // What is set for a row; made if it is the first.
  AnyExpected &expected(int slot, Make make);
  // Variants of the row for which something is set, as lines of a failure's message.
  std::string set_variants(int slot) const;

  std::unique_ptr<State> state_;
};

template <class... Arguments>
Spec<CUresult(Arguments...)> Method<CUresult(Arguments...)>::operator()(
    const testing::Matcher<Arguments> &...matchers) {
  return {static_cast<Mocker<Signature> &>(mock_.expected(slot_, &make)), matchers...};
}

}  // namespace mock
}  // namespace v1
}  // namespace cushim
