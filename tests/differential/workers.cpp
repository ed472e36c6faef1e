// SPDX-License-Identifier: Apache-2.0
#include "workers.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace differential {
namespace {

using Time = std::chrono::steady_clock;
double seconds_since(Time::time_point start) {
  return std::chrono::duration<double>(Time::now() - start).count();
}

// The calls of the walk in progress, in memory that outlives the process.
struct Progress {
  std::size_t size = 0;
  std::array<char, 1 << 20> steps{};  // "call\x1f answer\x1e" of all calls but the last
  std::array<char, 1 << 12> last{};   // the call in progress
  void add(const std::string &text) {
    if (size + text.size() > steps.size()) return;
    std::memcpy(steps.data() + size, text.data(), text.size());
    size += text.size();
  }
};

struct Job {
  std::uint64_t seed;
  unsigned run;
};

struct Worker {
  pid_t process = 0;
  int socket = -1;
  Progress *progress = nullptr;
  std::optional<Job> job;
  bool is_late = false;  // killed, because the walk took too long
  Time::time_point since;
  std::string received;
};

std::string text_of(std::uint64_t seed, const Recording::Line &line) {
  return fmt::format("{} {} {}\n", seed, line.fingerprint, fmt::join(line.answers, ";"));
}

Recording::Line line_of(const std::string &text) {
  std::istringstream stream(text);
  std::uint64_t seed = 0;
  Recording::Line line;
  stream >> seed >> line.fingerprint;
  stream.get();
  for (std::string answer; std::getline(stream, answer, ';');) line.answers.push_back(answer);
  return line;
}

void send(int socket, const std::string &text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t written = ::write(socket, text.data() + sent, text.size() - sent);
    if (written <= 0) _exit(3);
    sent += static_cast<std::size_t>(written);
  }
}

[[noreturn]] void serve(const WorkOfWorker &work, int socket, Progress &progress) try {
  send(socket, work.begin() + "\n");
  std::optional<Step> before;
  work.watch([&](const Step &step) {
    if (before) progress.add(before->call + '\x1f' + step.answer + '\x1e');
    before = step;
    std::snprintf(progress.last.data(), progress.last.size(), "%s", step.call.c_str());
  });
  std::string text;
  for (char letter = 0; ::read(socket, &letter, 1) == 1;) {
    if (letter != '\n') {
      text += letter;
      continue;
    }
    progress.size = 0;
    before.reset();
    const std::uint64_t seed = std::stoull(std::exchange(text, {}));
    const std::vector<Step> steps = work.walk(seed);
    const bool is_usable = work.is_usable();
    send(socket, text_of(seed, differential::line_of(steps)));
    if (!is_usable) _exit(7);
  }
  _exit(0);
} catch (const std::exception &error) {
  std::fprintf(stderr, "worker: %s\n", error.what());
  _exit(2);
}

class Workers {
 public:
  Workers(const WorkOfWorker &work, const WorkerOptions &options, Kind kind)
      : work_(work), options_(options) {
    recording_.kind = kind;
    if (options.before == nullptr) {
      for (std::uint64_t seed = options.first; seed < options.first + options.count; ++seed) add_jobs(seed);
      return;
    }
    recording_.dropped = options.before->dropped;
    for (const auto &[seed, line] : options.before->walks) add_jobs(seed);
  }

  Recording run() {
    std::signal(SIGPIPE, SIG_IGN);  // the end of a worker is noticed by the next read
    workers_.resize(options_.processes);
    for (Worker &worker : workers_) start(worker);
    // Without time, does not wait for the end of processes that have crashed; their walks are dropped.
    const auto is_needed = [this](const Worker &worker) {
      return worker.process != 0 && (worker.socket >= 0 || has_time());
    };
    while (std::ranges::any_of(workers_, is_needed)) step();
    finish();
    return std::move(recording_);
  }

 private:
  void add_jobs(std::uint64_t seed) {
    for (unsigned run = 0; run < options_.runs; ++run) jobs_.push_back({seed, run});
  }

  bool has_time() const { return options_.seconds == 0 || seconds_since(start_) < options_.seconds; }

