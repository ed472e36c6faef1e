// SPDX-License-Identifier: Apache-2.0
// The allocator of objects of which a machine has many: tasks of the engine, nodes and edges of graphs.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace cushim::sim {

// Allocates blocks of one size from chunks of 2 MiB, so that the system can back a chunk by one large page: a
// million pending operations then cause few page faults and few TLB misses. Under
// AddressSanitizer each block is a separate allocation, so that a use after free is found.
//
// Requires the lock of the engine's machine. The pool frees its chunks when its owner has disowned it and all
// blocks are freed.
class BlockPool {
 public:
  struct Disown {
    void operator()(BlockPool *pool) const noexcept;
  };
  using Owner = std::unique_ptr<BlockPool, Disown>;

  // `block` is the size of the blocks in bytes.
  static Owner make(std::size_t block) { return Owner(new BlockPool(block)); }
  BlockPool(const BlockPool &) = delete;
  BlockPool &operator=(const BlockPool &) = delete;

  // Throws std::bad_alloc.
  void *allocate();
  static void give_back(void *block) noexcept;

 private:
  struct Chunk;

  explicit BlockPool(std::size_t block) noexcept;
  ~BlockPool();
  void add_chunk();
  bool is_unused() const noexcept { return !is_owned_ && in_use_ == 0; }

  const std::size_t block_;         // size
  const std::size_t blocks_;        // of a chunk
  std::vector<Chunk *> with_room_;  // its capacity is enough for all chunks
  std::size_t chunks_ = 0;
  std::size_t in_use_ = 0;  // number of blocks in use in all chunks
  bool is_owned_ = true;
};

}  // namespace cushim::sim
