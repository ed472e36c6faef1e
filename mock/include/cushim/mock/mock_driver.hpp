// SPDX-License-Identifier: Apache-2.0
// A mock driver with GoogleMock expectations:
//
//   cushim::mock::MockDriver mock;
//   cushim::ScopedDriver scope(mock);
//   EXPECT_CALL(mock, cuMemAlloc(_, 1024)).WillOnce(Gives(CUdeviceptr{0x1000}));
//   EXPECT_CALL(mock, cuMemFree(0x1000)).WillOnce(Returns(CUDA_ERROR_INVALID_VALUE));
//
// Every entry point can be expected by the name that <cuda.h> gives it in the current file: cuMemAlloc
// above means cuMemAlloc_v2. A call without an expectation, or that no expectation matches, fails the test
// with its arguments and returns CUDA_ERROR_NOT_SUPPORTED. An expected call without an action returns
// CUDA_SUCCESS.
#pragma once

#include <cushim/driver.hpp>
#include <cushim/mock/actions.hpp>
#include <cushim/mock/matchers.hpp>
#include <cushim/mock/method.hpp>

namespace cushim::mock {

// The type that GoogleMock registers the mock as: a NiceMock, since MockDriver reports unexpected calls
// itself.
class Registration {};

// A mock of the driver. At most 16 may exist at once, less those slots that hooks have taken
// (cushim/mock/driver_slot.hpp). Calls and expectations may come from any thread. Expectations are verified
// by the destructor, and by testing::Mock::VerifyAndClearExpectations(&mock). The destructor waits for
// calls in progress and must not run inside one. A call with an ON_CALL needs no expectation.
class MockDriver : private testing::NiceMock<Registration> {
 public:
  // Behaves as a driver of this version (12040 is 12.4), without later entry points. Throws PoolExhausted.
  // Makes no driver call.
  explicit MockDriver(int version = CUDA_VERSION);
  ~MockDriver();
  MockDriver(const MockDriver &) = delete;
  MockDriver &operator=(const MockDriver &) = delete;

  // Returns the driver whose calls reach this mock. Make it current with ScopedDriver, or pass it as a
  // Driver &. It outlives this object: later calls return CUDA_ERROR_DEINITIALIZED and fail the test.
  // cuGetProcAddress returns the mock's own functions, unless the test sets an expectation for it.
  Driver &driver() const noexcept;
  operator Driver &() const noexcept { return driver(); }

  // Makes calls without any expectation return `answer` without failing the test. For tests in which the
  // driver's results hardly matter. With CUDA_SUCCESS, the out-parameters of such calls stay unwritten.
  void allow_unset(CUresult answer) noexcept;

// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  Method<CUresult parameters> gmock_##symbol{*this, slot};
#define CUSHIM_ENTRY_UNTYPED(slot, symbol, base, version, thread, parameters, arguments) \
  UntypedMethod<version> gmock_##symbol;
#include <cushim/entry_points.inc>
  // clang-format on

  class State;  // defined in the library

 private:
  template <class>
  friend class Method;
  friend class Failures;
  // Instantiated in the caller's file.
  using Make = AnyExpected *(*)(const MockDriver &, const void *owner, int slot);
  // Returns the expectations of an entry point, creating them if there are none.
  AnyExpected &expected(int slot, Make make);
  // Returns the variants of the entry point that have expectations, as lines of a failure message.
  std::string set_variants(int slot) const;

  std::unique_ptr<State> state_;
};

template <class... Arguments>
AnyExpected &Method<CUresult(Arguments...)>::mocker() {
  return mock_.expected(slot_, &make_mocker<Signature>);
}

}  // namespace cushim::mock
