// SPDX-License-Identifier: Apache-2.0
// Runs the operations of all streams of a machine, in virtual time, in an order that the dependencies allow
// and the schedule chooses.
//
// All functions require the machine's lock. Functions with a `lock` parameter release it while they wait and
// during long moves, so pointers that were found before the call may be invalid after it.
#pragma once

#include <cushim/mock/mutex.hpp>
#include <cushim/sim/machine.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "engine/block_pool.hpp"
#include "engine/operation.hpp"
#include "engine/ready_heap.hpp"

namespace cushim::sim {

class Engine {
 public:
  using Lock = mock::MutexLock;

  Engine(mock::Mutex &mutex, const Options &options);
  // Ends the engine's threads. Discards operations that have not run.
  ~Engine();

  // Adds an operation. The caller must then call start(), before it releases the lock. Throws
  // std::system_error if the operation needs a thread that cannot be started, std::bad_alloc if there is not
  // enough memory; in both cases nothing has changed.
  Work add(Operation &&operation);
  // Makes an operation that waits for a running one also wait for another one, for operations that add others
  // while they run. What they add comes after them and needs no start(). Requires that `later` has at most
  // one unfinished predecessor.
  void extend(const Work &later, const Work &earlier);
  // Runs the operations that the schedule runs at the call that added this work.
  void start(Lock &lock, const Work &work);

  // Returns whether all works are complete now. Runs the operations that the schedule runs at a query.
  bool query(Lock &lock, std::span<const Work> works);

  // Runs operations, and waits, until all works are complete. Waits also for the program's other threads and
  // other processes, which may write to memory or return from a function; reports a wait that exceeds
  // Options::patience. Returns false, after a report and without waiting, if nothing can complete the works.
  // `call` names the caller in reports.
  bool wait(Lock &lock, std::span<const Work> works, const char *call);

  // Completes all operations of the context `owner` that these works consist of or depend on, without running
  // them. They get this fault.
  void abandon(const void *owner, std::span<const Work> works, CUresult fault);

  // Sets the function that is called when an operation of `owner` throws: in a catch block, with the lock.
  void on_failure(std::function<void(const void *owner)> function) { on_failure_ = std::move(function); }

  // Runs one operation that can run, chosen by the schedule. Returns false if there is none.
  bool step(Lock &lock);

  // Runs all operations that can run. Also waits for the machine's own threads, except for a host function
  // that waits for the program.
  void run_all(Lock &lock);

  // Starts the background thread if the schedule has one. Called by cuInit, so that a child forked before
  // cuInit has a working driver. Throws std::system_error if the system cannot start a thread.
  void start_threads();
  // Switches to Schedule::background, because other processes wait for this one. Throws like start_threads();
  // then nothing has changed.
  void work_in_background();

  // Starts the thread for host functions unless it runs. Throws like start_threads().
  void start_host_thread();

  // Waits until no long move is in progress. No long move starts before the lock is released.
  void wait_for_moves(Lock &lock);

  // Checks again the conditions with ChangedBy::announcer. The caller has changed something that they depend
  // on.
  void recheck_announced(Lock &lock);

  // The host program's virtual time.
  Time now() const noexcept { return now_; }
  void spend(Time time) noexcept { now_ += time; }
  void advance_to(Time time) noexcept { now_ = std::max(now_, time); }

  // Returns whether the calling thread is the one that runs the program's host functions.
  bool is_host_thread() const noexcept {
    const std::thread::id id = host_thread_id_;
    return id != std::thread::id() && id == std::this_thread::get_id();
  }

  // Returns the number of operations that are not complete.
  std::size_t unfinished() const noexcept { return unfinished_; }

  // Returns how many times a task was examined so far by searches for runnable or needed tasks. Tests compare
  // it with the number of operations.
  unsigned long examined() const noexcept { return examined_; }

  // Returns the last operations in the order in which they ran, one per line, and those that have not run.
  std::string order() const;

  // Sets the name of a stream in reports.
  void name_stream(unsigned long stream, std::string name) { names_[stream] = std::move(name); }

  void report(const std::string &text) const;

  // Sets the observer of operations; null: none.
  void observe(mock::OperationObserver *observer) noexcept { observer_ = observer; }

 private:
  using List = Task::List;
  class Needs;
  class WithoutLock;

