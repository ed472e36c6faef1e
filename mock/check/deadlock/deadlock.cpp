// SPDX-License-Identifier: Apache-2.0
#include <cushim/check/deadlock.hpp>
#include <cushim/mock/own_thread.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <string_view>
#include <thread>

#include <cushim/detail/entry_traits.hpp>

#include "core/of_thread.hpp"
#include "hazards/follower.hpp"

namespace cushim::check {
namespace {

// The number of times that a blocked call is checked within `patience`.
constexpr unsigned long kTicksPerPatience = 2;

thread_local int host_functions = 0;  // host functions of the program that this thread is inside of

struct DeadlockState final : CheckerState, Follower {
  DeadlockState(Driver &driver, std::chrono::milliseconds patience, Deadlock::Report report)
      : Follower(driver, nullptr), patience(patience), report(std::move(report)) {}

  // A call in progress that may block.
  struct Waiting {
    int slot;
    CallStack call_stack;
    unsigned long since;  // value of `ticks` at its start
    bool is_reported = false;
  };

  void stop() override {
    leave();
    clock = {};
  }

  void before(WatchedCall &call) override {
    if (host_functions != 0 && mock::traits_of(call.slot).wait != mock::EntryTraits::Wait::polls)
      found_in_host_function(call);
    Follower::before(call);
  }

  // Starts the clock thread only once a stream waits, so that a single-threaded program stays one: with a
  // second thread each lock and each reference count costs more.
  void model_changed() override {
    if (clock.joinable() || !model.has_open_waits()) return;
    clock = mock::start_thread([this](const std::stop_token &stop) { watch_blocked_calls(stop); });
    is_clock_running.wait(false);  // from here on, its thread counts as one of cushim's
  }

  void wait_begins(const WatchedCall &call) override {
    blocked_calls().push_back({call.slot, CallStack::of_call(), ticks});
    waiting.push_back(&blocked_calls().back());
  }

  void wait_ends(CUresult result) override {
    if (result == CUDA_ERROR_LAUNCH_TIMEOUT) {
      Finding finding = about(blocked_calls().back(), "never");
      if (finding.calls.size() > 1) findings.add(std::move(finding));
    }
    std::erase(waiting, &blocked_calls().back());
    blocked_calls().pop_back();
  }

  void host_function_begins() override { ++host_functions; }
  void host_function_ends() override { --host_functions; }

  // The blocked calls of this thread, innermost last.
  static std::deque<Waiting> &blocked_calls() { return of_thread<std::deque<Waiting>>(); }

  void found_in_host_function(const WatchedCall &call) {
    const std::string symbol = cushim_entry(call.slot)->symbol;
    findings.add(
        {.checker = "deadlock",
         .rule = "host-function",
         .what = "a host function calls " + symbol +
                 "; the driver returns CUDA_ERROR_NOT_PERMITTED (800), or the call blocks on work that "
                 "waits for the host function",
         .calls = {{"called by", call.to_text(), CallStack::of_call()}},
         .advice = "call " + symbol + " in another thread that the host function wakes"});
  }

  // Requires the mutex.
  Finding about(const Waiting &call, const char *rule) const {
    const std::string symbol = cushim_entry(call.slot)->symbol;
    const bool is_certain = rule == std::string_view("never");
    Finding finding{
        .checker = "deadlock",
        .rule = rule,
        .what = is_certain ? symbol +
                                 " waited for work that can never run; the driver returned "
                                 "CUDA_ERROR_LAUNCH_TIMEOUT (702)"
                           : symbol + " has waited for " + std::to_string(patience.count()) +
                                 " ms and is still blocked, while streams wait, too",
        .calls = {{"blocked in", symbol, call.call_stack}},
        .advice =
            "before the host waits, write the memory that the streams wait for, from a stream that does not "
            "wait for it; return from the host functions"};
    for (Finding::Call &wait : model.open_waits()) finding.calls.push_back(std::move(wait));
    return finding;
  }

  void watch_blocked_calls(const std::stop_token &stop) {
    const mock::OwnThread own;
    is_clock_running = true;
    is_clock_running.notify_all();
    std::unique_lock lock(mutex);
    while (!ended.wait_for(lock, stop, patience / kTicksPerPatience, [&] { return stop.stop_requested(); })) {
      ++ticks;
      for (Waiting *const call : waiting) {
        if (call->is_reported || ticks - call->since <= kTicksPerPatience) continue;
        const Finding finding = about(*call, "still-waits");
        if (finding.calls.size() == 1) continue;  // it waits for long-running work
        call->is_reported = true;
        findings.add(finding);
        if (report)
          report(finding);
        else
          std::fprintf(stderr, "cushim: %s", finding.to_text().c_str());
      }
    }
  }

  const std::chrono::milliseconds patience;
  const Deadlock::Report report;
  std::vector<Waiting *> waiting;  // guarded by the mutex, as is `ticks`
  unsigned long ticks = 0;
  std::condition_variable_any ended;
  std::atomic<bool> is_clock_running{false};
  std::jthread clock;  // starts with the first wait of a stream
};

}  // namespace

Deadlock::Deadlock(Driver &driver, std::chrono::milliseconds patience, Report report)
    : StatefulChecker("deadlock", following<DeadlockState>(driver, patience, std::move(report))) {}

}  // namespace cushim::check
