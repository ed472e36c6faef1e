// SPDX-License-Identifier: Apache-2.0
// The driver with fork(), exit() and signals.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cushim/sim/machine.hpp>

#include <cstdlib>
#include <memory>
#include <thread>

#include "pair.hpp"
#include "support/empty_kernel.hpp"
#include "support/threads.hpp"

namespace cushim::processes {
namespace {

// Returns the exit status of a forked process; -1 if it had to be killed.
template <class Body>
int in_a_fork(Body body) {
  const pid_t process = fork();
  if (process == 0) {
    alarm(20);
    _exit(body());
  }
  int status = 0;
  waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

CUSHIM_CHILD(forks_before_the_first_call) {
  const auto init = [] { return static_cast<int>(driver().cuInit(0)); };
  parent.send(in_a_fork(init));
  parent.send(init());
  parent.send(in_a_fork(init));
}

TEST(AForkedProcess, Has_a_driver_unless_the_parent_had_initialized_it) {
  Child child("forks_before_the_first_call");
  EXPECT_EQ(child.receive<int>(), CUDA_SUCCESS) << "forked before cuInit";
  EXPECT_EQ(child.receive<int>(), CUDA_SUCCESS) << "the parent";
  EXPECT_EQ(child.receive<int>(), CUDA_ERROR_NOT_INITIALIZED) << "forked after cuInit";
  EXPECT_EQ(child.wait(), 0);
}

TEST(AForkedProcess, Ends_a_machine_of_its_parent_s) {
  for (const auto schedule : {sim::Schedule::eager, sim::Schedule::background}) {
    auto machine = std::make_unique<sim::Machine>(sim::Options{.schedule = schedule});
    const ScopedDriver scope(machine->driver());
    const CUstream stream = begin();
    need(driver().cuLaunchHostFunc(
        stream, [](void *) {}, nullptr));
    need(driver().cuStreamSynchronize(stream));
    EXPECT_EQ(in_a_fork([&] { return machine.reset(), 0; }), 0);
  }
}

// Exits in a signal handler, inside a call that holds the driver's lock: the call writes to an unmapped
// address.
CUSHIM_CHILD(exits_in_a_signal_handler) {
  begin();
  signal(SIGSEGV, [](int) { std::exit(0); });
  auto *const nowhere = reinterpret_cast<std::size_t *>(std::uintptr_t{4096});
  driver().cuMemGetInfo(nowhere, nowhere);
  std::abort();
}

TEST(AProcess, May_exit_in_a_signal_handler) {
  Child child("exits_in_a_signal_handler");
  EXPECT_EQ(child.wait(), 0);
}

CUSHIM_CHILD(has_threads_of_the_driver) {
  const auto before = test::threads();
  const CUstream stream = begin();
  need(driver().cuLaunchHostFunc(
      stream, [](void *) {}, nullptr));
  need(driver().cuStreamSynchronize(stream));
  const Exported exported;  // starts a background thread with every schedule
  need(driver().cuMemsetD8Async(exported.memory, 1, 1, stream));
  need(driver().cuStreamSynchronize(stream));
  parent.send(test::threads_since(before));
}

TEST(ThreadsOfTheDriver, Receive_no_signals_of_the_program) {
  Child child("has_threads_of_the_driver");
  const auto started = child.receive<test::NewThreads>();
  EXPECT_EQ(started.number, 2) << "the one of host functions and the background worker";
  EXPECT_EQ(started.signals_taken, 0);
  EXPECT_EQ(started.faults_blocked, 0) << "a fault must reach the program's handler";
  EXPECT_EQ(child.wait(), 0);
}

CUSHIM_CHILD(has_threads_that_run_kernels) {
  const CUstream stream = begin();
  const CUfunction kernel = test::empty_kernel();
  need(driver().cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
  need(driver().cuStreamSynchronize(stream));
  const auto before = test::threads();
  need(driver().cuLaunchKernel(kernel, 4096, 1, 1, 256, 1, 1, 0, stream, nullptr, nullptr));
  need(driver().cuStreamSynchronize(stream));
  parent.send(test::threads_since(before));
}

TEST(ThreadsOfTheDriver, That_run_kernels_receive_no_signals_of_the_program) {
  Child child("has_threads_that_run_kernels");
  const auto started = child.receive<test::NewThreads>();
  EXPECT_EQ(started.number > 0, std::thread::hardware_concurrency() > 1);
  EXPECT_EQ(started.signals_taken, 0);
  EXPECT_EQ(started.faults_blocked, 0);
  EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace cushim::processes
