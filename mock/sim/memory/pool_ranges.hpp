// SPDX-License-Identifier: Apache-2.0
// The addresses of a memory pool, and the ranges of them that are in no allocation. A pool has windows of
// addresses. It takes memory for a chunk of a window when an allocation begins to use it. Measured, driver
// 580.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "engine/operation.hpp"
#include "memory/range_tree.hpp"

namespace cushim::sim {

class PoolRanges {
 public:
  // A range that is in no allocation.
  struct Free {
    Work freed{};              // the free; null once the host has observed its completion
    unsigned long stream = 0;  // of the free
    unsigned long serial = 0;  // of the free
  };
  struct Taken {
    CUdeviceptr base = 0;
    Work freed{};
    std::vector<CUdeviceptr> chunks{};  // that have no memory yet
  };
  struct Window {
    CUdeviceptr base = 0;
    std::size_t size = 0;
  };
  // The chunks that remove_chunk() may remove: of_unused_windows for a pool that other processes have mapped,
  // because they map whole windows.
  enum class Removes { any, of_unused_windows };

  static constexpr std::size_t kChunk = 32 << 20;

  // Allocates the memory for one more range. Throws std::bad_alloc.
  using Node = RangeTree<Free>::Node;
  static Node make_node() { return RangeTree<Free>::make_node(); }

  // Bytes in chunks that have memory.
  std::size_t reserved() const noexcept { return chunks_.size() * kChunk; }
  bool has_pending() const noexcept { return pending_ != 0; }
  // Returns the window that contains the address of an allocation.
  Window window_of(CUdeviceptr address) const {
    const auto &[base, size] = *std::prev(windows_.upper_bound(address));
    return {base, size};
  }

  void add_window(Window window);
  // Takes the first range of this size that `may_take` accepts. Its chunks without memory get memory, if
  // `may_grow` accepts their total size. Returns nothing if there is no such range.
  std::optional<Taken> take(std::size_t size, const std::function<bool(const Free &)> &may_take,
                            const std::function<bool(std::size_t)> &may_grow);
  // Adds a range that is in no allocation any more. Null: the host has observed the free.
  void give(Node &&node, CUdeviceptr base, std::size_t size, Work freed = nullptr) noexcept;
  // Notes that the host has observed the completion of a stream's work up to this serial number.
  void observe(unsigned long stream, unsigned long serial);
  // The same for all streams.
  void observe_all();
  // The same for all complete work of a context.
  void observe_complete(const void *context);
  // Takes the memory from a chunk without allocations and unobserved frees. Returns its address; nothing if
  // there is none.
  std::optional<CUdeviceptr> remove_chunk(Removes removes);
  // Removes a window without allocations, unobserved frees, and memory; nothing if there is none.
  std::optional<Window> remove_window();

 private:
  using Range = RangeTree<Free>::Range;
  bool can_merge(const Range &before, const Range &after) const;
  void absorb(Range &range, const Range &other) noexcept;
  void absorb_next(Range &range) noexcept;
  Range &merge(Range &range) noexcept;
  template <class Predicate>
  void observe_if(Predicate predicate);

  bool is_unused(CUdeviceptr base, std::size_t size) const;

  std::map<CUdeviceptr, std::size_t> windows_;
  std::set<CUdeviceptr> chunks_;  // with memory
  RangeTree<Free> free_;
  std::size_t pending_ = 0;  // ranges whose free has not been observed
};

}  // namespace cushim::sim
