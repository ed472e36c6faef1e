// SPDX-License-Identifier: Apache-2.0
// Threads of cushim itself. They receive none of the program's signals. OwnThread counts those that make no
// driver calls and cannot end a wait of the program. The simulated driver ignores these when it checks
// whether another thread could end a wait, so it can detect a deadlock with certainty
// (docs/guide/simulator.md) although cushim or a test runner has threads.
#pragma once

#include <signal.h>

#include <atomic>
#include <thread>
#include <utility>

namespace cushim::mock {

inline std::atomic<long> own_threads{0};

// Registers the current thread as such while it exists. A thread counts itself, so the count never exceeds
// the number of these threads. The count is that of one copy of cushim: a driver loaded from a library does
// not see it.
struct OwnThread {
  OwnThread() { ++own_threads; }
  ~OwnThread() { --own_threads; }
  OwnThread(const OwnThread &) = delete;
  OwnThread &operator=(const OwnThread &) = delete;
};

// Blocks all signals of the calling thread for a scope, except those of the thread's own faults. A new thread
// inherits the mask of the thread that starts it.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked &) = delete;
  SignalsBlocked &operator=(const SignalsBlocked &) = delete;

 private:
  sigset_t before_;
};

// Starts a thread that receives none of the program's signals, as those of a real driver (measured on driver
// 580). Throws std::system_error if the system cannot start a thread.
template <class Body>
std::jthread start_thread(Body &&body) {
  const SignalsBlocked blocked;
  return std::jthread(std::forward<Body>(body));
}

}  // namespace cushim::mock
