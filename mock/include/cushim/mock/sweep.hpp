// SPDX-License-Identifier: Apache-2.0
// Tests error paths without writing them: runs a body again and again, failing the first driver call that it
// makes, then the second, the third, until it comes through without a call that fails; and says where
// something leaked.
//
//   const Sweep swept = sweep(make_driver, [] { Upload upload(bytes); upload.run(); });
//   EXPECT_TRUE(swept.is_clean()) << swept.text();
//
// On a new simulated machine each round: sim::sweep() of cushim/sim/sweep.hpp.
#pragma once

#include <cushim/check/finding.hpp>
#include <cushim/check/place.hpp>
#include <cushim/driver.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cushim {
inline namespace v1 {
namespace mock {

// What the call that is to fail is answered if nothing else is said: NO_DEVICE of cuInit, OUT_OF_MEMORY of
// what makes or maps something, LAUNCH_FAILED of what puts work into a stream or waits for it, else UNKNOWN.
CUresult usual_failure(Entry entry);

struct SweepOptions {
  std::function<CUresult(Entry)> failure = &usual_failure;
  // Which calls are not made to fail; they are not counted either.
  std::function<bool(Entry)> spares{};
  std::uint64_t most_rounds = 100'000;  // then the sweep ends, unclean
};

struct SweepRound {
  std::uint64_t number = 0;  // from 1: the call that failed was this one, of all that were not spared
  std::string call;          // its symbol; empty in the last round, in which none failed
  CUresult result = CUDA_SUCCESS;
  check::Place place;  // where the body made it
  std::string thrown;  // what the body threw; empty if it came to its end
  std::vector<check::Finding> leaks;
  bool keeps_context = false;  // whether another context was current after the body than before
};

struct Sweep {
  std::uint64_t rounds = 0;
  // Those in which something leaked or a context stayed current, and the last one if the body threw though no
  // call failed.
  std::vector<SweepRound> unclean;
  bool is_finished = false;  // whether a round came in which no call failed

  bool is_clean() const noexcept { return is_finished && unclean.empty(); }
  std::string text() const;  // a part for each unclean round
};

// Runs the body with a driver that `make` gives, current meanwhile; it may be the same one in each round.
// What the body throws is its way to fail and no finding. What gives something back (destroys, frees, closes,
// releases, pops) does that also in the round in which it is made to fail, as nobody can do better than call
// it once. Leaks are those that check::Leaks finds; what the body made must not outlive its run. A crash
// (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) says the round and the call on stderr first, and then ends the
// program as ever. One sweep at a time. Throws as mock::Frame::over() and what make throws.
Sweep sweep(const std::function<std::shared_ptr<Driver>()> &make, const std::function<void()> &body,
            const SweepOptions &options = {});

}  // namespace mock
}  // namespace v1
}  // namespace cushim
