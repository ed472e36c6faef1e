// SPDX-License-Identifier: Apache-2.0
// Tests error paths exhaustively: runs a body repeatedly and makes its first driver call fail, then the
// second, the third, until a run completes without a failing call. Reports leaks.
//
//   const Sweep swept = sweep(make_driver, [] { Upload upload(bytes); upload.run(); });
//   EXPECT_TRUE(swept.is_clean()) << swept.text();
//
// With a new simulated machine for each round: sim::sweep() of cushim/sim/sweep.hpp.
#pragma once

#include <cushim/check/call_stack.hpp>
#include <cushim/check/finding.hpp>
#include <cushim/driver.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cushim::mock {

// Returns the default error of an entry point: CUDA_ERROR_NO_DEVICE for cuInit, OUT_OF_MEMORY for calls
// that create or map something, LAUNCH_FAILED for calls that enqueue or wait for work, else UNKNOWN.
CUresult usual_failure(Entry entry);

// Selects the calls that fail, and their errors.
struct SweepOptions {
  std::function<CUresult(Entry)> failure = &usual_failure;
  // Returns whether calls of an entry point are left alone. They are not counted either.
  std::function<bool(Entry)> spares{};
  std::uint64_t max_rounds = 100'000;  // limit; reaching it leaves is_finished false
};

// A round of a sweep, in which one call fails.
struct SweepRound {
  std::uint64_t number = 0;  // number of the failing call, from 1, not counting calls that are left alone
  std::string call;          // symbol of that call; empty in the last round, in which none fails
  CUresult result = CUDA_SUCCESS;
  check::CallStack call_stack;  // where the body made the call
  std::string thrown;           // message of the exception that the body threw; empty if it returned
  std::vector<check::Finding> leaks;
  bool changes_context = false;  // the body left another current context than it found
};

// The result of a sweep.
struct Sweep {
  std::uint64_t rounds = 0;
  // Rounds that leaked or left a context current, and the last round if the body threw though no call
  // failed.
  std::vector<SweepRound> failed_rounds;
  bool is_finished = false;  // a round completed in which no call failed

  // Returns whether the sweep finished and no round leaked or left a context current.
  bool is_clean() const noexcept { return is_finished && failed_rounds.empty(); }
  // Returns one section for each leak: its description and count, the rounds that have it, and how the
  // first of these went. Likewise for contexts that stay current.
  std::string text() const;
};

// Runs the body with the driver that `make` returns as the current driver; `make` may return the same
// driver each time. An exception from the body is an expected reaction to a failure and not a finding. A
// call that releases something (destroys, frees, closes, releases, pops, ends a capture) does its work even
// in the round in which it returns an error, because a caller cannot repeat a failed release. Leaks are those
// of check::Leaks: objects that the body creates must not outlive its run. On a crash (SIGSEGV, SIGBUS,
// SIGFPE, SIGILL, SIGABRT), writes the round and the call to stderr before the program ends with that signal.
// Only one sweep may run at a time. Throws as mock::DriverSlot::over(), and what `make` throws.
Sweep sweep(const std::function<std::shared_ptr<Driver>()> &make, const std::function<void()> &body,
            const SweepOptions &options = {});

}  // namespace cushim::mock
