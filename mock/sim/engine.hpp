// SPDX-License-Identifier: Apache-2.0
// Runs the operations of all streams of a machine: in an order that their dependencies allow and the
// schedule chooses, in virtual time.
//
// All functions want the machine's lock. Those that take it give it back while they wait, and while they make
// a long move: what was found before may be gone when they return.
#pragma once

#include <cushim/mock/mutex.hpp>
#include <cushim/sim/machine.hpp>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>

#include "operation.hpp"

namespace cushim::sim {

class Engine {
 public:
  using Lock = std::unique_lock<mock::Mutex>;

  Engine(mock::Mutex &mutex, const Options &options);
  // Ends its threads; operations that have not run do not run.
  ~Engine();

  // Adds an operation. Then start() must be called, before the lock is given back.
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

  // Runs one operation that can run, the next by the schedule; false if there is none.
  bool step(Lock &lock);

  // Runs all that can run. What the machine's own threads run has ended, too, but for a host function that
  // waits for the program.
  void run_all(Lock &lock);

  // From now on works as in Schedule::background: other processes wait for this one.
  void work_in_background();

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

  // The last operations in the order in which they ran, a line each, and those that have not run.
  std::string order() const;

  // What reports call a stream.
  void name_stream(unsigned long stream, std::string name) { names_[stream] = std::move(name); }

  void report(const std::string &text) const;

 private:
  using Ready = std::map<unsigned long, Work>;

  bool can_run(const Operation &operation) const;
  Ready::iterator choose(const std::vector<const Operation *> *needed);
  bool run_one(Lock &lock, const std::vector<const Operation *> *needed = nullptr);
  void run_at_call(Lock &lock);
  void run(Lock &lock, const Work &work);
  void make(Lock &lock, const Move &move);
  // Tells whoever waits; nobody does, mostly.
  void notify() {
    if (waiting_ != 0) changed_.notify_all();
  }
  void complete(Operation &operation);
  void start_host_function(Lock &lock, Work work);
  void host_thread(const std::stop_token &stop);
  bool looks_at_memory() const;
  void background_thread(const std::stop_token &stop);
  void sleep(Lock &lock);
  static std::vector<const Operation *> needed_for(std::span<const Work> works);
  bool is_deadlocked() const;
  std::string in_words(const Operation &operation) const;
  std::string stuck() const;

  struct Ran {
    unsigned long serial, stream;
    const char *name;
  };

  mock::Mutex &mutex_;
  const Options &options_;
  Schedule schedule_;
  std::mt19937_64 random_;
  Time now_ = 0;
  unsigned long submitted_ = 0;
  std::size_t unfinished_ = 0;
  Ready ready_;  // all that they come after is complete
  std::deque<Ran> order_;
  std::map<unsigned long, std::string> names_;
  bool has_others_ = false;  // other processes may satisfy what work waits for

  int moves_ = 0;  // how many are made without the lock
  int waiting_for_moves_ = 0;

  int waiting_ = 0;                      // how many wait for what follows
  std::condition_variable_any changed_;  // something completed or was submitted
  std::deque<Work> host_functions_;
  const Operation *in_host_function_ = nullptr;
  std::condition_variable_any host_work_;
  std::atomic<std::thread::id> host_thread_id_{};
  std::jthread host_thread_;
  std::jthread background_;
};

}  // namespace cushim::sim
