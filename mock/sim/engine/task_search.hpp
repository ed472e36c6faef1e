// SPDX-License-Identifier: Apache-2.0
// Searches of the engine in its unfinished tasks.
#pragma once

#include "engine/engine.hpp"

namespace cushim::sim {

// The tasks that a search has seen, in the order in which it saw them. Tasks that are added during for_each()
// are visited too. For many streams this is nearly the order of submission, and so the order in memory.
class SeenTasks {
 public:
  void add(Task &task) noexcept {
    task.next_seen = nullptr;
    (first_ == nullptr ? first_ : last_->next_seen) = &task;
    last_ = &task;
  }
  template <class Visit>
  void for_each(Visit visit) const {
    for (Task *task = first_; task != nullptr; task = task->next_seen) visit(*task);
  }

 private:
  Task *first_ = nullptr, *last_ = nullptr;
};

// A list of seen tasks that contains each task once.
class Search {
 public:
  Search() = default;
  ~Search() {
    seen_.for_each([](Task &task) { task.is_seen = false; });
  }
  Search(const Search &) = delete;
  Search &operator=(const Search &) = delete;

  void see(Task &task) noexcept {
    if (task.is_seen) return;
    task.is_seen = true;
    seen_.add(task);
  }
  template <class Visit>
  void for_each(Visit visit) const {
    seen_.for_each(visit);
  }

 private:
  SeenTasks seen_;
};

inline bool holds(const Task &task) { return task.condition == nullptr || task.condition->holds(); }

// Returns the first unfinished task of the task's chain.
inline Task &front_of(Task &task) { return task.chain != nullptr ? *task.chain->first : task; }

template <class Visit>
void Engine::for_each_ready(Visit visit) const {
  for (const std::vector<ConditionalTask> *const list : {&polled_, &announced_})
    for (const ConditionalTask &waiting : *list) visit(waiting.task);
  for (const ReadyHeap *const heap : {&runnable_, &needed_})
    for (std::size_t i = 0; i < heap->size(); ++i) visit(&(*heap)[i]);
}

// Visits, once each, the tasks that these works wait for: of a chain the first task if it waits for no other
// task; else the same for its predecessors. Passes each chain once, whatever its length.
template <class Visit>
void Engine::for_each_in_front(std::span<const Work> works, Visit visit) {
  Search search;
  const auto see = [&search](Task &task) { search.see(front_of(task)); };
  for (const Work &work : works)
    if (!sim::is_complete(work)) see(*work);
  search.for_each([&](Task &task) {
    ++examined_;
    if (task.state == Task::State::waiting)
      task.for_each_earlier(see);
    else
      visit(task);
  });
}

}  // namespace cushim::sim
