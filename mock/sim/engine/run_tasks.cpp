// SPDX-License-Identifier: Apache-2.0
// Runs, completes and abandons tasks.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "engine/counted.hpp"
#include "engine/limits.hpp"
#include "engine/task_search.hpp"

namespace cushim::sim {

namespace {

// Prefetches the next task of a chain: with many pending tasks it is not in the cache, and it is used soon.
void prefetch(const Task *task) {
  constexpr std::size_t kLine = 64;
  for (std::size_t offset = 0; task != nullptr && offset < sizeof *task; offset += kLine)
    __builtin_prefetch(reinterpret_cast<const std::byte *>(task) + offset);
}

void leave_chain(Task &task) {
  if (task.chain == nullptr) return;
  task.chain->first = task.next_in_chain;
  if (task.chain->first == nullptr) delete task.chain;
  task.chain = nullptr;
}

}  // namespace

// Releases the lock for the duration of a move.
class Engine::WithoutLock {
 public:
  WithoutLock(Engine &engine, Lock &lock) : engine_(engine), lock_(lock) {
    ++engine_.moves_;
    lock_.unlock();
  }
  ~WithoutLock() {
    lock_.lock();
    --engine_.moves_;
    engine_.notify();
  }
  WithoutLock(const WithoutLock &) = delete;
  WithoutLock &operator=(const WithoutLock &) = delete;

