// SPDX-License-Identifier: Apache-2.0
// Operations of streams: their description, and the tasks that the engine makes of them.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/action.hpp"

namespace cushim::sim {

// Virtual nanoseconds since the machine was made.
using Time = std::int64_t;

// Does one operation at a time: a copy engine, the processors of a device.
struct Resource {
  Time free_at = 0;
};

// What an operation waits for besides the operations that it comes after.
struct Condition {
  // Who can make it hold: only operations of this machine; also the host or another process, without notice;
  // others, after which Engine::look_again() is called.
  enum class ChangedBy : std::uint8_t { engine, anyone, announcer };

  explicit Condition(ChangedBy changed_by) noexcept : changed_by(changed_by) {}
  virtual ~Condition() = default;
  Condition(const Condition &) = delete;
  Condition &operator=(const Condition &) = delete;

  virtual bool holds() const = 0;
  virtual std::string in_words() const = 0;
  // The virtual time since which it holds, if that is known.
  virtual Time since() const { return 0; }

  const ChangedBy changed_by;
};

struct Task;
class TaskPool;

// A counted reference to a task. The count is the machine's lock's: references are made and dropped under it.
class Work {
 public:
  Work() noexcept = default;
  Work(std::nullptr_t) noexcept {}
  explicit Work(Task *task) noexcept;
  Work(const Work &other) noexcept : Work(other.task_) {}
  Work(Work &&other) noexcept : task_(std::exchange(other.task_, nullptr)) {}
  Work &operator=(Work other) noexcept {
    std::swap(task_, other.task_);
    return *this;
  }
  ~Work();

  Task *get() const noexcept { return task_; }
  Task *operator->() const noexcept { return task_; }
  Task &operator*() const noexcept { return *task_; }
  bool operator==(const Work &other) const noexcept = default;

 private:
  Task *task_ = nullptr;
};

// A first-in-first-out sequence of unfinished tasks of one stream, each of which comes after the one before.
struct Chain {
  Task *first, *last;
};

// An operation that was given to the engine. Its members are in the order of their use, a cache line each:
// what a walk along the dependencies reads, what changes when another task completes, what the run reads,
// and what the operation has captured.
struct alignas(64) Task {
  enum class State : std::uint8_t { waiting, ready, running, complete };
  // Which of the engine's lists a ready task is in.
  enum class List : std::uint8_t { none, polled, announced, runnable, needed };

  // That one task comes after another. `earlier` is null once that one is complete.
  struct Edge {
    Task *earlier = nullptr;
    Task *later = nullptr;
    Edge *next = nullptr;  // of those that come after the same
  };

  // What few operations have.
  struct Extras {
    std::unique_ptr<Edge[]> edges{};
    std::function<void(Time)> on_complete{};
    std::list<Task *> host_function{};  // its entry in the engine's list of them
  };

  // Allocates from the pool. Throws std::bad_alloc.
  static void *operator new(std::size_t size, TaskPool &pool);
  static void operator delete(void *task) noexcept;
  static void operator delete(void *task, TaskPool &) noexcept { operator delete(task); }

  bool is_complete() const noexcept { return state == State::complete; }
  // Whether it was put directly behind the other one, which is not complete, in its stream.
  bool follows(const Task &other) const noexcept { return edges[0].earlier == &other; }
  template <class Visit>
  void for_each_earlier(Visit visit) const {
    const auto see = [&](const Edge &edge) {
      if (edge.earlier != nullptr) visit(*edge.earlier);
    };
    for (const Edge &edge : edges) see(edge);
    for (std::size_t i = 0; i < more_count; ++i) see(extras->edges[i]);
  }

  // Has the function called when it completes. Throws std::bad_alloc.
  void call_on_complete(std::function<void(Time)> function) {
    if (extras == nullptr) extras = std::make_unique<Extras>();
    extras->on_complete = std::move(function);
  }

  Edge edges[2]{};               // to those that it comes after; the extras have more
  std::uint32_t more_count = 0;  // edges of the extras
  std::uint32_t needed_by = 0;   // the last round of waits that it was needed for
  Task *next_seen = nullptr;     // by the search

  unsigned references = 0;
  unsigned blockers = 0;  // how many that it comes after are not complete
  State state = State::waiting;
  List list = List::none;
  bool is_on_host : 1 = false;    // whether the action is a function of the program
  bool is_awaited : 1 = false;    // whether a thread sleeps until it is complete
  bool is_seen : 1 = false;       // by the search
  CUresult fault = CUDA_SUCCESS;  // of its context, if it did not run because of that
  std::size_t index = 0;          // in its list
  unsigned long serial = 0;       // in order of submission
  Edge *before = nullptr;         // those that come after it
  Time completed_at = 0;   // until it is complete: when it was submitted, or the last that it comes after was
  Chain *chain = nullptr;  // null: it is alone
  Task *next_in_chain = nullptr;

  Resource *resource = nullptr;
  Time cost = 0;
  const char *name = "";
  unsigned long stream = 0;
  const void *owner = nullptr;
  std::unique_ptr<Condition> condition{};
  std::unique_ptr<Extras> extras{};
  Action action{};
};
static_assert(sizeof(Task) == 256);

inline Work::Work(Task *task) noexcept : task_(task) {
  if (task_ != nullptr) ++task_->references;
}
inline Work::~Work() {
  if (task_ != nullptr && --task_->references == 0) delete task_;
}

inline bool is_complete(const Work &work) noexcept { return work == nullptr || work->is_complete(); }

// What is to be done in a stream, as those describe it who submit it.
struct Operation {
  // The operations that it comes after.
  class Predecessors {
   public:
    void add(const Work &work) {
      if (count_ < 2)
        near_[count_] = work;
      else
        more_.push_back(work);
      ++count_;
    }
    std::size_t size() const noexcept { return count_; }
    const Work &operator[](std::size_t i) const noexcept { return i < 2 ? near_[i] : more_[i - 2]; }

   private:
    std::size_t count_ = 0;
    Work near_[2]{};
    std::vector<Work> more_{};
  };

  const char *name = "";        // the call that it came from
  unsigned long stream = 0;     // the stream's id
  const void *owner = nullptr;  // the context
  Time cost = 0;
  Resource *resource = nullptr;
  Predecessors after{};                     // it runs when all of these are complete
  std::unique_ptr<Condition> condition{};   // and this holds, if it is set
  Action run{};                             // does it, or all of it but for a move, which the engine makes
  Action on_host{};                         // instead: a function of the program, run on the host thread
  std::function<void(Time)> on_complete{};  // told when it completed
  Time not_before = 0;                      // when the last of those completed that it need not wait for

  // It runs when the earlier one is complete.
  void come_after(const Work &earlier) {
    if (earlier == nullptr) return;
    if (earlier->is_complete())
      not_before = std::max(not_before, earlier->completed_at);
    else
      after.add(earlier);
  }
};

}  // namespace cushim::sim
