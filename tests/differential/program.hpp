// SPDX-License-Identifier: Apache-2.0
// The base of a walk that is printed as a test: the variables and functions that its text uses. The driver is
// the one that cushim::testing has chosen.
#pragma once

#include <gtest/gtest.h>
#include <cushim/testing/child.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "support/structures.hpp"
#include "walk.hpp"

namespace differential {

// Pinned memory that converts to the pointer types of the printed calls.
struct Pinned {
  unsigned char *bytes = nullptr;
  void **operator&() { return reinterpret_cast<void **>(&bytes); }
  operator unsigned char *() const { return bytes; }
  explicit operator CUdeviceptr() const { return reinterpret_cast<CUdeviceptr>(bytes); }
};

// The variables of one process, and the functions of a walk that are not driver calls.
class Variables {
 protected:
  Variables() { shared().begin(); }
  ~Variables() {
    release();
    if (!primary_is_active) driver().cuDevicePrimaryCtxRetain(&c[0], shared().device);
    shared().begin();
    for (CUstream stream : s)
      if (stream != nullptr) driver().cuStreamDestroy(stream);
    for (CUevent event : e)
      if (event != nullptr) driver().cuEventDestroy(event);
    for (CUdeviceptr address : b)
      if (address != 0) driver().cuMemFree(address);
    for (unsigned k = 0; k < 3; ++k)
      if (p[k].bytes != nullptr)
        p[k].bytes == pages(k) ? driver().cuMemHostUnregister(p[k]) : driver().cuMemFreeHost(p[k]);
    for (CUcontext context : m)
      if (context != nullptr) driver().cuCtxDestroy(context);
  }

  static SharedObjects &shared() {
    static SharedObjects shared(time_to_settle(300));
    return shared;
  }

  std::array<CUcontext, 2> c = shared().c;
  bool primary_is_active = true;
  CUcontext m[3]{};
  CUstream s[4]{};
  CUevent e[5]{};
  CUdeviceptr b[5]{};
  Pinned p[3];
  CUdeviceptr words = shared().words_on_device;
  CUmemoryPool pool = shared().pool;
  std::atomic<unsigned> host_functions{0};
  std::size_t sizes[5]{};  // sizes of b[]
  struct {
    CUipcEventHandle event[3];
    CUipcMemHandle memory[3];
  } handles{};

  static void count(void *counter) { ++*static_cast<std::atomic<unsigned> *>(counter); }
  static void callback(CUstream, CUresult, void *counter) { count(counter); }

  void settle() { shared().settle(); }
  std::vector<CUcontext> active_contexts() const { return shared().active(primary_is_active, m); }
  void finish() { shared().finish(active_contexts()); }
  void let_go() { shared().let_go(8); }
  void release() { shared().release(8, active_contexts()); }
  // Returns whether the call succeeds within 20 seconds. The other process may have to act first.
  template <class Call>
  static bool soon(const Call &call) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    CUresult code = call();
    while (code == CUDA_ERROR_NOT_READY && std::chrono::steady_clock::now() < until) code = call();
    return code == CUDA_SUCCESS;
  }
  // Closes the events and memory that the other process exported. cuIpcCloseMemHandle fails for other memory.
  void close() {
    for (CUevent &event : e)
      if (event != nullptr) driver().cuEventDestroy(std::exchange(event, nullptr));
    for (CUcontext context : c) {
      driver().cuCtxSetCurrent(context);
      for (CUdeviceptr &address : b)
        if (address != 0 && driver().cuIpcCloseMemHandle(address) == CUDA_SUCCESS) address = 0;
    }
  }
  void look_at_p0() {}
  void look_at_p1() {}
  void look_at_p2() {}
  void fill(unsigned k, std::size_t size) {
    sizes[k] = size;
    shared().fill(k, {b[k], size}, active_contexts());
  }
  std::string name_of(CUcontext context) { return shared().name_of(context, m); }
  std::string name_of(CUdeviceptr address) {
    std::array<Buffer, 5> buffers;
    for (unsigned k = 0; k < buffers.size(); ++k) buffers[k] = {b[k], sizes[k]};
    return differential::name_of(address, buffers, std::array{p[0].bytes, p[1].bytes, p[2].bytes});
  }
  static unsigned char *pages(unsigned k) { return shared().pages(k); }
  static CUstreamBatchMemOpParams written(CUdeviceptr address, unsigned value) {
    return cushim::test::write_of_word(address, value);
  }
};

class Program : public ::testing::Test, protected Variables {};

// A program of two processes. Both run the same text, and each executes the parts behind its own in().
class ProgramOfTwo : protected Variables {
 public:
  ProgramOfTwo(cushim::testing::Channel &other, unsigned process) : other_(other), process_(process) {}

 protected:
  // Returns whether this process runs the part that follows. Waits until the other process has finished its
  // part, and receives the handles from it.
  bool in(unsigned process) {
    if (process == turn_) return process == process_;
    if (turn_ == process_)
      other_.send(handles);
    else
      handles = other_.receive<decltype(handles)>();
    turn_ = process;
    return process == process_;
  }
  // Releases all held work, and closes everything that is open. Afterwards each process may destroy its own
  // objects.
  void end() {
    let_go();
    meet();
    release();
    meet();
    close();
    meet();
  }

 private:
  void meet() {
    in(1 - turn_);
    in(1 - turn_);
  }

  cushim::testing::Channel &other_;
  unsigned process_, turn_ = 0;
};

// PROGRAM_OF_TWO(name) { if (in(0)) { calls } if (in(1)) { calls } ... }
#define PROGRAM_OF_TWO(name)                                                                      \
  class name : public ::differential::ProgramOfTwo {                                              \
   public:                                                                                        \
    using ProgramOfTwo::ProgramOfTwo;                                                             \
    void run();                                                                                   \
    using ProgramOfTwo::end;                                                                      \
  };                                                                                              \
  CUSHIM_CHILD(name) {                                                                            \
    name program(parent, 1);                                                                      \
    program.run();                                                                                \
    program.end();                                                                                \
    if (::testing::Test::HasFailure()) throw std::runtime_error("the second process has failed"); \
  }                                                                                               \
  TEST(ProgramOfTwo, name) {                                                                      \
    ::cushim::testing::Child child(#name);                                                        \
    {                                                                                             \
      name program(child, 0);                                                                     \
      program.run();                                                                              \
      program.end();                                                                              \
    }                                                                                             \
    EXPECT_EQ(child.wait(), 0);                                                                   \
  }                                                                                               \
  void name::run()

}  // namespace differential