 private:
  Engine &engine_;
  Lock &lock_;
};

// Returns the next task by the schedule; null if there is none.
Task *Engine::choose() {
  if (may_have_changed_) check_polled(kWordsPolledByCall);
  if (!has_runnable()) return nullptr;
  ++examined_;
  if (schedule_ == Schedule::seeded) {
    const std::size_t index = random_() % (runnable_.size() + needed_.size());
    return index < runnable_.size() ? &runnable_[index] : &needed_[index - runnable_.size()];
  }
  if (needed_.empty()) return &runnable_.first();
  if (runnable_.empty()) return &needed_.first();
  return runnable_.first().serial < needed_.first().serial ? &runnable_.first() : &needed_.first();
}

// Runs the task if its condition still holds. Otherwise returns false, and the task is polled again.
bool Engine::try_run(Lock &lock, Task &task) {
  remove_from_list(task);
  if (!holds(task)) {
    make_ready(task);
    return false;
  }
  run(lock, task);
  return true;
}

bool Engine::run_one(Lock &lock) {
  while (Task *const task = choose())
    if (try_run(lock, *task)) return true;
  return false;
}

bool Engine::run_one_needed(Lock &lock) {
  if (may_have_changed_) check_polled(kWordsPolledByCall);
  while (!needed_.empty()) {
    ++examined_;
    if (try_run(lock, needed_.first())) return true;
  }
  return false;
}

// Runs one of the tasks that these works wait for.
bool Engine::run_one_in_front(Lock &lock, std::span<const Work> works) {
  std::vector<Task *> able;
  for_each_in_front(works, [&](Task &task) {
    if (task.state == Task::State::ready && holds(task)) able.push_back(&task);
  });
  if (able.empty()) return false;
  std::ranges::sort(able, {}, &Task::serial);
  return try_run(lock, schedule_ == Schedule::seeded ? *able[random_() % able.size()] : *able.front());
}

void Engine::run_at_call(Lock &lock) {
  switch (schedule_) {
    case Schedule::eager:
      while (run_one(lock)) {
      }
      break;
    case Schedule::seeded:
      while (random_() % 3 == 0 && run_one(lock)) {
      }
      break;
    case Schedule::deferred:
    case Schedule::stepped:
    case Schedule::background:
      break;
  }
}

// Calls a function of a task. If it throws, the task's context fails, because there may be no call left that
// could return the error.
template <class Function>
void Engine::attempt(const Task &task, Function function) {
  try {
    function();
  } catch (...) {
    fail(task);
  }
}

// Requires a current exception.
void Engine::fail(const Task &task) noexcept {
  try {
    if (on_failure_ != nullptr) on_failure_(task.owner);
    report(to_text(task) + " failed: out of memory or threads; its context fails with it");
  } catch (...) {
    std::fputs("cushim[sim]: no memory is left to report that an operation failed\n", stderr);
    std::abort();
  }
}

void Engine::run(Lock &lock, Task &task) {
  record_order({task.serial, task.stream, task.name});
  Time start = task.completed_at;
  if (task.resource != nullptr) start = std::max(start, task.resource->free_at);
  if (task.condition != nullptr) start = std::max(start, task.condition->since());
  task.completed_at = start + task.cost;
  if (task.resource != nullptr) task.resource->free_at = task.completed_at;
  task.state = Task::State::running;
  if (task.is_on_host && task.action) return start_host_function(lock, task);
  if (task.action) {
    attempt(task, [&] {
      Move move;
      task.action(move);
      const Time more = make(lock, move);
      task.completed_at += more;
      task.cost += more;
      if (task.resource != nullptr) task.resource->free_at += more;
    });
    may_have_changed_ = true;
  }
  complete(task);
}

// Makes a move. A long move releases the lock, so that other threads' calls and moves continue. A call that
// frees the memory waits for the operation first. Returns the virtual time that it takes beyond the task's
// cost.
Time Engine::make(Lock &lock, const Move &move) {
  if (move.compute != nullptr) {
    changed_.wait(lock, [this] { return waiting_for_moves_ == 0; });
    const WithoutLock unlocked(*this, lock);
    return move.compute();
  }
  if (move.size == 0) return 0;
  const auto copy = [&move] { std::memmove(move.to, move.from, move.size); };
  if (move.size < kUnlockedCopyBytes || waiting_for_moves_ != 0) {
    copy();
    return 0;
  }
  const WithoutLock unlocked(*this, lock);
  copy();
  return 0;
}

void Engine::wait_for_moves(Lock &lock) {
  const Counted waiting(waiting_), waiting_for_moves(waiting_for_moves_);
  changed_.wait(lock, [this] { return moves_ == 0; });
}

// Completes a task. Its successors become ready if all their predecessors are complete; those that were
// abandoned with it go to ending_ instead.
void Engine::complete(Task &task, bool is_abandoned) {
  if (task.extras != nullptr && task.extras->on_complete != nullptr)
    attempt(task, [&] { task.extras->on_complete(task.completed_at); });
  if (observer_ != nullptr && !is_abandoned) {
    const Resource unit = task.resource != nullptr ? *task.resource : Resource{};
    observer_->ran({.number = task.serial,
                    .stream = task.stream,
                    .call = task.name,
                    .begin = std::chrono::nanoseconds(task.completed_at - task.cost),
                    .end = std::chrono::nanoseconds(task.completed_at),
                    .copy_engine = unit.copy_engine,
                    .device = unit.device});
  }
  task.state = Task::State::complete;
  --unfinished_;
  if (task.is_last()) --last_tasks_;
  bool makes_ready = false;
  for (Task::Edge *edge = std::exchange(task.before, nullptr); edge != nullptr;) {
    Task &later = *edge->later;
    edge->earlier = nullptr;
    edge = edge->next;
    prefetch(later.next_in_chain);
    later.completed_at = std::max(later.completed_at, task.completed_at);
    if (--later.blockers != 0) continue;
    if (is_abandoned && later.fault != CUDA_SUCCESS) {
      ending_.push_back(&later);
      continue;
    }
    make_ready(later);
    makes_ready = true;
  }
  const bool wakes_runner = makes_ready && (schedule_ != Schedule::background || is_background_idle_);
  if (task.is_awaited || wakes_runner) notify();
  drop(task);
}

// Drops the engine's reference to a task, and frees what the task was made of. The task may be destroyed.
void Engine::drop(Task &task) {
  leave_chain(task);
  task.action.reset();
  task.condition.reset();
  task.extras.reset();
  task.more_count = 0;
  const Work last(&task);
  --task.references;
}

void Engine::abandon(const void *owner, std::span<const Work> works, CUresult fault) {
  const std::size_t others = ending_.size();
  mark_abandoned(owner, works, fault);
  // The same in every schedule: there is nothing to choose.
  while (ending_.size() > others) {
    Task &task = *ending_.back();
    ending_.pop_back();
    complete(task, true);
  }
}

// Moves the ready tasks among them to ending_.
void Engine::mark_abandoned(const void *owner, std::span<const Work> works, CUresult fault) {
  Search search;
  const auto see = [&search](Task &task) { search.see(task); };
  for (const Work &work : works)
    if (!sim::is_complete(work)) see(*work);
  search.for_each([&](Task &task) {
    task.for_each_earlier(see);
    if (task.owner != owner) return;
    if (task.state == Task::State::running) {
      if (!task.is_on_host) task.fault = fault;  // successors of the failed kernel get its fault
      return;
    }
    if (task.state == Task::State::ready) {
      remove_from_list(task);
      ending_.push_back(&task);
    }
    task.fault = fault;
    task.condition.reset();
    task.action.reset();
  });
}

}  // namespace cushim::sim
