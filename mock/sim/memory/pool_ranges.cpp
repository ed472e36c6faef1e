// SPDX-License-Identifier: Apache-2.0
#include "memory/pool_ranges.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cushim::sim {

PoolRanges::Node PoolRanges::make_node() {
  Ranges made;
  made.emplace(0, Free{});
  return made.extract(made.begin());
}

void PoolRanges::add_block(Block block) {
  Node node = make_node();
  blocks_.emplace(block.base, block.size);
  reserved_ += block.size;
  give(std::move(node), block.base, block.size);
}

std::optional<PoolRanges::Taken> PoolRanges::take(std::size_t size,
                                                  const std::function<bool(const Free &)> &may_take) {
  auto best = free_.end();
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    const bool is_better = best == free_.end() || range->second.size < best->second.size;
    if (range->second.size >= size && is_better && may_take(range->second)) best = range;
  }
  if (best == free_.end()) return std::nullopt;
  Taken taken{best->first, best->second.freed};
  if (best->second.size == size) {
    if (best->second.freed != nullptr) --pending_;
    free_.erase(best);
  } else {
    auto node = free_.extract(best);
    node.key() += size;
    node.mapped().size -= size;
    free_.insert(std::move(node));
  }
  return taken;
}

void PoolRanges::give(Node &&node, CUdeviceptr base, std::size_t size, Work freed) noexcept {
  node.key() = base;
  Free &range = node.mapped();
  range.size = size;
  if (freed != nullptr) {
    ++pending_;
    range.stream = freed->stream;
    range.serial = freed->serial;
    range.freed = std::move(freed);
  }
  merge(free_.insert(std::move(node)).position);
}

// Ranges of different blocks stay apart, and ranges that different streams have freed.
bool PoolRanges::can_merge(const Ranges::iterator &before, const Ranges::iterator &after) const {
  const Free &one = before->second, &other = after->second;
  if (before->first + one.size != after->first || blocks_.contains(after->first)) return false;
  return (one.freed == nullptr) == (other.freed == nullptr) && one.stream == other.stream;
}

// Merges a range with its neighbours. Returns the merged range.
PoolRanges::Ranges::iterator PoolRanges::merge(Ranges::iterator range) {
  const auto absorb_next = [this](Ranges::iterator first) {
    const auto next = std::next(first);
    if (next == free_.end() || !can_merge(first, next)) return;
    Free &merged = first->second;
    if (next->second.freed != nullptr) --pending_;
    // The later free of a stream follows the earlier one.
    if (next->second.serial > merged.serial) {
      merged.serial = next->second.serial;
      merged.freed = next->second.freed;
    }
    merged.size += next->second.size;
    free_.erase(next);
  };
  absorb_next(range);
  if (range == free_.begin() || !can_merge(std::prev(range), range)) return range;
  --range;
  absorb_next(range);
  return range;
}

template <class Predicate>
void PoolRanges::observe_if(Predicate predicate) {
  if (!has_pending()) return;
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    Free &free = range->second;
    if (free.freed == nullptr || !predicate(free)) continue;
    --pending_;
    free = {.size = free.size};
    range = merge(range);
  }
}

void PoolRanges::observe(unsigned long stream, unsigned long serial) {
  observe_if([&](const Free &free) { return free.stream == stream && free.serial <= serial; });
}

void PoolRanges::observe_all() {
  observe_if([](const Free &) { return true; });
}

void PoolRanges::observe_complete(const void *context) {
  observe_if([&](const Free &free) { return is_complete(free.freed) && free.freed->owner == context; });
}

std::optional<PoolRanges::Block> PoolRanges::remove_block(std::size_t most) {
  for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
    const auto [base, size] = *block;
    const auto range = free_.find(base);
    if (size > most || range == free_.end() || range->second.size != size || range->second.freed != nullptr)
      continue;
    free_.erase(range);
    blocks_.erase(block);
    reserved_ -= size;
    return Block{base, size};
  }
  return std::nullopt;
}

}  // namespace cushim::sim