  // ---- Readiness of tasks ----
  // A task whose condition did not hold when it was last checked. The copy of the condition's address saves
  // reading the task at each check.
  struct ConditionalTask {
    Task *task;
    const Condition *condition;
  };
  void make_ready(Task &task);
  void make_runnable(Task &task);
  void remove_from_list(Task &task);
  bool has_runnable() const noexcept { return !runnable_.empty() || !needed_.empty(); }
  bool is_idle() const noexcept { return !has_runnable() && polled_.empty() && announced_.empty(); }
  template <class Visit>
  void for_each_ready(Visit visit) const;
  std::vector<Task *> ready_tasks() const;
  void reserve_lists();

  // Checks the conditions of up to `most` polled tasks, in turn. Tasks whose condition holds become runnable.
  // Returns false if there are none.
  bool check_polled(std::size_t most);
  bool check_conditions(const std::vector<ConditionalTask> &list, std::size_t &next, std::size_t most);
  bool check_all_conditions();
  bool check_announced();
  // Checks the polled tasks that the work waits for.
  bool check_needed_by(const Work &work);
  template <class Visit>
  void for_each_in_front(std::span<const Work> works, Visit visit);
  void mark_needed(std::span<const Work> works);
  bool needs_all(std::span<const Work> works) const;

  // ---- Running tasks ----
  Task *choose();
  bool try_run(Lock &lock, Task &task);
  bool run_one(Lock &lock);
  bool run_one_needed(Lock &lock);
  bool run_one_in_front(Lock &lock, std::span<const Work> works);
  void run_at_call(Lock &lock);
  void run(Lock &lock, Task &task);
  Time make(Lock &lock, const Move &move);
  void complete(Task &task, bool is_abandoned = false);
  void mark_abandoned(const void *owner, std::span<const Work> works, CUresult fault);
  void drop(Task &task);
  void release(Task &task);

  // Wakes all waiting threads. Usually there are none.
  void notify() {
    if (waiting_ != 0) changed_.notify_all();
  }
  void start_background();
  void start_host_function(Lock &lock, Task &task);
  void host_thread(const std::stop_token &stop);
  void background_thread(const std::stop_token &stop);
  void sleep(Lock &lock, Task &until);
  bool is_deadlocked() const;
  std::string to_text(unsigned long serial, unsigned long stream, const char *name) const;
  std::string to_text(const Task &task) const { return to_text(task.serial, task.stream, task.name); }
  std::string stream_heads() const;

  template <class Function>
  void attempt(const Task &task, Function function);
  void fail(const Task &task) noexcept;

  struct Ran {
    unsigned long serial, stream;
    const char *name;
  };
  void record_order(const Ran &ran);

  mock::Mutex &mutex_;
  const Options &options_;
  Schedule schedule_;
  std::mt19937_64 random_;
  Time now_ = 0;
  unsigned long submitted_ = 0;
  std::size_t unfinished_ = 0;
  std::size_t last_tasks_ = 0;  // number of unfinished tasks that no other task depends on

  BlockPool::Owner tasks_ = BlockPool::make(sizeof(Task));
  std::function<void(const void *owner)> on_failure_;
  mock::OperationObserver *observer_ = nullptr;

  // Ready tasks: all their predecessors are complete. Tasks in `needed_` are runnable and needed by a wait.
  ReadyHeap runnable_, needed_;          // the condition holds, or there is none
  std::vector<ConditionalTask> polled_;  // waiting for memory, which is checked periodically
  std::size_t next_to_poll_ = 0;
  std::vector<ConditionalTask> announced_;  // waiting for a call of recheck_announced()
  bool may_have_changed_ = true;            // memory, since the last check

  std::vector<Task *> ending_;  // to be completed without being run
  std::size_t reserved_ = 0;    // capacity of each of these lists, in tasks

  std::uint32_t needs_ = 0;  // the current round of waits; marks needed tasks
  int active_needs_ = 0;     // number of waits in the round
  unsigned long examined_ = 0;

  std::vector<Ran> order_;  // a ring buffer
  std::size_t next_in_order_ = 0;
  std::map<unsigned long, std::string> names_;
  bool has_others_ = false;  // other processes may make conditions hold

  int moves_ = 0;  // number of moves in progress without the lock
  int waiting_for_moves_ = 0;

  int waiting_ = 0;                      // number of threads that wait for changed_
  std::condition_variable_any changed_;  // an operation completed or was submitted
  bool is_background_idle_ = false;
  std::list<Task *> host_functions_;
  const Task *in_host_function_ = nullptr;
  std::condition_variable_any host_work_;
  std::atomic<std::thread::id> host_thread_id_{};
  std::jthread host_thread_;
  std::jthread background_;
};

}  // namespace cushim::sim
