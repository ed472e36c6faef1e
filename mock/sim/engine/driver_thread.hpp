// SPDX-License-Identifier: Apache-2.0
// Threads of the simulated driver.
#pragma once

#include <signal.h>

#include <thread>
#include <utility>

namespace cushim::sim {

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

// Starts a thread that receives none of the program's signals, as measured on driver 580. Throws
// std::system_error if the system cannot start a thread.
template <class Body>
std::jthread start_thread(Body &&body) {
  const SignalsBlocked blocked;
  return std::jthread(std::forward<Body>(body));
}

}  // namespace cushim::sim
