// SPDX-License-Identifier: Apache-2.0
// The blocks of managed memory, in which small allocations of a context share pages. Only the state of pages
// is shared: each simulated allocation has addresses of its own, so that the host's access to freed memory is
// an error.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <set>

#include "memory/managed_pages.hpp"

namespace cushim::sim {

struct Context;

class ManagedBlocks {
 public:
  static constexpr std::size_t kBlock = 2 << 20, kAlignment = 512;

  // Returns the place of a new allocation: the smallest sufficient hole of the context's blocks, else a new
  // block. An allocation of a block or more has its own pages. When the last copy of the place ends, its
  // pages get their default state, but for pages that the real driver steps over, and the next allocation can
  // have it. Measured, driver 580.159. Places must not outlive this object. Throws std::bad_alloc.
  ManagedPlace place(const Context &context, std::size_t size);

 private:
  using Holes = std::map<std::size_t, std::size_t>;  // sizes by offset
  struct Block {
    const Context *context;
    ManagedPages pages{kBlock};
    Holes holes{};
  };
  using Blocks = std::map<unsigned long, Block>;  // by number
  // Ordered by context, then by size.
  struct Hole {
    const Context *context;
    std::size_t size;
    unsigned long block;
    std::size_t offset;
    auto operator<=>(const Hole &) const = default;
  };

  // Makes part of a block a hole; merges it with adjacent ones.
  void add_hole(Blocks::iterator block, std::size_t offset, std::size_t size);
  // Returns the hole behind it.
  Holes::iterator remove_hole(Blocks::iterator block, Holes::iterator hole);
  void give_back(Blocks::iterator block, std::size_t offset, std::size_t size) noexcept;

  Blocks blocks_;
  std::set<Hole> holes_;
  unsigned long last_block_ = 0;
};

}  // namespace cushim::sim
