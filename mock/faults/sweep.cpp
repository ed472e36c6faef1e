// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>
#include <cushim/check/leaks.hpp>
#include <cushim/error.hpp>
#include <cushim/mock/around.hpp>
#include <cushim/mock/sweep.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <string_view>

namespace cushim {
inline namespace v1 {
namespace mock {
namespace {

std::string_view base_of(Entry entry) { return cushim_entry(static_cast<int>(entry))->base; }

bool has_any(std::string_view base, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return base.find(word) != base.npos; });
}

// Whether a call gives something back: it does so also if it is answered an error.
bool gives_back(int slot) {
  const std::string_view base = base_of(static_cast<Entry>(slot));
  return has_any(base, {"Destroy", "Free", "Close", "Unregister", "Unload", "Release", "Unmap", "Reset",
                        "PopCurrent", "DisablePeerAccess", "Detach"});
}

// ---- What a crash says ----

char crash_text[512];
std::atomic<std::size_t> crash_text_size{0};

constexpr std::array kCrashes = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// While it lives, a crash says the round first; then it is what it would be without.
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
        "cushim: the sweep's body crashed in round %llu, after %s was answered %s\n",
        static_cast<unsigned long long>(round.number), round.call.empty() ? "no call" : round.call.c_str(),
        std::string(name_of(round.result)).c_str());
    crash_text_size = std::min(static_cast<std::size_t>(std::max(size, 0)), sizeof crash_text - 1);
  }

 private:
  static void restore() {
    for (std::size_t i = 0; i < kCrashes.size(); ++i) sigaction(kCrashes[i], &before[i], nullptr);
  }
  // Returns to what crashed, which does so again.
  static void crash(int) {
    [[maybe_unused]] const auto written = write(STDERR_FILENO, crash_text, crash_text_size);
    restore();
  }

  static inline std::array<struct sigaction, kCrashes.size()> before{};
};

// Fails one call.
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
    round_.place = check::Place::of_call();
    CrashWatch::say(round_);
    if (gives_back(slot)) return std::nullopt;
    is_to_fail_ = false;
    return round_.result;
  }

  CUresult after(int, CUresult result) override {
    return std::exchange(is_to_fail_, false) ? round_.result : result;
  }

 private:
  static thread_local bool is_to_fail_;  // the call that this thread makes

  const SweepOptions &options_;
  SweepRound &round_;
  std::atomic<std::uint64_t> count_{0};
  std::vector<hook::Hook> hooks_;  // last: they end before what they use
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
      round.thrown = *exception.what() != '\0' ? exception.what() : "an exception without words";
    } catch (...) {
      round.thrown = "something that is no std::exception";
    }
  }
  round.keeps_context = current_context(driver) != before;
  round.leaks = leaks.finish();
  return round;
}

}  // namespace

CUresult usual_failure(Entry entry) {
  const std::string_view base = base_of(entry);
  if (base == "cuInit") return CUDA_ERROR_NO_DEVICE;
  if (gives_back(static_cast<int>(entry))) return CUDA_ERROR_UNKNOWN;
  if (has_any(base, {"Alloc", "Create", "Retain", "Register", "Open", "Import", "Map", "Load", "Instantiate",
                     "Clone", "EnablePeerAccess", "SetLimit"}))
    return CUDA_ERROR_OUT_OF_MEMORY;
  if (has_any(base, {"Memcpy", "Memset", "Launch", "Record", "Wait", "Synchronize", "Query", "Async", "Batch",
                     "WriteValue", "Upload"}) &&
      base.find("GetAttribute") == base.npos)
    return CUDA_ERROR_LAUNCH_FAILED;
  return CUDA_ERROR_UNKNOWN;
}

Sweep sweep(const std::function<std::shared_ptr<Driver>()> &make, const std::function<void()> &body,
            const SweepOptions &options) {
  const CrashWatch watch;
  Sweep swept;
  while (!swept.is_finished && swept.rounds < options.most_rounds) {
    const std::shared_ptr<Driver> driver = make();
    SweepRound round = run(++swept.rounds, *driver, body, options);
    swept.is_finished = round.call.empty();
    const bool fails_by_itself = swept.is_finished && !round.thrown.empty();
    if (fails_by_itself || !round.leaks.empty() || round.keeps_context)
      swept.unclean.push_back(std::move(round));
  }
  return swept;
}

std::string Sweep::text() const {
  std::string text;
  for (const SweepRound &round : unclean) {
    text += "round " + std::to_string(round.number) + ": ";
    text += round.call.empty() ? "no call failed"
                               : round.call + " was answered " + std::string(name_of(round.result));
    text += round.thrown.empty() ? ", and the body came to its end\n"
                                 : ", and the body threw: " + round.thrown + "\n";
    text += round.place.in_words();
    if (round.keeps_context) text += "  another context is current than before\n";
    for (const check::Finding &leak : round.leaks) text += "  " + leak.in_words();
  }
  if (!is_finished) text += "after " + std::to_string(rounds) + " rounds there still are calls to fail\n";
  return text;
}

}  // namespace mock
}  // namespace v1
}  // namespace cushim
