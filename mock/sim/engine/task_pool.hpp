// SPDX-License-Identifier: Apache-2.0
// The memory of an engine's tasks.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace cushim::sim {

// Allocates blocks of the size of a Task from chunks of 2 MiB, which the system can back by one page each: a
// million pending operations then cost few page faults and few misses of the TLB. Under the address sanitizer
// each block is an allocation of its own, so that a use after its end is found.
//
// Its functions need the lock of the engine's machine. The pool keeps its chunks until it ends: when its
// owner has disowned it and all blocks are given back.
class TaskPool {
 public:
  struct Disown {
    void operator()(TaskPool *pool) const noexcept;
  };
  using Owner = std::unique_ptr<TaskPool, Disown>;

  static Owner make() { return Owner(new TaskPool); }
  TaskPool(const TaskPool &) = delete;
  TaskPool &operator=(const TaskPool &) = delete;

  // Throws std::bad_alloc.
  void *allocate();
  static void give_back(void *block) noexcept;

 private:
  struct Chunk;

  TaskPool() = default;
  ~TaskPool();
  void add_chunk();
  bool is_unused() const noexcept { return !is_owned_ && in_use_ == 0; }

  std::vector<Chunk *> with_room_;  // has capacity for all chunks
  std::size_t chunks_ = 0;
  std::size_t in_use_ = 0;  // number of blocks in use, of all chunks
  bool is_owned_ = true;
};

}  // namespace cushim::sim
