// SPDX-License-Identifier: Apache-2.0
// The blocks of a memory pool, and the ranges in them that are in no allocation.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <optional>

#include "engine/operation.hpp"

namespace cushim::sim {

class PoolRanges {
 public:
  // A range that is in no allocation.
  struct Free {
    std::size_t size = 0;
    Work freed{};              // the free; null once the host has observed its completion
    unsigned long stream = 0;  // of the free
    unsigned long serial = 0;  // of the free
  };
  struct Taken {
    CUdeviceptr base = 0;
    Work freed{};
  };
  struct Block {
    CUdeviceptr base = 0;
    std::size_t size = 0;
  };

  // Memory for one more range. Throws std::bad_alloc.
  using Node = std::map<CUdeviceptr, Free>::node_type;
  static Node make_node();

  // Bytes in blocks.
  std::size_t reserved() const noexcept { return reserved_; }
  bool has_pending() const noexcept { return pending_ != 0; }
  // Returns the block that contains the address of an allocation.
  Block block_of(CUdeviceptr address) const {
    const auto &[base, size] = *std::prev(blocks_.upper_bound(address));
    return {base, size};
  }

  void add_block(Block block);
  // Takes the smallest range of at least this size that `may_take` accepts; nothing if there is none.
  std::optional<Taken> take(std::size_t size, const std::function<bool(const Free &)> &may_take);
  // Adds a range that is in no allocation any more. Null: the host has observed the free.
  void give(Node &&node, CUdeviceptr base, std::size_t size, Work freed = nullptr) noexcept;
  // Notes that the host has observed the completion of a stream's work up to this serial number.
  void observe(unsigned long stream, unsigned long serial);
  // The same for all streams.
  void observe_all();
  // The same for all complete work of a context.
  void observe_complete(const void *context);
  // Removes a block without allocations and unobserved frees, of at most this size; nothing if there is none.
  std::optional<Block> remove_block(std::size_t most);

 private:
  using Ranges = std::map<CUdeviceptr, Free>;
  bool can_merge(const Ranges::iterator &before, const Ranges::iterator &after) const;
  Ranges::iterator merge(Ranges::iterator range);
  template <class Predicate>
  void observe_if(Predicate predicate);

  std::map<CUdeviceptr, std::size_t> blocks_;
  Ranges free_;
  std::size_t reserved_ = 0;
  std::size_t pending_ = 0;  // ranges whose free has not been observed
};

}  // namespace cushim::sim
