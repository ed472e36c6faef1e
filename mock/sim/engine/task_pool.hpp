// SPDX-License-Identifier: Apache-2.0
// The allocator of an engine's tasks.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace cushim::sim {

// Allocates blocks of the size of a Task from chunks of 2 MiB, so that the system can back a chunk by one
// large page: a million pending operations then cause few page faults and few TLB misses. Under
// AddressSanitizer each block is a separate allocation, so that a use after free is found.
//
// Requires the lock of the engine's machine. The pool frees its chunks when its owner has disowned it and all
// blocks are freed.
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

  std::vector<Chunk *> with_room_;  // its capacity is enough for all chunks
  std::size_t chunks_ = 0;
  std::size_t in_use_ = 0;  // number of blocks in use in all chunks
  bool is_owned_ = true;
};

}  // namespace cushim::sim
