// SPDX-License-Identifier: Apache-2.0
// Queries and waits for tasks, and the search for deadlocks.
#include <cushim/mock/own_thread.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include "engine/counted.hpp"
#include "engine/limits.hpp"
#include "engine/task_search.hpp"

namespace cushim::sim {

namespace {

// Returns whether the calling thread is the program's only thread. Returns false if the system does not list
// the threads, and while a thread of cushim starts or ends.
bool is_only_thread() {
  const long own = mock::own_threads;
  std::error_code error;
  const std::filesystem::directory_iterator tasks("/proc/self/task", error);
  return !error && std::distance(begin(tasks), end(tasks)) - own == 1 && mock::own_threads == own;
}

// Returns whether a task must be complete before these works are.
bool depends_on(std::span<const Work> works, const Task *wanted) {
  Search search;
  bool is_found = false;
  for (const Work &work : works)
    if (!sim::is_complete(work)) search.see(*work);
  search.for_each([&](Task &task) {
    is_found |= &task == wanted;
    task.for_each_earlier([&](Task &earlier) { search.see(earlier); });
  });
  return is_found;
}

}  // namespace

// Keeps the tasks that some work depends on marked as needed while a call waits for it. Waits of several
// threads share the marks.
class Engine::Needs {
 public:
  Needs(Engine &engine, std::span<const Work> works) : engine_(engine) {
    if (engine_.active_needs_++ == 0) ++engine_.needs_;
    engine_.mark_needed(works);
  }
  ~Needs() {
    if (--engine_.active_needs_ != 0) return;
    ++engine_.needs_;
    while (!engine_.needed_.empty()) {
      Task &task = engine_.needed_.first();
      engine_.remove_from_list(task);
      engine_.make_runnable(task);
    }
  }
  Needs(const Needs &) = delete;
  Needs &operator=(const Needs &) = delete;

 private:
  Engine &engine_;
};

bool Engine::query(Lock &lock, std::span<const Work> works) {
  may_have_changed_ = true;  // memory may have been written since the last check
  if (schedule_ == Schedule::eager) {
    run_at_call(lock);
    const auto held = std::ranges::find_if_not(works, &sim::is_complete);
    if (held != works.end() && check_needed_by(*held)) run_at_call(lock);
  }
  if (std::ranges::all_of(works, &sim::is_complete)) {
    for (const Work &work : works)
      if (work != nullptr) advance_to(work->completed_at);
    return true;
  }
  if (schedule_ == Schedule::deferred || schedule_ == Schedule::seeded)
    if (!run_one_in_front(lock, works)) run_one(lock);
  return false;
}

bool Engine::wait(Lock &lock, std::span<const Work> works, const char *call) {
  std::optional<std::chrono::steady_clock::time_point> patient_until;
  std::optional<Needs> needs;  // none while all unfinished tasks are needed
  std::optional<unsigned long> last_submission;
  bool is_reported = false;
  may_have_changed_ = true;
  auto first = works.begin();
  const auto rest = [&] {
    while (first != works.end() && sim::is_complete(*first)) ++first;
    return std::span(first, works.end());
  };
  for (auto awaited = rest(); !awaited.empty(); awaited = rest()) {
    if (schedule_ == Schedule::deferred || schedule_ == Schedule::stepped) {
      if (std::exchange(last_submission, submitted_) != submitted_ && !needs && !needs_all(awaited))
        needs.emplace(*this, awaited);
      if (needs && (run_one_needed(lock) || check_needed_by(awaited.front()))) continue;
    }
    // Also if only needed tasks were to run: a task that waits for memory may need any other operation.
    if (schedule_ != Schedule::background && (run_one(lock) || check_all_conditions())) continue;
    if (is_host_thread() && depends_on(awaited, in_host_function_)) {
      report(std::string(call) + ": deadlock: a host function waits for work that waits for the function\n");
      return false;
    }
    if (is_deadlocked()) {
      report(std::string(call) +
             ": deadlock: no operation can run, and no other thread or process can unblock one:\n" +
             stream_heads());
      return false;
    }
    if (!patient_until) patient_until = std::chrono::steady_clock::now() + options_.patience;
    sleep(lock, *awaited.front());
    may_have_changed_ = true;
    if (is_reported || std::chrono::steady_clock::now() < *patient_until) continue;
    is_reported = true;
    report(std::string(call) + " still waits:\n" + stream_heads());
  }
  for (const Work &work : works)
    if (work != nullptr) advance_to(work->completed_at);
  return true;
}

// Returns true only if it is certain that no thread and no process is left that could write memory, open a
// gate or submit work.
bool Engine::is_deadlocked() const {
  if (has_others_ || in_host_function_ != nullptr || !host_functions_.empty() || moves_ != 0 ||
      has_runnable() || polled_.empty() || !announced_.empty())
    return false;
  const auto is_hopeless = [](const ConditionalTask &waiting) {
    return waiting.condition->changed_by == Condition::ChangedBy::engine && !waiting.condition->holds();
  };
  return std::ranges::all_of(polled_, is_hopeless) && is_only_thread();
}

bool Engine::step(Lock &lock) {
  may_have_changed_ = true;
  return run_one(lock) || (check_all_conditions() && run_one(lock));
}

void Engine::run_all(Lock &lock) {
  const Counted waiting(waiting_);
  const auto is_quiet = [this] {
    return moves_ == 0 && host_functions_.empty() && in_host_function_ == nullptr;
  };
  do {
    may_have_changed_ = true;
    while (run_one(lock) || check_all_conditions()) {
    }
    if (is_quiet()) return;
    changed_.wait(
        lock, [this] { return moves_ == 0 && (host_functions_.empty() || in_host_function_ != nullptr); });
    changed_.wait_for(lock, kHostFunctionGrace, is_quiet);
  } while (is_quiet() || has_runnable() || check_all_conditions());
}

void Engine::recheck_announced(Lock &lock) {
  check_announced();
  run_at_call(lock);
  notify();
}

// Sleeps until something changes, or a time limit has passed.
void Engine::sleep(Lock &lock, Task &until) {
  const Counted waiting(waiting_);
  until.is_awaited = true;
  // Memory changes without notice, so it is checked periodically while an operation waits for it.
  if (schedule_ != Schedule::background && !polled_.empty())
    changed_.wait_for(lock, kPollInterval);
  else
    changed_.wait_for(lock, std::min<std::chrono::milliseconds>(kDeadlockCheckInterval, options_.patience));
}

}  // namespace cushim::sim
