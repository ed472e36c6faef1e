// SPDX-License-Identifier: Apache-2.0
// Submits tasks: makes them of operations, in the order of their predecessors.
#include "engine/engine.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/limits.hpp"
#include "engine/task_search.hpp"

namespace cushim::sim {

namespace {

// Appends a task to the chain of its predecessor in the stream, unless another task already follows that.
void join_chain(Task &task, Task &earlier) {
  if (task.chain != nullptr || earlier.stream != task.stream) return;
  if (earlier.chain == nullptr) earlier.chain = new (std::nothrow) Chain{&earlier, &earlier};
  if (earlier.chain == nullptr || earlier.chain->last != &earlier) return;
  earlier.next_in_chain = &task;
  task.chain = earlier.chain;
  task.chain->last = &task;
}

void put_behind(Task &task, Task &earlier, Task::Edge &edge) {
  edge = {&earlier, &task, earlier.before};
  earlier.before = &edge;
  ++task.blockers;
  join_chain(task, earlier);
}

// Moves all of the operation except its predecessors into a new task. Makes all allocations that the task
// needs.
Work task_of(BlockPool &pool, Operation &operation) {
  Work work(new (pool) Task);
  Task &task = *work;
  task.name = operation.name;
  task.stream = operation.stream;
  task.owner = operation.owner;
  task.cost = operation.cost;
  task.resource = operation.resource;
  task.completed_at = operation.not_before;
  task.condition = std::move(operation.condition);
  task.is_on_host = static_cast<bool>(operation.on_host);
  task.action = std::move(task.is_on_host ? operation.on_host : operation.run);
  const std::size_t count = operation.after.size();
  const std::size_t more = count - std::min(count, std::size(task.edges));
  if (more == 0 && !task.is_on_host && operation.on_complete == nullptr) return work;
  task.extras = std::make_unique<Task::Extras>();
  task.extras->on_complete = std::move(operation.on_complete);
  if (task.is_on_host) task.extras->host_function.push_back(&task);
  if (more != 0) task.extras->edges = std::make_unique<Task::Edge[]>(more);
  task.more_count = static_cast<std::uint32_t>(more);
  return work;
}

}  // namespace

Engine::Engine(mock::Mutex &mutex, const Options &options)
    : mutex_(mutex), options_(options), schedule_(options.schedule), random_(options.seed) {
  order_.reserve(kOrderKept);
}

Engine::~Engine() {
  // The background thread may start the host thread, so it ends first.
  for (std::jthread *const thread : {&background_, &host_thread_}) {
    thread->request_stop();
    if (thread->joinable()) thread->join();
  }
  // Drops the tasks that have not run, each after all its predecessors.
  const auto leave = [this](Task *task) { ending_.push_back(task); };
  for_each_ready(leave);
  std::ranges::for_each(host_functions_, leave);
  while (!ending_.empty()) {
    Task &task = *ending_.back();
    ending_.pop_back();
    for (const Task::Edge *edge = task.before; edge != nullptr; edge = edge->next)
      if (--edge->later->blockers == 0) leave(edge->later);
    drop(task);
  }
}

Work Engine::add(Operation &&operation) {
  if (operation.on_host) start_host_thread();
  reserve_lists();
  Work work = task_of(*tasks_, operation);
  Task &task = *work;
  for (std::size_t i = 0; i < operation.after.size(); ++i) {
    Task &earlier = *operation.after[i];
    if (earlier.is_complete()) {
      task.completed_at = std::max(task.completed_at, earlier.completed_at);
      continue;
    }
    if (earlier.is_last()) --last_tasks_;
    put_behind(task, earlier,
               i < std::size(task.edges) ? task.edges[i] : task.extras->edges[i - std::size(task.edges)]);
  }
  ++last_tasks_;
  task.serial = ++submitted_;
  task.completed_at = std::max(task.completed_at, now_);
  ++task.references;  // the engine's own reference, until the task is complete
  ++unfinished_;
  if (task.blockers == 0) task.state = Task::State::ready;
  if (observer_ != nullptr) observer_->submitted(task.serial);
  return work;
}

void Engine::extend(const Work &later, const Work &earlier) {
  Task::Edge *const unused = std::ranges::find(later->edges, nullptr, &Task::Edge::earlier);
  if (earlier->is_last()) --last_tasks_;
  put_behind(*later, *earlier, *unused);
  if (active_needs_ != 0 && later->needed_by == needs_) mark_needed(std::span(&earlier, 1));
}

// Reserves room for all unfinished tasks in each list, so that running tasks allocates no memory.
void Engine::reserve_lists() {
  if (unfinished_ < reserved_) return;
  const std::size_t wanted = std::max<std::size_t>(64, 2 * reserved_);
  for (std::vector<ConditionalTask> *const list : {&polled_, &announced_}) list->reserve(wanted);
  ending_.reserve(wanted);
  for (ReadyHeap *const heap : {&runnable_, &needed_}) heap->reserve(wanted);
  reserved_ = wanted;
}

void Engine::start(Lock &lock, const Work &work) {
  Task &task = *work;
  may_have_changed_ = true;
  if (task.state == Task::State::ready && task.list == List::none) {
    // A task without an action takes no time, so the background schedule runs it at once, too.
    const bool runs_at_once = schedule_ == Schedule::eager
                                  ? is_idle() && holds(task)
                                  : schedule_ == Schedule::background && !task.action && holds(task);
    if (runs_at_once) {
      run(lock, task);
      if (schedule_ == Schedule::eager && has_runnable())
        run_at_call(lock);  // submitted by other threads while the lock was released
      return;
    }
    make_ready(task);
  } else if (schedule_ == Schedule::background) {
    return;  // the background thread continues with it
  }
  run_at_call(lock);
  if (schedule_ != Schedule::background || is_background_idle_) notify();
}

}  // namespace cushim::sim
