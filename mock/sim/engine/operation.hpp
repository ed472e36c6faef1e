// SPDX-License-Identifier: Apache-2.0
// Operations of streams, and the tasks that the engine makes of them.
#pragma once

#include <cuda.h>
#include <cushim/mock/operations.hpp>

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

// Virtual nanoseconds since the machine was created.
using Time = std::int64_t;

// Executes one operation at a time: a copy engine, or the multiprocessors of a device.
struct Resource {
  Time free_at = 0;
  mock::CopyEngine copy_engine = mock::CopyEngine::none;
  int device = 0;  // index in the machine
};

// A condition of an operation in addition to its predecessors.
struct Condition {
  // The cause that can make the condition hold. engine: only operations of this machine. anyone: also the
  // host or another process, without notice. announcer: others, which then call Engine::recheck_announced().
  enum class ChangedBy : std::uint8_t { engine, anyone, announcer };

  explicit Condition(ChangedBy changed_by) noexcept : changed_by(changed_by) {}
  virtual ~Condition() = default;
  Condition(const Condition &) = delete;
  Condition &operator=(const Condition &) = delete;

  virtual bool holds() const = 0;
  virtual std::string to_text() const = 0;
  // Returns the virtual time since which the condition holds; 0 if unknown.
  virtual Time since() const { return 0; }

  const ChangedBy changed_by;
};

struct Task;
class BlockPool;

// A counted reference to a task. The machine's lock protects the count: references are created and destroyed
// under it.
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

// A queue of unfinished tasks of one stream. Each task depends on the one before it.
struct Chain {
  Task *first, *last;
};

// An operation that was submitted to the engine. The members are in groups of one cache line: what a walk
// along the dependencies reads; what changes when another task completes; what running reads; what the
// operation has captured.
struct alignas(64) Task {
  enum class State : std::uint8_t { waiting, ready, running, complete };
  // The engine's list that contains a ready task.
  enum class List : std::uint8_t { none, polled, announced, runnable, needed };

  // A dependency between two tasks. `earlier` is null when that task is complete.
  struct Edge {
    Task *earlier = nullptr;
    Task *later = nullptr;
    Edge *next = nullptr;  // next edge of the same earlier task
  };

  // Members that only few operations have.
  struct Extras {
    std::unique_ptr<Edge[]> edges{};
    std::function<void(Time)> on_complete{};
    std::list<Task *> host_function{};  // the node for the engine's list of host functions
  };

  // Allocates from the pool. Throws std::bad_alloc.
  static void *operator new(std::size_t size, BlockPool &pool);
  static void operator delete(void *task) noexcept;
  static void operator delete(void *task, BlockPool &) noexcept { operator delete(task); }

  bool is_complete() const noexcept { return state == State::complete; }
  // Returns whether no unfinished task depends on this one.
  bool is_last() const noexcept { return before == nullptr; }
  // Returns whether this task was queued directly behind the other, unfinished task of its stream.
  bool follows(const Task &other) const noexcept { return edges[0].earlier == &other; }
  template <class Visit>
  void for_each_earlier(Visit visit) const {
    const auto see = [&](const Edge &edge) {
      if (edge.earlier != nullptr) visit(*edge.earlier);
    };
    for (const Edge &edge : edges) see(edge);
    for (std::size_t i = 0; i < more_count; ++i) see(extras->edges[i]);
  }

  // Sets a function that is called when this task completes. Throws std::bad_alloc.
  void call_on_complete(std::function<void(Time)> function) {
    if (extras == nullptr) extras = std::make_unique<Extras>();
    extras->on_complete = std::move(function);
  }

  Edge edges[2]{};               // to predecessors; further edges are in the extras
  std::uint32_t more_count = 0;  // number of edges in the extras
  std::uint32_t needed_by = 0;   // the last round of waits that needed this task
  Task *next_seen = nullptr;     // in a search

  unsigned references = 0;
  unsigned blockers = 0;  // number of predecessors that are not complete
  State state = State::waiting;
  List list = List::none;
  bool is_on_host : 1 = false;    // whether the action is a function of the program
  bool is_awaited : 1 = false;    // whether a thread sleeps until this is complete
  bool is_seen : 1 = false;       // in a search
  CUresult fault = CUDA_SUCCESS;  // of the context, if this was not run because of a fault
  std::size_t index = 0;          // in the list that contains this
  unsigned long serial = 0;       // in order of submission
  Edge *before = nullptr;         // edges to successors
  Time completed_at = 0;   // before completion: the latest of submission and completions of predecessors
  Chain *chain = nullptr;  // null if this is the only task of its chain
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

// An operation as its submitter describes it.
struct Operation {
  // The operations that must complete before this one starts.
  class Predecessors {
   public:
    void add(const Work &work) {
      if (count_ < 2)
        inline_works_[count_] = work;
      else
        more_.push_back(work);
      ++count_;
    }
    std::size_t size() const noexcept { return count_; }
    const Work &operator[](std::size_t i) const noexcept { return i < 2 ? inline_works_[i] : more_[i - 2]; }

   private:
    std::size_t count_ = 0;
    Work inline_works_[2]{};
    std::vector<Work> more_{};
  };

  const char *name = "";        // the driver call that submitted it
  unsigned long stream = 0;     // the stream's id
  const void *owner = nullptr;  // the context
  Time cost = 0;
  Resource *resource = nullptr;
  Predecessors after{};                     // must be complete before this runs
  std::unique_ptr<Condition> condition{};   // must hold before this runs, if not null
  Action run{};                             // does the work, except for a Move, which the engine makes
  Action on_host{};                         // instead of run: a function of the program, for the host thread
  std::function<void(Time)> on_complete{};  // called with the completion time
  Time not_before = 0;  // the latest completion time of predecessors that are already complete

  // Makes this operation wait until `earlier` is complete.
  void come_after(const Work &earlier) {
    if (earlier == nullptr) return;
    if (earlier->is_complete())
      not_before = std::max(not_before, earlier->completed_at);
    else
      after.add(earlier);
  }
};

}  // namespace cushim::sim
