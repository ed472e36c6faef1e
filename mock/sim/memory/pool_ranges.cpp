// SPDX-License-Identifier: Apache-2.0
#include "memory/pool_ranges.hpp"

#include <algorithm>
#include <utility>

namespace cushim::sim {

void PoolRanges::add_window(Window window) {
  Node node = make_node();
  windows_.emplace(window.base, window.size);
  give(std::move(node), window.base, window.size);
}

std::optional<PoolRanges::Taken> PoolRanges::take(std::size_t size,
                                                  const std::function<bool(const Free &)> &may_take,
                                                  const std::function<bool(std::size_t)> &may_grow) {
  for (const Range *range = free_.first_of_size(size); range != nullptr;
       range = free_.first_of_size(size, range->end())) {
    if (!may_take(range->value)) continue;
    Taken taken{range->base, range->value.freed};
    const CUdeviceptr window = window_of(taken.base).base;
    CUdeviceptr chunk = window + (taken.base - window) / kChunk * kChunk;
    for (; chunk < taken.base + size; chunk += kChunk)
      if (!chunks_.contains(chunk)) taken.chunks.push_back(chunk);
    if (!taken.chunks.empty() && !may_grow(taken.chunks.size() * kChunk)) continue;
    chunks_.insert(taken.chunks.begin(), taken.chunks.end());
    if (range->size == size && range->value.freed != nullptr) --pending_;
    free_.cut(taken.base, size);
    return taken;
  }
  return std::nullopt;
}

void PoolRanges::give(Node &&node, CUdeviceptr base, std::size_t size, Work freed) noexcept {
  Range &range = RangeTree<Free>::range_of(node);
  range = {base, size};
  if (freed != nullptr) {
    ++pending_;
    range.value.stream = freed->stream;
    range.value.serial = freed->serial;
    range.value.freed = std::move(freed);
  }
  Range *const previous = free_.last_before(base), *const next = free_.first_from(base);
  if (previous != nullptr && can_merge(*previous, range)) {
    absorb(*previous, range);
    absorb_next(*previous);
  } else if (next != nullptr && can_merge(range, *next)) {
    absorb(*next, range);
  } else {
    free_.insert(std::move(node));
  }
}

// Ranges of different windows stay apart, and ranges that different streams have freed.
bool PoolRanges::can_merge(const Range &before, const Range &after) const {
  const Free &one = before.value, &other = after.value;
  if (before.end() != after.base || windows_.contains(after.base)) return false;
  return (one.freed == nullptr) == (other.freed == nullptr) && one.stream == other.stream;
}

// Adds a range that is in no tree to an adjacent one.
void PoolRanges::absorb(Range &range, const Range &other) noexcept {
  if (other.value.freed != nullptr) --pending_;
  // The later free of a stream follows the earlier one.
  if (other.value.serial > range.value.serial) range.value = other.value;
  free_.resize(range, std::min(range.base, other.base), range.size + other.size);
}

void PoolRanges::absorb_next(Range &range) noexcept {
  const Range *const next = free_.first_from(range.end());
  if (next == nullptr || !can_merge(range, *next)) return;
  const Node absorbed = free_.extract(next->base);
  absorb(range, RangeTree<Free>::range_of(absorbed));
}

// Merges a range with its neighbours. Returns the merged range.
PoolRanges::Range &PoolRanges::merge(Range &range) noexcept {
  absorb_next(range);
  Range *const previous = free_.last_before(range.base);
  if (previous == nullptr || !can_merge(*previous, range)) return range;
  absorb_next(*previous);
  return *previous;
}

template <class Predicate>
void PoolRanges::observe_if(Predicate predicate) {
  if (!has_pending()) return;
  for (Range *range = free_.first_from(0); range != nullptr; range = free_.first_from(range->end())) {
    Free &free = range->value;
    if (free.freed == nullptr || !predicate(free)) continue;
    --pending_;
    free = {};
    range = &merge(*range);
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

bool PoolRanges::is_unused(CUdeviceptr base, std::size_t size) const {
  const Range *const range = free_.last_before(base + 1);
  return range != nullptr && range->value.freed == nullptr && base + size <= range->end();
}

std::optional<CUdeviceptr> PoolRanges::remove_chunk(Removes removes) {
  for (auto chunk = chunks_.begin(); chunk != chunks_.end(); ++chunk) {
    const CUdeviceptr base = *chunk;
    const Window window = window_of(base);
    const bool is_free =
        removes == Removes::any ? is_unused(base, kChunk) : is_unused(window.base, window.size);
    if (!is_free) continue;
    chunks_.erase(chunk);
    return base;
  }
  return std::nullopt;
}

std::optional<PoolRanges::Window> PoolRanges::remove_window() {
  for (auto window = windows_.begin(); window != windows_.end(); ++window) {
    const Window removed{window->first, window->second};
    const auto chunk = chunks_.lower_bound(removed.base);
    const bool has_memory = chunk != chunks_.end() && *chunk < removed.base + removed.size;
    if (has_memory || !is_unused(removed.base, removed.size)) continue;
    free_.extract(removed.base);
    windows_.erase(window);
    return removed;
  }
  return std::nullopt;
}

}  // namespace cushim::sim
