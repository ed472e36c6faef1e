// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>
#include <cushim/check/leaks.hpp>
#include <cushim/error.hpp>
#include <cushim/faults/sweep.hpp>
#include <cushim/mock/around.hpp>

#include <cushim/detail/entry_traits.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <optional>

namespace cushim::mock {
namespace {

// Returns whether a call does its work even if it returns an injected error: it releases something or ends a
// capture.
bool works_despite_error(int slot) {
  const EntryTraits &traits = traits_of(slot);
  return traits.ends_lifetime() || traits.ends_capture;
}

// ---- Crash messages ----

char crash_text[512];
std::atomic<std::size_t> crash_text_size{0};

constexpr std::array kCrashes = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// While it exists, a crash first writes the round to stderr; then the crash proceeds as usual.
class CrashWatch {
 public:
  CrashWatch() {
    struct sigaction action {};
    action.sa_handler = &crash;
    for (std::size_t i = 0; i < kCrashes.size(); ++i) sigaction(kCrashes[i], &action, &before[i]);
  }
  ~CrashWatch() { restore(); }
  CrashWatch(const CrashWatch &) = delete;
  CrashWatch &operator=(const CrashWatch &) = delete;

  static void say(const SweepRound &round) {
    crash_text_size = 0;
    const int size = std::snprintf(
        crash_text, sizeof crash_text,
        "cushim: the sweep's body crashed in round %llu, after %s returned %s%s\n",
        static_cast<unsigned long long>(round.number), round.call.empty() ? "no call" : round.call.c_str(),
        std::string(name_of(round.result)).c_str(), round.call.empty() ? "" : " (injected)");
    crash_text_size = std::min(static_cast<std::size_t>(std::max(size, 0)), sizeof crash_text - 1);
  }

 private:
  static void restore() {
    for (std::size_t i = 0; i < kCrashes.size(); ++i) sigaction(kCrashes[i], &before[i], nullptr);
  }
  // Restores the signal handlers and returns to the faulting instruction, which faults again.
  static void crash(int) {
    [[maybe_unused]] const auto written = write(STDERR_FILENO, crash_text, crash_text_size);
    restore();
  }

  static inline std::array<struct sigaction, kCrashes.size()> before{};
};

// Makes one call fail.
class FailingCall final : public hook::Around {
 public:
  FailingCall(Driver &driver, const SweepOptions &options, SweepRound &round)
      : options_(options), round_(round) {
    for (int slot = 0; slot < cushim_entry_count(); ++slot)
      if (options.spares == nullptr || !options.spares(static_cast<Entry>(slot)))
        hooks_.push_back(hook::around(driver, slot, *this));
  }

  std::optional<CUresult> before(int slot) override {
    is_to_fail_ = ++count_ == round_.number;
    if (!is_to_fail_) return std::nullopt;
    round_.call = cushim_entry(slot)->symbol;
    round_.result = options_.failure(static_cast<Entry>(slot));
    round_.call_stack = check::CallStack::of_call();
    CrashWatch::say(round_);
    if (works_despite_error(slot)) return std::nullopt;
    is_to_fail_ = false;
    return round_.result;
  }

  CUresult after(int, CUresult result) override {
    return std::exchange(is_to_fail_, false) ? round_.result : result;
  }

 private:
  static thread_local bool is_to_fail_;  // the current call of this thread