  void start(Worker &worker) {
    std::array<int, 2> sockets{};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()) != 0) throw std::runtime_error("no socket");
    if (worker.progress == nullptr) {
      void *const memory =
          ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) throw std::runtime_error("no memory for a worker");
      worker.progress = new (memory) Progress;
    }
    std::cout.flush();
    worker.process = ::fork();
    if (worker.process == 0) {
      ::close(sockets[0]);
      for (const Worker &other : workers_)
        if (other.socket >= 0) ::close(other.socket);
      serve(work_, sockets[1], *worker.progress);
    }
    ::close(sockets[1]);
    worker.socket = sockets[0];
    worker.received.clear();
    worker.job.reset();
    worker.is_late = false;
    worker.since = Time::now();
  }

  void give(Worker &worker) {
    if (jobs_.empty() || !has_time()) {
      ::shutdown(worker.socket, SHUT_WR);
      return;
    }
    worker.job = jobs_.front();
    jobs_.pop_front();
    worker.since = Time::now();
    const std::string text = std::to_string(worker.job->seed) + "\n";
    if (::write(worker.socket, text.data(), text.size()) < 0) return;  // its end is noticed by the next read
  }

  void step() {
    std::vector<pollfd> files;
    for (const Worker &worker : workers_) files.push_back({worker.socket, POLLIN, 0});
    ::poll(files.data(), files.size(), 100);
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      Worker &worker = workers_[i];
      if (worker.process == 0) continue;
      if (worker.socket < 0)
        end(worker);
      else if ((files[i].revents & (POLLIN | POLLHUP)) != 0)
        receive(worker);
      else if (seconds_since(worker.since) > options_.longest_walk + (worker.job ? 0 : 20)) {
        worker.is_late = true;
        ::kill(worker.process, SIGKILL);
      }
    }
  }

  void receive(Worker &worker) {
    std::array<char, 1 << 16> buffer{};
    const ssize_t size = ::read(worker.socket, buffer.data(), buffer.size());
    if (size <= 0) return end(worker);
    worker.received.append(buffer.data(), static_cast<std::size_t>(size));
    for (std::size_t newline; (newline = worker.received.find('\n')) != std::string::npos;) {
      const std::string text = worker.received.substr(0, newline);
      worker.received.erase(0, newline + 1);
      if (worker.job)
        std::cout << fmt::format("seed {}: {:.3f} s\n", worker.job->seed, seconds_since(worker.since));
      if (worker.job)
        lines_[worker.job->seed].push_back(line_of(text));
      else
        recording_.about = text;
      worker.job.reset();
      give(worker);
    }
  }

  // The end of a process that has crashed takes 10 s on a real driver. The others continue meanwhile.
  void end(Worker &worker) {
    if (worker.socket >= 0) ::close(worker.socket);
    worker.socket = -1;
    int status = 0;
    if (::waitpid(worker.process, &status, WNOHANG) != worker.process) return;
    worker.process = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 7 && worker.job) {
      // A broken context: the next walk had been given, but not begun.
      jobs_.push_front(*worker.job);
    } else if (worker.job) {
      std::cout << fmt::format("seed {}, run {}: {} {} in {}\n", worker.job->seed, worker.job->run,
                               WIFSIGNALED(status) ? "signal" : "exit",
                               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
                               worker.progress->last.data());
      // A crash takes many seconds, so the walk is not repeated. One that takes too long may have waited for
      // other processes: that is no other answer.
      if (options_.before == nullptr || !worker.is_late)
        lines_[worker.job->seed].assign(options_.runs, line_until_crash(*worker.progress));
      std::erase_if(jobs_, [&](const Job &job) { return job.seed == worker.job->seed; });
    }
    if (!jobs_.empty() && has_time()) start(worker);
  }

  static Recording::Line line_until_crash(const Progress &progress) {
    std::istringstream stream(std::string(progress.steps.data(), progress.size));
    std::vector<Step> steps;
    for (std::string text; std::getline(stream, text, '\x1e');) {
      const std::size_t middle = text.find('\x1f');
      steps.push_back({.symbol = "", .call = text.substr(0, middle), .answer = text.substr(middle + 1)});
    }
    Recording::Line line = differential::line_of(steps);
    line.answers.push_back("crash");
    return line;
  }

  static void report_difference(std::uint64_t seed, const std::vector<Recording::Line> &lines) {
    const std::vector<std::string> &a = lines.front().answers;
    for (const Recording::Line &line : lines) {
      const std::vector<std::string> &b = line.answers;
      const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
      if (x == a.end() && y == b.end()) continue;
      std::cout << fmt::format("seed {}, dropped at call {}: {} or {}\n", seed, x - a.begin() + 1,
                               x == a.end() ? "(end)" : *x, y == b.end() ? "(end)" : *y);
      return;
    }
    std::cout << fmt::format("seed {}, dropped: other arguments, or too few runs\n", seed);
  }

  void finish() {
    std::map<std::size_t, std::size_t> walks_by_runs;
    if (options_.before != nullptr)
      for (const auto &[seed, line] : options_.before->walks) {
        std::vector<Recording::Line> &lines = lines_[seed];
        ++walks_by_runs[lines.size()];
        lines.insert(lines.begin(), line);
      }
    for (const auto &[runs, walks] : walks_by_runs)
      std::cout << fmt::format("{} walks ran {} times\n", walks, runs);
    for (const auto &[seed, lines] : lines_) {
      const auto is_like_first = [&first = lines.front()](const Recording::Line &line) {
        return line.answers == first.answers && line.fingerprint == first.fingerprint;
      };
      const bool has_run = options_.before != nullptr || lines.size() == options_.runs;
      if (has_run && std::ranges::all_of(lines, is_like_first))
        recording_.walks[seed] = lines.front();
      else {
        ++recording_.dropped;
        report_difference(seed, lines);
      }
    }
  }

  const WorkOfWorker &work_;
  const WorkerOptions options_;
  Time::time_point start_ = Time::now();
  std::deque<Job> jobs_;
  std::vector<Worker> workers_;
  std::map<std::uint64_t, std::vector<Recording::Line>> lines_;
  Recording recording_;
};

}  // namespace

Recording record_in_workers(const WorkOfWorker &work, const WorkerOptions &options, Kind kind) {
  return Workers(work, options, kind).run();
}

}  // namespace differential
