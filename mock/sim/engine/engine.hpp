// SPDX-License-Identifier: Apache-2.0
// Runs the operations of all streams of a machine: in an order that their dependencies allow and the
// schedule chooses, in virtual time.
//
// All functions want the machine's lock. Those that take it give it back while they wait, and while they make
// a long move: what was found before may be gone when they return.
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

#include "engine/operation.hpp"
#include "engine/ready_heap.hpp"
#include "engine/task_pool.hpp"

namespace cushim::sim {

class Engine {
 public:
  using Lock = std::unique_lock<mock::Mutex>;

  Engine(mock::Mutex &mutex, const Options &options);
  // Ends its threads; operations that have not run do not run.
  ~Engine();

  // Adds an operation. Then start() must be called, before the lock is given back. Throws std::system_error
  // if it needs a thread and there can be no more, std::bad_alloc if there is no memory; then nothing has
  // changed.
  Work add(Operation &&operation);
  // Runs what the schedule wants to be run at a call that added this.
  void start(Lock &lock, const Work &work);

  // Whether all of these are complete now; runs what the schedule wants to be run at a query.
  bool query(Lock &lock, std::span<const Work> works);

  // Runs and waits until all of these are complete. What the program's other threads or other processes may
  // satisfy, by writing to memory or returning from a function, is waited for, and reported after the
  // patience of the options. False, and a report, if nothing can: then it does not wait. `call` is who asks.
  bool wait(Lock &lock, std::span<const Work> works, const char *call);

  // All that is in the context's streams completes without being run.
  void abandon(const void *owner, std::span<const Work> works, CUresult fault);

  // Sets the function that is called, in a catch block and with the lock, when an operation of this owner
  // threw.
  void on_failure(std::function<void(const void *owner)> function) { on_failure_ = std::move(function); }

  // Runs one operation that can run, the next by the schedule; false if there is none.
  bool step(Lock &lock);

  // Runs all that can run. What the machine's own threads run has ended, too, but for a host function that
  // waits for the program.
  void run_all(Lock &lock);

  // Starts the background worker if the schedule has one; called by cuInit, so that a child forked before has
  // a driver. Throws std::system_error if there can be no more threads.
  void start_threads();
  // From now on works as in Schedule::background: other processes wait for this one. Throws as
  // start_threads(); then nothing has changed.
  void work_in_background();

  // Starts the thread that runs host functions, if it does not run. Throws as start_threads().
  void start_host_thread();

  // Until no long move is under way. None begins before the lock is given back.
  void wait_for_moves(Lock &lock);

  // Something outside of the engine has changed that operations may wait for.
  void look_again(Lock &lock);

  // The program's own place in virtual time.
  Time now() const noexcept { return now_; }
  void spend(Time time) noexcept { now_ += time; }
  void advance_to(Time time) noexcept { now_ = std::max(now_, time); }

  // Whether this is the thread that runs the program's host functions.
  bool is_host_thread() const noexcept {
    const std::thread::id id = host_thread_id_;
    return id != std::thread::id() && id == std::this_thread::get_id();
  }

  // How many operations have not completed.
  std::size_t unfinished() const noexcept { return unfinished_; }

  // How often a task has been looked at so far to find those that can run, or that somebody waits for. Tests
  // compare it with the number of operations.
  unsigned long examined() const noexcept { return examined_; }

  // The last operations in the order in which they ran, a line each, and those that have not run.
  std::string order() const;

  // What reports call a stream.
  void name_stream(unsigned long stream, std::string name) { names_[stream] = std::move(name); }

  void report(const std::string &text) const;

 private:
  using List = Task::List;
  class Needs;
  class WithoutLock;

  // ---- Which tasks can run ----
  void make_ready(Task &task);
  void make_runnable(Task &task);
  void take_out(Task &task);
  bool has_runnable() const noexcept { return !runnable_.empty() || !needed_.empty(); }
  bool is_idle() const noexcept { return !has_runnable() && polled_.empty() && announced_.empty(); }
  template <class Visit>
  void for_each_ready(Visit visit) const;
  std::vector<Task *> ready_tasks() const;
  void reserve_lists();