  const SweepOptions &options_;
  SweepRound &round_;
  std::atomic<std::uint64_t> count_{0};
  std::vector<hook::Hook> hooks_;  // last member: removed before what they use
};

thread_local bool FailingCall::is_to_fail_ = false;

CUcontext current_context(Driver &driver) {
  CUcontext context = nullptr;
  driver.cuCtxGetCurrent(&context);
  return context;
}

SweepRound run(std::uint64_t number, Driver &driver, const std::function<void()> &body,
               const SweepOptions &options) {
  SweepRound round;
  round.number = number;
  CrashWatch::say(round);
  const ScopedDriver scope(driver);
  check::Leaks leaks(driver);
  const CUcontext before = current_context(driver);
  {
    const FailingCall failing(driver, options, round);
    try {
      body();
    } catch (const std::exception &exception) {
      round.thrown = *exception.what() != '\0' ? exception.what() : "an exception without a message";
    } catch (...) {
      round.thrown = "an object that is not a std::exception";
    }
  }
  round.changes_context = current_context(driver) != before;
  round.leaks = leaks.finish();
  return round;
}

// ---- Text of a sweep ----

// The rounds with the same finding.
struct Group {
  std::optional<check::Finding> leak;  // counts all of them
  std::string what;                    // if it is not a leak
  const SweepRound *first;
  std::vector<std::uint64_t> rounds{};
};

// Returns whether both leaks were created by the same call, no matter which call should have freed them.
bool is_of_same_place(const check::Finding &one, const check::Finding &other) {
  const check::Finding::Call &made = one.calls.front(), &too = other.calls.front();
  return made.call_stack == too.call_stack && made.call_stack.is_exact() && made.text == too.text;
}

std::vector<Group> groups_of(const std::vector<SweepRound> &failed_rounds) {
  std::vector<Group> groups;
  for (const SweepRound &round : failed_rounds) {
    const auto add_round = [&](Group &group) {
      if (group.rounds.empty() || group.rounds.back() != round.number) group.rounds.push_back(round.number);
    };
    for (const check::Finding &leak : round.leaks) {
      const auto known = std::ranges::find_if(
          groups, [&](const Group &group) { return group.leak && is_of_same_place(*group.leak, leak); });
      if (known == groups.end()) {
        add_round(groups.emplace_back(Group{leak, "", &round}));
        continue;
      }
      known->leak->count += leak.count;
      known->leak->bytes += leak.bytes;
      add_round(*known);
    }
    const auto add = [&](const std::string &what) {
      const auto known = std::ranges::find(groups, what, &Group::what);
      add_round(known != groups.end() ? *known : groups.emplace_back(Group{{}, what, &round}));
    };
    if (round.changes_context) add("another context is current after the body than before, ");
    if (round.call.empty() && !round.thrown.empty()) add("the body throws without an injected fault, ");
  }
  return groups;
}

// Returns "rounds 2, 4 to 7".
std::string text_of(const std::vector<std::uint64_t> &rounds) {
  std::string text;
  for (std::size_t i = 0; i < rounds.size();) {
    std::size_t last = i;
    while (last + 1 < rounds.size() && rounds[last + 1] == rounds[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(rounds[i]);
    if (last != i) text += (last == i + 1 ? ", " : " to ") + std::to_string(rounds[last]);
    i = last + 1;
  }
  return (rounds.size() == 1 ? "round " : "rounds ") + text;
}

std::string text_of(const SweepRound &round) {
  std::string text = "round " + std::to_string(round.number) + ": ";
  text += round.call.empty() ? "no call failed"
                             : round.call + " returned " + std::string(name_of(round.result)) + " (injected)";
  text += round.thrown.empty() ? ", and the body returned\n" : ", and the body threw: " + round.thrown + "\n";
  return text + round.call_stack.to_text();
}

}  // namespace

CUresult usual_failure(Entry entry) {
  if (entry == Entry::cuInit_v2000) return CUDA_ERROR_NO_DEVICE;
  const EntryTraits &traits = traits_of(static_cast<int>(entry));
  if (traits.ends_lifetime()) return CUDA_ERROR_UNKNOWN;
  if (traits.object == Object::context_stack_entry) return CUDA_ERROR_UNKNOWN;  // takes no memory
  if (traits.begins_lifetime() || traits.allocates) return CUDA_ERROR_OUT_OF_MEMORY;
  const bool waits =
      traits.wait == EntryTraits::Wait::synchronizes || traits.wait == EntryTraits::Wait::polls;
  return waits || traits.queue != EntryTraits::Queue::none ? CUDA_ERROR_LAUNCH_FAILED : CUDA_ERROR_UNKNOWN;
}

Sweep sweep(const std::function<std::shared_ptr<Driver>()> &make, const std::function<void()> &body,
            const SweepOptions &options) {
  const CrashWatch watch;
  Sweep swept;
  while (!swept.is_finished && swept.rounds < options.max_rounds) {
    const std::shared_ptr<Driver> driver = make();
    SweepRound round = run(++swept.rounds, *driver, body, options);
    swept.is_finished = round.call.empty();
    const bool fails_by_itself = swept.is_finished && !round.thrown.empty();
    if (fails_by_itself || !round.leaks.empty() || round.changes_context)
      swept.failed_rounds.push_back(std::move(round));
  }
  return swept;
}

std::string Sweep::text() const {
  std::string text;
  for (const Group &group : groups_of(failed_rounds)) {
    text += group.leak ? group.leak->to_text() : group.what;
    text += (group.leak ? "  leaked in " : "in ") + text_of(group.rounds) + "; " + text_of(*group.first);
  }
  if (!is_finished)
    text += "after " + std::to_string(rounds) +
            " rounds the sweep stopped at its limit; not every call has failed yet\n";
  return text;
}

}  // namespace cushim::mock
