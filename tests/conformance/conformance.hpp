// SPDX-License-Identifier: Apache-2.0
// Common parts of the statements. Each statement describes the behaviour of the real driver. Where the
// documentation differs, the statement follows the driver and a comment notes the difference.
#pragma once

#include <cushim/error.hpp>
#include <cushim/testing.hpp>

#include <array>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <iosfwd>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

// Prints a code by name and number in GoogleTest's messages.
inline void PrintTo(CUresult code, std::ostream *stream) { *stream << cushim::testing::name_of(code); }

namespace conformance {

using cushim::driver;
using cushim::testing::answer;
using cushim::testing::Child;
using cushim::testing::Hold;
using cushim::testing::hold;

// Returns the key of an answer: the text of the call without the prefix that all calls share.
std::string key_of(std::string text);

void expect_answer(const char *file, int line, const std::string &text, CUresult actual, CUresult expected);

// Expects one code of all calls that another process has made. The key of each is that of its result.
template <std::size_t count>
void expect_answers(const std::array<const char *, count> &keys, const std::array<CUresult, count> &results,
                    CUresult expected) {
  for (std::size_t i = 0; i < count; ++i) expect_answer(__FILE__, __LINE__, keys[i], results[i], expected);
}

// Expects that the call returns this code, and records the answer under the text of the call.
#define EXPECT_ANSWER(call, code) ::conformance::expect_answer(__FILE__, __LINE__, #call, call, code)

// The same for values that are not result codes.
#define EXPECT_VALUE(expression, expected) \
  EXPECT_EQ(::conformance::answer(::conformance::key_of(#expression), expression), expected)

// Only records the value, which may differ between devices.
#define RECORD_VALUE(expression) \
  static_cast<void>(::conformance::answer(::conformance::key_of(#expression), expression))

// A test of one call. It does not use EXPECT_ANSWER, because <cuda.h>'s macros would change the text of an
// argument that is passed on.
#define STATEMENT(suite, name, call, code) \
  TEST_F(suite, name) { ::conformance::expect_answer(__FILE__, __LINE__, #call, call, code); }

// The same while no context is current.
#define STATEMENT_WITHOUT_A_CONTEXT(suite, name, call, code)             \
  TEST_F(suite, name) {                                                  \
    NEED(driver().cuCtxSetCurrent(nullptr));                             \
    ::conformance::expect_answer(__FILE__, __LINE__, #call, call, code); \
  }

// The same in a process of its own, for a call in which the real driver may crash.
#define STATEMENT_THAT_MAY_CRASH(suite, name, call, code)                \
  TEST_F(suite, name) {                                                  \
    CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();                          \
    ::conformance::expect_answer(__FILE__, __LINE__, #call, call, code); \
  }

// Makes a call that must succeed for the test to be meaningful.
#define NEED(call) ::conformance::need(__FILE__, __LINE__, #call, call)
void need(const char *file, int line, const char *text, CUresult code);

// Initializes the driver in a process that a test has started, and makes the primary context of `device`
// current for the rest of the process.
void make_context(CUdevice device = 0);

// Returns the primary context of a device; null if it cannot be retained. Retained once for the whole
// process, because creating it for each test would take minutes.
CUcontext primary_context(CUdevice device);

// A fixture with an initialized driver and no current context.
class Initialized : public ::testing::Test {
 protected:
  void SetUp() override;

 public:
  CUdevice device = 0;
};

// A fixture in which the primary context of device 0 is current. The objects that its members create are
// destroyed at the end of the test.
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
  // Allocates device memory that the test frees.
  static CUdeviceptr own_memory(std::size_t bytes = 4096);
  // A held stream, and an event that was recorded behind the hold.
  struct HeldEvent {
    CUstream work;
    CUevent mark;
    Hold held;
  };
  HeldEvent held_event();
  // Returns a second context of the device, which is not current.
  CUcontext other_context();
  // Creates an object while the other context is current.
  template <class Make>
  auto in_other_context(Make make) {
    return in(other_context(), make);
  }
  // Returns the result of an action that runs while the context is current.
  template <class Action>
  auto in(CUcontext wanted, Action action) {
    const auto pop = [] {
      CUcontext popped = nullptr;
      need(__FILE__, __LINE__, "cuCtxPopCurrent", driver().cuCtxPopCurrent(&popped));
    };
    need(__FILE__, __LINE__, "cuCtxPushCurrent", driver().cuCtxPushCurrent(wanted));
    if constexpr (std::is_void_v<decltype(action())>) {
      action();
      pop();
    } else {
      auto result = action();
      pop();
      return result;
    }
  }

  CUcontext context = nullptr;

  // Receive results that a statement does not inspect. Events, streams and memory in them are destroyed at
  // the end of the test.
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

// Holds a stream for at most one second, for calls that may wait for the stream.
class LimitedHold {
 public:
  explicit LimitedHold(CUstream stream);
  LimitedHold(const LimitedHold &) = delete;
  LimitedHold &operator=(const LimitedHold &) = delete;
  ~LimitedHold();
  void release();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_released_ = false;
  Hold held_;
  std::thread limit_;
};

// Holds a stream and records an event behind the hold.
Hold hold_and_record(CUstream work, CUevent mark);

inline CUresult query(CUevent mark) { return driver().cuEventQuery(mark); }
inline CUresult query(CUstream work) { return driver().cuStreamQuery(work); }
inline CUresult synchronize(CUevent mark) { return driver().cuEventSynchronize(mark); }
inline CUresult synchronize(CUstream work) { return driver().cuStreamSynchronize(work); }

// Expects that an event or a stream is complete after the hold is released, and not before. `argument` is the
// text of the handle in the keys of the two answers.
template <class Held, class Handle>
void expect_complete_after(Held &held, Handle handle, const std::string &argument) {
  const std::string type = std::is_same_v<Handle, CUevent> ? "cuEvent" : "cuStream";
  expect_answer(__FILE__, __LINE__, type + "Query(" + argument + ")", query(handle), CUDA_ERROR_NOT_READY);
  held.release();
  expect_answer(__FILE__, __LINE__, type + "Synchronize(" + argument + ")", synchronize(handle),
                CUDA_SUCCESS);
}

// The same of a wrapper; its name begins the keys.
template <class Wrapper>
void expect_done_after(Hold &held, const Wrapper &wrapper, const std::string &name) {
  EXPECT_FALSE(answer(name + ".is_done()", wrapper.is_done()));
  EXPECT_FALSE(answer(name + ".synchronize_for(std::chrono::milliseconds(0))",
                      wrapper.synchronize_for(std::chrono::milliseconds(0))));
  held.release();
  wrapper.synchronize();
  EXPECT_TRUE(answer(name + ".is_done()", wrapper.is_done()));
}

// Returns an address in host memory as the driver's address type.
inline CUdeviceptr address_of(const void *host) { return reinterpret_cast<CUdeviceptr>(host); }
inline CUstream legacy() { return CU_STREAM_LEGACY; }
inline CUstream per_thread() { return CU_STREAM_PER_THREAD; }

// Returns the routine and the result code of the error that a typed wrapper throws, for example
// "cuEventCreate: 1"; "nothing" if it does not throw.
template <class Action>
std::string thrown_by(Action action) {
  try {
    action();
    return "nothing";
  } catch (const cushim::Error &error) {
    return std::string(error.routine()) + ": " + std::to_string(static_cast<int>(error.result()));
  }
}

// Adds a test to a suite at start-up, for statements that a table generates. The suite's fixture must be the
// same as that of its other tests.
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
