// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.hpp"

#include <cushim/mock/own_thread.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>

#include "engine/driver_thread.hpp"

namespace cushim::sim {

namespace {

constexpr std::size_t kOrderKept = 1000;

// Copies of at least this size release the lock while they run.
constexpr std::size_t kLongMove = 64 << 10;

// The interval at which a wait checks again for a deadlock.
constexpr auto kAskAgain = std::chrono::milliseconds(50);

// The interval at which memory that the program may write to is checked.
constexpr auto kLook = std::chrono::microseconds(100);

// The number of polled words that are checked: by a call that does not wait for them, and by the idle
// background thread.
constexpr std::size_t kLooksOfCall = 16;
constexpr std::size_t kLooksAtRest = 256;

// The time that a host function may take before the engine continues with other work. No result depends on
// it, unless the function waits for the program.
constexpr auto kHostFunctionGrace = std::chrono::milliseconds(20);

struct Counted {
  explicit Counted(int &count) : count(count) { ++count; }
  ~Counted() { --count; }
  Counted(const Counted &) = delete;
  Counted &operator=(const Counted &) = delete;
  int &count;
};

// Returns whether the calling thread is the program's only thread. Returns false if the system does not list
// the threads, and while a thread of cushim starts or ends.
bool is_only_thread() {
  const long own = mock::own_threads;
  std::error_code error;
  const std::filesystem::directory_iterator tasks("/proc/self/task", error);
  return !error && std::distance(begin(tasks), end(tasks)) - own == 1 && mock::own_threads == own;
}

bool holds(const Task &task) { return task.condition == nullptr || task.condition->holds(); }

// Prefetches the next task of a chain: with many pending tasks it is not in the cache, and it is used soon.
void prefetch(const Task *task) {
  constexpr std::size_t kLine = 64;
  for (std::size_t offset = 0; task != nullptr && offset < sizeof *task; offset += kLine)
    __builtin_prefetch(reinterpret_cast<const std::byte *>(task) + offset);
}

// Returns the first unfinished task of the task's chain.
Task &front_of(Task &task) { return task.chain != nullptr ? *task.chain->first : task; }

// Appends a task to the chain of its predecessor in the stream, unless another task already follows that.
void join_chain(Task &task, Task &earlier) {
  if (task.chain != nullptr || earlier.stream != task.stream) return;
  if (earlier.chain == nullptr) earlier.chain = new (std::nothrow) Chain{&earlier, &earlier};
  if (earlier.chain == nullptr || earlier.chain->last != &earlier) return;
  earlier.next_in_chain = &task;
  task.chain = earlier.chain;
  task.chain->last = &task;
}

void leave_chain(Task &task) {
  if (task.chain == nullptr) return;
  task.chain->first = task.next_in_chain;
  if (task.chain->first == nullptr) delete task.chain;
  task.chain = nullptr;
}

void put_behind(Task &task, Task &earlier, Task::Edge &edge) {
  edge = {&earlier, &task, earlier.before};
  earlier.before = &edge;
  ++task.blockers;
  join_chain(task, earlier);
}

// Moves all of the operation except its predecessors into a new task. Makes all allocations that the task
// needs.
Work task_of(TaskPool &pool, Operation &operation) {
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

Engine::Engine(mock::Mutex &mutex, const Options &options)
    : mutex_(mutex), options_(options), schedule_(options.schedule), random_(options.seed) {
  order_.reserve(kOrderKept);
}

void Engine::start_threads() {
  if (schedule_ == Schedule::background) start_background();
}

void Engine::start_background() {
  if (background_.joinable()) return;
  background_ = start_thread([this](const std::stop_token &stop) { background_thread(stop); });
}

void Engine::start_host_thread() {
  if (!host_thread_.joinable())
    host_thread_ = start_thread([this](const std::stop_token &stop) { host_thread(stop); });
}

void Engine::work_in_background() {
  start_background();
  has_others_ = true;
  schedule_ = Schedule::background;
  notify();
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
    if (earlier.is_complete())
      task.completed_at = std::max(task.completed_at, earlier.completed_at);
    else
      put_behind(task, earlier,
                 i < std::size(task.edges) ? task.edges[i] : task.extras->edges[i - std::size(task.edges)]);
  }
  task.serial = ++submitted_;
  task.completed_at = std::max(task.completed_at, now_);
  ++task.references;  // the engine's own reference, until the task is complete
  ++unfinished_;
  if (task.blockers == 0) task.state = Task::State::ready;
  return work;
}

// Reserves room for all unfinished tasks in each list, so that running tasks allocates no memory.
void Engine::reserve_lists() {
  if (unfinished_ < reserved_) return;
  const std::size_t wanted = std::max<std::size_t>(64, 2 * reserved_);
  for (std::vector<Task *> *const list : {&polled_, &announced_, &ending_}) list->reserve(wanted);
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

// ---- Readiness of tasks ----

void Engine::make_ready(Task &task) {
  task.state = Task::State::ready;
  if (holds(task)) return make_runnable(task);
  const bool is_announced = task.condition->changed_by == Condition::ChangedBy::announcer;
  task.list = is_announced ? List::announced : List::polled;
  std::vector<Task *> &list = is_announced ? announced_ : polled_;
  task.index = list.size();
  list.push_back(&task);
}

void Engine::make_runnable(Task &task) {
  const bool is_needed = active_needs_ != 0 && task.needed_by == needs_;
  task.list = is_needed ? List::needed : List::runnable;
  (is_needed ? needed_ : runnable_).push(task);
}

void Engine::remove_from_list(Task &task) {
  const auto swap_out = [&task](std::vector<Task *> &list) {
    list[task.index] = list.back();
    list[task.index]->index = task.index;
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

template <class Visit>
void Engine::for_each_ready(Visit visit) const {
  for (Task *const task : polled_) visit(task);
  for (Task *const task : announced_) visit(task);
  for (const ReadyHeap *const heap : {&runnable_, &needed_})
    for (std::size_t i = 0; i < heap->size(); ++i) visit(&(*heap)[i]);
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
bool Engine::check_conditions(const std::vector<Task *> &list, std::size_t &next, std::size_t most) {
  bool has_found = false;
  for (std::size_t rest = std::min(most, list.size()); rest != 0; --rest) {
    if (next >= list.size()) next = 0;
    Task &task = *list[next];
    ++examined_;
    if (!task.condition->holds()) {
      ++next;
      continue;
    }
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

// ---- Running tasks ----

// Returns the next task by the schedule; null if there is none.
Task *Engine::choose() {
  if (may_have_changed_) check_polled(kLooksOfCall);
  if (!has_runnable()) return nullptr;
  ++examined_;
  if (schedule_ == Schedule::seeded) {
    const std::size_t place = random_() % (runnable_.size() + needed_.size());
    return place < runnable_.size() ? &runnable_[place] : &needed_[place - runnable_.size()];
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
  if (may_have_changed_) check_polled(kLooksOfCall);
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
      make(lock, move);
    });
    may_have_changed_ = true;
  }
  complete(task);
}

void Engine::record_order(const Ran &ran) {
  if (order_.size() < kOrderKept)
    order_.push_back(ran);
  else
    order_[next_in_order_] = ran;
  next_in_order_ = (next_in_order_ + 1) % kOrderKept;
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

// Makes a move. A long move releases the lock, so that other threads' calls and moves continue. A call that
// frees the memory waits for the operation first.
void Engine::make(Lock &lock, const Move &move) {
  if (move.compute != nullptr) {
    changed_.wait(lock, [this] { return waiting_for_moves_ == 0; });
    const WithoutLock unlocked(*this, lock);
    return move.compute();
  }
  if (move.size == 0) return;
  const auto copy = [&move] { std::memmove(move.to, move.from, move.size); };
  if (move.size < kLongMove || waiting_for_moves_ != 0) return copy();
  const WithoutLock unlocked(*this, lock);
  copy();
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
  task.state = Task::State::complete;
  --unfinished_;
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
  std::optional<Needs> needs;
  bool is_reported = false;
  may_have_changed_ = true;
  auto first = works.begin();
  const auto rest = [&] {
    while (first != works.end() && sim::is_complete(*first)) ++first;
    return std::span(first, works.end());
  };
  for (auto awaited = rest(); !awaited.empty(); awaited = rest()) {
    if (schedule_ == Schedule::deferred || schedule_ == Schedule::stepped) {
      if (!needs) needs.emplace(*this, awaited);
      if (run_one_needed(lock) || check_needed_by(awaited.front())) continue;
    }
    // Also if only needed tasks were to run: a task that waits for memory may need any other operation.
    if (schedule_ != Schedule::background && (run_one(lock) || check_all_conditions())) continue;
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
  const auto is_hopeless = [](const Task *task) {
    return task->condition->changed_by == Condition::ChangedBy::engine && !task->condition->holds();
  };
  return std::ranges::all_of(polled_, is_hopeless) && is_only_thread();
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
    changed_.wait_for(lock, kLook);
  else
    changed_.wait_for(lock, std::min<std::chrono::milliseconds>(kAskAgain, options_.patience));
}

void Engine::start_host_function(Lock &lock, Task &task) {
  const Work work(&task);
  host_functions_.splice(host_functions_.end(), task.extras->host_function);
  host_work_.notify_all();
  // The host thread starts this function when it has ended the previous one.
  if (schedule_ == Schedule::background || is_host_thread()) return;
  // A function that does not wait for the program ends here, so that every run has the same order. One that
  // does would never end here: the engine continues without it.
  const Counted waiting(waiting_);
  task.is_awaited = true;
  changed_.wait(lock, [&] { return task.is_complete() || in_host_function_ == &task; });
  changed_.wait_for(lock, kHostFunctionGrace, [&] { return task.is_complete(); });
}

void Engine::host_thread(const std::stop_token &stop) {
  const mock::OwnThread counted;
  host_thread_id_ = std::this_thread::get_id();
  Lock lock(mutex_);
  while (host_work_.wait(lock, stop, [this] { return !host_functions_.empty(); })) {
    if (stop.stop_requested()) return;
    Task &task = *host_functions_.front();
    host_functions_.pop_front();
    in_host_function_ = &task;
    notify();
    lock.unlock();
    Move none;
    task.action(none);
    lock.lock();
    in_host_function_ = nullptr;
    may_have_changed_ = true;
    complete(task);
    notify();
    if (schedule_ == Schedule::eager) run_at_call(lock);
  }
}

void Engine::background_thread(const std::stop_token &stop) {
  const mock::OwnThread counted;
  Lock lock(mutex_);
  bool has_run = false;
  while (!stop.stop_requested()) {
    may_have_changed_ = true;
    if (run_one(lock) || check_polled(kLooksAtRest)) {
      has_run = true;
      continue;
    }
    if (std::exchange(has_run, false)) notify();  // wakes waits, which check for a deadlock
    const Counted waiting(waiting_);
    const auto can_go_on = [this] {
      is_background_idle_ = !has_runnable();
      return !is_background_idle_;
    };
    if (polled_.empty())
      changed_.wait(lock, stop, [&] { return can_go_on() || !polled_.empty(); });
    else
      changed_.wait_for(lock, stop, kLook, can_go_on);
    is_background_idle_ = false;
  }
}

// ---- Reports ----

std::string Engine::to_text(unsigned long serial, unsigned long stream, const char *name) const {
  std::string text = "#";
  text += std::to_string(serial) + " stream " + std::to_string(stream);
  if (const auto its_name = names_.find(stream); its_name != names_.end())
    text += " (" + its_name->second + ")";
  return text + ": " + name;
}

std::string Engine::order() const {
  std::string text;
  const std::size_t first = order_.size() < kOrderKept ? 0 : next_in_order_;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const Ran &ran = order_[(first + i) % order_.size()];
    text += to_text(ran.serial, ran.stream, ran.name) + "\n";
  }
  if (unfinished_ != 0)
    text += "not run: " + std::to_string(unfinished_) + "; at the head of their streams:\n" + stream_heads();
  return text;
}

// Returns the first tasks of the streams and their conditions, as text.
std::string Engine::stream_heads() const {
  std::string text;
  if (in_host_function_ != nullptr) text += "  " + to_text(*in_host_function_) + " runs\n";
  for (const Task *task : host_functions_) text += "  " + to_text(*task) + " waits for the host thread\n";
  for (const Task *task : ready_tasks()) {
    text += "  " + to_text(*task);
    if (task->condition != nullptr) text += " waits for " + task->condition->to_text();
    text += "\n";
  }
  return text;
}

void Engine::report(const std::string &text) const {
  if (options_.report != nullptr)
    options_.report(text);
  else
    std::fprintf(stderr, "cushim[sim]: %s%s", text.c_str(), text.ends_with('\n') ? "" : "\n");
}

}  // namespace cushim::sim
