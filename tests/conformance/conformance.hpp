// SPDX-License-Identifier: Apache-2.0
// What the statements share. Each says what the real driver does: where its documentation says otherwise,
// the statement follows the driver and a comment says so.
#pragma once

#include <cushim/error.hpp>
#include <cushim/testing.hpp>

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

// For GoogleTest's messages: a code by name and number.
inline void PrintTo(CUresult code, std::ostream *stream) { *stream << cushim::testing::name_of(code); }

namespace conformance {

using cushim::driver;
using cushim::testing::answer;
using cushim::testing::Child;
using cushim::testing::Hold;
using cushim::testing::hold;

// The key of an answer: the call as it is written, without the words that every call begins with.
std::string key_of(std::string text);

void expect_answer(const char *file, int line, const std::string &text, CUresult actual, CUresult expected);

// The call answers this code; the answer is recorded under the text of the call.
#define EXPECT_ANSWER(call, code) ::conformance::expect_answer(__FILE__, __LINE__, #call, call, code)

// The same for other values than codes.
#define EXPECT_VALUE(expression, expected) \
  EXPECT_EQ(::conformance::answer(::conformance::key_of(#expression), expression), expected)

// For what differs between devices: only recorded.
#define RECORD_VALUE(expression) \
  static_cast<void>(::conformance::answer(::conformance::key_of(#expression), expression))

// A test of one call. (A macro of its own, since <cuda.h>'s macros would change the text of the call if it
// were handed on.)
#define STATEMENT(suite, name, call, code) \
  TEST_F(suite, name) { ::conformance::expect_answer(__FILE__, __LINE__, #call, call, code); }

// Makes a call that must succeed for the test to mean anything.
#define NEED(call) ::conformance::need(__FILE__, __LINE__, #call, call)
void need(const char *file, int line, const char *text, CUresult code);

// For a process that a test has started: initializes the driver, and makes the primary context of this device
// current for the rest of the process.
void make_context(CUdevice device = 0);

// The driver is initialized; no context is current.
class Initialized : public ::testing::Test {
 protected:
  void SetUp() override;

 public:
  CUdevice device = 0;
};

// The primary context of device 0 is current. What the members make is destroyed at the end of the test.
class OnDevice : public Initialized {
 protected:
  void SetUp() override;
  void TearDown() override;

 public:
  CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING);
  CUevent event(unsigned flags = CU_EVENT_DISABLE_TIMING);
  CUdeviceptr memory(std::size_t bytes = 4096);
  CUdeviceptr managed(std::size_t bytes = 4096);
  void *pinned(std::size_t bytes = 4096);
  void *registered(std::size_t bytes = 4096);  // page-aligned
  // A second context on the device, not current.
  CUcontext other_context();
  // Something made while the other context is current.
  template <class Make>
  auto in_other_context(Make make) {
    return in(other_context(), make);
  }
  // What an action returns, done while the context is current.
  template <class Action>
  auto in(CUcontext wanted, Action action) {
    need(__FILE__, __LINE__, "cuCtxPushCurrent", driver().cuCtxPushCurrent(wanted));
    auto result = action();
    CUcontext popped = nullptr;
    need(__FILE__, __LINE__, "cuCtxPopCurrent", driver().cuCtxPopCurrent(&popped));
    return result;
  }

  CUcontext context = nullptr;

  // Where results go that a statement does not look at. Events, streams and memory that are there at the
  // end of the test are destroyed.
  int number = 0;
  unsigned flags = 0;
  std::size_t size = 0;
  float milliseconds = 0;
  CUdeviceptr pointer = 0;
  void *host = nullptr;
  CUcontext context_out = nullptr;
  CUstream stream_out = nullptr;
  CUevent event_out = nullptr;

 private:
  std::vector<std::function<void()>> undo_;
  CUcontext other_ = nullptr;
};

// An address in host memory as the driver takes it.
inline CUdeviceptr address_of(const void *host) { return reinterpret_cast<CUdeviceptr>(host); }
inline CUstream legacy() { return CU_STREAM_LEGACY; }
inline CUstream per_thread() { return CU_STREAM_PER_THREAD; }

// What a typed wrapper threw: the result and the routine that its error names, "cuEventCreate: 1"; or
// "nothing".
template <class Action>
std::string thrown_by(Action action) {
  try {
    action();
    return "nothing";
  } catch (const cushim::Error &error) {
    return std::string(error.routine()) + ": " + std::to_string(static_cast<int>(error.result()));
  }
}

// Adds a test to a suite at start-up, for families of statements that a table makes. The suite's
// fixture is the same as that of its other tests.
template <class Fixture, class Body>
bool add_test(const char *suite, const std::string &name, const char *file, int line, Body body) {
  struct Test : Fixture {
    explicit Test(Body body) : body_(body) {}
    void TestBody() override { body_(static_cast<Fixture &>(*this)); }
    Body body_;
  };
  ::testing::RegisterTest(suite, name.c_str(), nullptr, nullptr, file, line,
                          [body]() -> Fixture * { return new Test(body); });
  return true;
}
#define ADD_TEST(suite, name, ...) \
  ::conformance::add_test<suite>(#suite, name, __FILE__, __LINE__, __VA_ARGS__)

}  // namespace conformance
