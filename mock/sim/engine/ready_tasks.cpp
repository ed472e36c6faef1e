// SPDX-License-Identifier: Apache-2.0
// Tasks whose predecessors are complete: their lists, and the checks of their conditions.
#include <algorithm>
#include <utility>

#include "engine/task_search.hpp"

namespace cushim::sim {

void Engine::make_ready(Task &task) {
  task.state = Task::State::ready;
  if (holds(task)) return make_runnable(task);
  const bool is_announced = task.condition->changed_by == Condition::ChangedBy::announcer;
  task.list = is_announced ? List::announced : List::polled;
  std::vector<ConditionalTask> &list = is_announced ? announced_ : polled_;
  task.index = list.size();
  list.push_back({&task, task.condition.get()});
}

void Engine::make_runnable(Task &task) {
  const bool is_needed = active_needs_ != 0 && task.needed_by == needs_;
  task.list = is_needed ? List::needed : List::runnable;
  (is_needed ? needed_ : runnable_).push(task);
}

void Engine::remove_from_list(Task &task) {
  const auto swap_out = [&task](std::vector<ConditionalTask> &list) {
    list[task.index] = list.back();
    list[task.index].task->index = task.index;
    list.pop_back();
  };
  switch (std::exchange(task.list, List::none)) {
    case List::polled:
      return swap_out(polled_);
    case List::announced:
      return swap_out(announced_);
    case List::runnable:
      return runnable_.erase(task);
    case List::needed:
      return needed_.erase(task);
    case List::none:
      break;
  }
}

// Returns the ready tasks in order of submission.
std::vector<Task *> Engine::ready_tasks() const {
  std::vector<Task *> tasks;
  for_each_ready([&](Task *task) { tasks.push_back(task); });
  std::ranges::sort(tasks, {}, &Task::serial);
  return tasks;
}

// Makes the tasks of the list runnable whose condition holds. Checks up to `most` tasks, from index `next`,
// and wraps around at the end. Returns false if no condition holds.
bool Engine::check_conditions(const std::vector<ConditionalTask> &list, std::size_t &next, std::size_t most) {
  bool has_found = false;
  for (std::size_t rest = std::min(most, list.size()); rest != 0; --rest) {
    if (next >= list.size()) next = 0;
    ++examined_;
    if (!list[next].condition->holds()) {
      ++next;
      // The next call with the same `most` reads this condition.
      if (next + most <= list.size()) __builtin_prefetch(list[next + most - 1].condition);
      continue;
    }
    Task &task = *list[next].task;
    remove_from_list(task);
    make_runnable(task);
    has_found = true;
  }
  return has_found;
}

bool Engine::check_polled(std::size_t most) {
  may_have_changed_ = false;
  return check_conditions(polled_, next_to_poll_, most);
}

bool Engine::check_announced() {
  std::size_t first = 0;
  return check_conditions(announced_, first, announced_.size());
}

bool Engine::check_all_conditions() {
  const bool is_announced = check_announced();
  return check_polled(polled_.size()) || is_announced;
}

bool Engine::check_needed_by(const Work &work) {
  if (polled_.empty()) return false;
  bool has_found = false;
  for_each_in_front(std::span(&work, 1), [&](Task &task) {
    if (task.list != List::polled || !task.condition->holds()) return;
    remove_from_list(task);
    make_runnable(task);
    has_found = true;
  });
  return has_found;
}

// Marks the tasks that these works need, each once per round of waits. They are complete when the wait ends.
void Engine::mark_needed(std::span<const Work> works) {
  SeenTasks needed;
  const auto see = [&](Task &task) {
    if (std::exchange(task.needed_by, needs_) != needs_) needed.add(task);
  };
  for (const Work &work : works)
    if (!sim::is_complete(work)) see(*work);
  needed.for_each([&](Task &task) {
    ++examined_;
    bool is_waiting = false;
    task.for_each_earlier([&](Task &earlier) {
      is_waiting = true;
      see(earlier);
    });
    if (is_waiting || task.list != List::runnable) return;
    remove_from_list(task);
    make_runnable(task);
  });
}

// Returns whether these works wait for all unfinished tasks: each of them is before one that no task depends
// on, and these works contain all of those. Then no task needs a mark.
bool Engine::needs_all(std::span<const Work> works) const {
  Search search;
  std::size_t count = 0;
  for (const Work &work : works) {
    if (sim::is_complete(work) || work->is_seen || !work->is_last()) continue;
    search.see(*work);
    ++count;
  }
  return count == last_tasks_;
}

}  // namespace cushim::sim
