// SPDX-License-Identifier: Apache-2.0
#include "processes.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <span>
#include <stdexcept>

namespace arguments {
namespace {

using Time = std::chrono::steady_clock;
using Text = std::array<char, 256>;

constexpr std::size_t kNone = ~std::size_t{0};
constexpr int kBroken = 7;          // exit code: a context has an error that stays
constexpr double kTimeToLoad = 60;  // seconds
constexpr int kMostFailures = 10;   // of processes, outside of a case

void put(Text &to, const std::string &text) { std::snprintf(to.data(), to.size(), "%s", text.c_str()); }

// Memory that the processes share.
template <class T>
std::span<T> shared(std::size_t size) {
  void *const memory =
      ::mmap(nullptr, size * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no memory for the answers");
  return {new (memory) T[size]{}, size};
}

struct Progress {
  std::atomic<std::size_t> position{kNone};  // of the case in progress, in the indices
  std::atomic<Time::rep> since{};
};

class Processes {
 public:
  Processes(const std::vector<std::size_t> &indices, const ProcessOptions &options)
      : indices_(indices),
        options_(options),
        texts_(shared<Text>(indices.size())),
        about_(shared<Text>(1)[0]),
        next_(shared<std::atomic<std::size_t>>(1)[0]),
        progress_(shared<Progress>(options.processes)),
        ids_(options.processes) {}

  Answers run() {
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    ::pthread_sigmask(SIG_BLOCK, &ended, &signals_before_);  // so that sigtimedwait() receives it
    for (std::size_t i = 0; i < ids_.size(); ++i) start(i);
    const Time::time_point begin = Time::now();
    while (std::ranges::any_of(ids_, [](pid_t id) { return id != 0; })) {
      const timespec wait{0, 100'000'000};
      ::sigtimedwait(&ended, nullptr, &wait);
      const std::chrono::duration<double> taken = Time::now() - begin;
      if (options_.seconds != 0 && taken.count() > options_.seconds) next_ = indices_.size();
      for (std::size_t i = 0; i < ids_.size(); ++i) watch(i);
    }
    if (failures_ > kMostFailures) throw std::runtime_error(failure_);
    Answers answers{about_.data(), std::vector<std::string>(all_cases().size())};
    for (std::size_t i = 0; i < indices_.size(); ++i) answers.texts[indices_[i]] = texts_[i].data();
    return answers;
  }

 private:
  void start(std::size_t process) {
    progress_[process].position = kNone;
    progress_[process].since = Time::now().time_since_epoch().count();
    std::fflush(nullptr);
    ids_[process] = ::fork();
    if (ids_[process] != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a case that hangs does not outlive this process
    ::pthread_sigmask(SIG_SETMASK, &signals_before_, nullptr);
    serve(progress_[process]);
  }

  [[noreturn]] void serve(Progress &progress) try {
    Runner runner(options_.driver);
    put(about_, runner.description());
    for (std::size_t at; (at = next_++) < indices_.size();) {
      progress.since = Time::now().time_since_epoch().count();
      progress.position = at;
      put(texts_[at], runner.answer(all_cases()[indices_[at]]));
      progress.position = kNone;
      if (!runner.is_usable()) _exit(kBroken);
    }
    _exit(0);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    _exit(2);
  }

  void watch(std::size_t process) {
    if (ids_[process] == 0) return;
    Progress &progress = progress_[process];
    const std::size_t position = progress.position;
    int status = 0;
    if (::waitpid(ids_[process], &status, WNOHANG) != ids_[process]) {
      const std::chrono::duration<double> taken =
          Time::now().time_since_epoch() - Time::duration(progress.since.load());
      if (taken.count() > (position == kNone ? kTimeToLoad : options_.longest))
        ::kill(ids_[process], SIGKILL);
      return;
    }
    ids_[process] = 0;
    // The end of a process that has crashed takes longer than a case; SIGKILL does not change its status.
    const bool is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (position != kNone) put(texts_[position], is_killed ? "hang" : "crash");
    const bool has_failed =
        position == kNone && status != 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == kBroken);
    if (has_failed) {
      ++failures_;
      failure_ = fmt::format("a process ended outside of a case with {} {}",
                             WIFEXITED(status) ? "exit code" : "signal",
                             WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    }
    if (failures_ <= kMostFailures && next_ < indices_.size()) start(process);
  }

  const std::vector<std::size_t> &indices_;
  const ProcessOptions &options_;
  std::span<Text> texts_;
  Text &about_;
  std::atomic<std::size_t> &next_;
  std::span<Progress> progress_;
  std::vector<pid_t> ids_;  // 0: ended
  sigset_t signals_before_{};
  int failures_ = 0;
  std::string failure_;  // the last
};

}  // namespace

Answers answers_of(const std::vector<std::size_t> &indices, const ProcessOptions &options) {
  return Processes(indices, options).run();
}

}  // namespace arguments