  // Looks at up to `most` of the tasks that wait for memory, in turn. Those that can go on become runnable;
  // false if there are none.
  bool look(std::size_t most);
  bool look_at(const std::vector<Task *> &list, std::size_t &next, std::size_t most);
  bool look_at_all();
  bool look_at_announced();
  // Looks at those that hold the work up.
  bool look_for(const Work &work);
  template <class Visit>
  void for_each_in_front(std::span<const Work> works, Visit visit);
  void mark_needed(std::span<const Work> works);

  // ---- Running them ----
  Task *choose();
  bool run_if_it_can(Lock &lock, Task &task);
  bool run_one(Lock &lock);
  bool run_one_needed(Lock &lock);
  bool run_one_in_front(Lock &lock, std::span<const Work> works);
  void run_at_call(Lock &lock);
  void run(Lock &lock, Task &task);
  void make(Lock &lock, const Move &move);
  void complete(Task &task, bool is_abandoned = false);
  void mark_abandoned(const void *owner, std::span<const Work> works, CUresult fault);
  void drop(Task &task);
  void release(Task &task);

  // Wakes all who wait; nobody does, mostly.
  void notify() {
    if (waiting_ != 0) changed_.notify_all();
  }
  void start_background();
  void start_host_function(Lock &lock, Task &task);
  void host_thread(const std::stop_token &stop);
  void background_thread(const std::stop_token &stop);
  void sleep(Lock &lock, Task &until);
  bool is_deadlocked() const;
  std::string in_words(unsigned long serial, unsigned long stream, const char *name) const;
  std::string in_words(const Task &task) const { return in_words(task.serial, task.stream, task.name); }
  std::string stuck() const;

  template <class Function>
  void attempt(const Task &task, Function function);
  void fail(const Task &task) noexcept;

  struct Ran {
    unsigned long serial, stream;
    const char *name;
  };
  void note_order(const Ran &ran);

  mock::Mutex &mutex_;
  const Options &options_;
  Schedule schedule_;
  std::mt19937_64 random_;
  Time now_ = 0;
  unsigned long submitted_ = 0;
  std::size_t unfinished_ = 0;

  TaskPool::Owner tasks_ = TaskPool::make();
  std::function<void(const void *owner)> on_failure_;

  // Ready tasks: all that they come after is complete.
  ReadyHeap runnable_, needed_;  // nothing holds them up; needed: and somebody waits for them
  std::vector<Task *> polled_;   // they wait for memory, which is looked at now and then
  std::size_t next_to_poll_ = 0;
  std::vector<Task *> announced_;  // they wait for what look_again() is called for
  bool may_have_changed_ = true;   // memory, since it was looked at

  std::vector<Task *> ending_;  // those that are to be ended without being run
  std::size_t reserved_ = 0;    // how many tasks each of these lists has room for

  std::uint32_t needs_ = 0;  // the round of waits that tasks are marked as needed for
  int active_needs_ = 0;     // how many waits the round has
  unsigned long examined_ = 0;

  std::vector<Ran> order_;  // a ring
  std::size_t next_in_order_ = 0;
  std::map<unsigned long, std::string> names_;
  bool has_others_ = false;  // other processes may satisfy what work waits for

  int moves_ = 0;  // how many are made without the lock
  int waiting_for_moves_ = 0;

  int waiting_ = 0;                      // how many wait for what follows
  std::condition_variable_any changed_;  // something completed or was submitted
  bool is_background_idle_ = false;
  std::list<Task *> host_functions_;
  const Task *in_host_function_ = nullptr;
  std::condition_variable_any host_work_;
  std::atomic<std::thread::id> host_thread_id_{};
  std::jthread host_thread_;
  std::jthread background_;
};

}  // namespace cushim::sim
