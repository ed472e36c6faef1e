// SPDX-License-Identifier: Apache-2.0
#include "hazards/shadow_memory.hpp"

#include <algorithm>

namespace cushim::check {

// A free is kept until the memory is allocated again, no matter how long ago it was.
bool ShadowMemory::is_over(const Uses &uses) const {
  return uses.change.kind != Access::Kind::free &&
         (uses.change.epoch.sequence == 0 || order_.is_done(uses.change.epoch)) &&
         std::ranges::all_of(uses.reads, [&](const Access &read) { return order_.is_done(read.epoch); });
}

const Access *ShadowMemory::conflicting_access(const Uses &uses, const Access &access) const {
  const StreamIndex stream_index = access.epoch.stream_index;
  if (uses.change.epoch.sequence != 0 &&
      (uses.change.kind == Access::Kind::free || !order_.is_before(uses.change.epoch, stream_index)))
    return &uses.change;
  for (const Access &read : uses.reads)
    if (may_conflict(read, access) && !order_.is_before(read.epoch, stream_index)) return &read;
  return nullptr;
}

void ShadowMemory::add(Uses &uses, const Access &access) const {
  if (access.is_change()) {
    uses.change = access;
    uses.reads.clear();
    return;
  }
  // Drops earlier reads that this read happens after: work ordered after this read is ordered after them
  // too. An unknown access conflicts with more than a read.
  std::erase_if(uses.reads, [&](const Access &read) {
    return (access.kind == Access::Kind::unknown || read.kind == Access::Kind::read) &&
           order_.is_before(read.epoch, access.epoch.stream_index);
  });
  uses.reads.push_back(access);
}

void ShadowMemory::touch(const Extent &given, const Access &access, std::vector<Conflict> &conflicts) {
  if (given.is_empty()) return;
  const Extent extent = given.simplified();
  if (!boxes_.empty()) match_boxes(extent, access, conflicts);
  if (extent.is_flat())
    touch_range({extent.begin, extent.end()}, access, conflicts);
  else
    touch_box(extent, access, conflicts);
  if (size() >= sweep_at_) sweep();
}

// Splits the range that contains `at`, if any. Returns the first range that begins at or after `at`.
ShadowMemory::Ranges::iterator ShadowMemory::cut(std::uint64_t at) {
  auto next = ranges_.lower_bound(at);
  if (next == ranges_.begin()) return next;
  auto &[begin, range] = *std::prev(next);
  if (range.end <= at) return next;
  next = ranges_.emplace_hint(next, at, Range{range.end, range.uses});
  range.end = at;
  return next;
}

void ShadowMemory::touch_range(ByteRange bytes, const Access &access, std::vector<Conflict> &conflicts) {
  // Fast path: most accesses repeat an earlier range exactly.
  if (const auto same = ranges_.find(bytes.begin); same != ranges_.end() && same->second.end == bytes.end) {
    if (const Access *const other = conflicting_access(same->second.uses, access))
      conflicts.push_back({*other, access, bytes});
    add(same->second.uses, access);
    return;
  }
  auto range = cut(bytes.begin);
  cut(bytes.end);
  range = ranges_.lower_bound(bytes.begin);
  Epoch last_opponent;
  std::uint64_t at = bytes.begin;  // everything before this address is handled
  while (range != ranges_.end() && range->first < bytes.end) {
    if (is_over(range->second.uses)) {
      range = ranges_.erase(range);
      continue;
    }
    const ByteRange here{range->first, range->second.end};
    if (const Access *const other = conflicting_access(range->second.uses, access)) {
      const bool is_same = other->epoch.stream_index == last_opponent.stream_index &&
                           other->epoch.sequence == last_opponent.sequence;
      if (is_same && !conflicts.empty() && conflicts.back().bytes.end == here.begin)
        conflicts.back().bytes.end = here.end;
      else if (!is_same)
        conflicts.push_back({*other, access, here});
      last_opponent = other->epoch;
    }
    if (access.is_change()) {
      range = ranges_.erase(range);
      continue;
    }
    if (at < here.begin) {
      Uses uses;
      uses.reads.push_back(access);
      ranges_.emplace_hint(range, at, Range{here.begin, std::move(uses)});
    }
    add(range->second.uses, access);
    at = here.end;
    ++range;
  }
  if (at >= bytes.end) return;
  Uses uses;
  add(uses, access);
  ranges_.emplace_hint(range, at, Range{bytes.end, std::move(uses)});
}

void ShadowMemory::match_boxes(const Extent &extent, const Access &access, std::vector<Conflict> &conflicts) {
  for (std::size_t i = 0; i < boxes_.size();) {
    Box &box = boxes_[i];
    if (is_over(box.uses)) {
      if (&box != &boxes_.back()) box = std::move(boxes_.back());
      boxes_.pop_back();
      continue;
    }
    ++i;
    if (box.extent.end() <= extent.begin || extent.end() <= box.extent.begin) continue;
    if (const Access *const other = conflicting_access(box.uses, access))
      if (const auto both = overlap(box.extent, extent)) conflicts.push_back({*other, access, *both});
  }
}

void ShadowMemory::touch_box(const Extent &extent, const Access &access, std::vector<Conflict> &conflicts) {
  auto range = ranges_.lower_bound(extent.begin);
  if (range != ranges_.begin() && std::prev(range)->second.end > extent.begin) --range;
  Epoch last_opponent;
  for (; range != ranges_.end() && range->first < extent.end(); ++range) {
    const Access *const other = conflicting_access(range->second.uses, access);
    if (other == nullptr) continue;
    if (other->epoch.stream_index == last_opponent.stream_index &&
        other->epoch.sequence == last_opponent.sequence)
      continue;
    const auto both = overlap(extent, Extent::of(range->first, range->second.end - range->first));
    if (!both) continue;
    conflicts.push_back({*other, access, *both});
    last_opponent = other->epoch;
  }
  const auto same = std::ranges::find(boxes_, extent, &Box::extent);
  if (same != boxes_.end())
    add(same->uses, access);
  else
    add(boxes_.emplace_back(Box{extent, {}}).uses, access);
}

void ShadowMemory::match(const Extent &extent, const Access &access, std::vector<Conflict> &conflicts) const {
  const auto match_one = [&](const Access &other, ByteRange bytes) {
    if (other.epoch.sequence == 0 || order_.is_before(other.epoch, access.epoch.stream_index)) return;
    const bool is_continued = !conflicts.empty() && conflicts.back().bytes.end == bytes.begin &&
                              conflicts.back().first.epoch.stream_index == other.epoch.stream_index &&
                              conflicts.back().first.epoch.sequence == other.epoch.sequence;
    if (is_continued)
      conflicts.back().bytes.end = bytes.end;
    else
      conflicts.push_back({other, access, bytes});
  };
  const auto match_all = [&](const Uses &uses, ByteRange bytes) {
    match_one(uses.change, bytes);
    for (const Access &read : uses.reads) match_one(read, bytes);
  };
  auto range = ranges_.lower_bound(extent.begin);
  if (range != ranges_.begin() && std::prev(range)->second.end > extent.begin) --range;
  for (; range != ranges_.end() && range->first < extent.end(); ++range)
    if (const auto both = overlap(extent, Extent::of(range->first, range->second.end - range->first)))
      match_all(range->second.uses, *both);
  for (const Box &box : boxes_)
    if (const auto both = overlap(box.extent, extent)) match_all(box.uses, *both);
}

void ShadowMemory::forget(ByteRange bytes) {
  if (bytes.is_empty()) return;
  cut(bytes.begin);
  cut(bytes.end);
  ranges_.erase(ranges_.lower_bound(bytes.begin), ranges_.lower_bound(bytes.end));
  std::erase_if(
      boxes_, [&](const Box &box) { return box.extent.begin < bytes.end && bytes.begin < box.extent.end(); });
}

std::vector<Epoch> ShadowMemory::writers(ByteRange bytes) const {
  std::vector<Epoch> found;
  const auto add = [&](const Uses &uses) {
    if (uses.change.epoch.sequence != 0) found.push_back(uses.change.epoch);
  };
  auto range = ranges_.lower_bound(bytes.begin);
  if (range != ranges_.begin() && std::prev(range)->second.end > bytes.begin) --range;
  for (; range != ranges_.end() && range->first < bytes.end; ++range) add(range->second.uses);
  for (const Box &box : boxes_)
    if (overlap(box.extent, Extent::of(bytes.begin, bytes.end - bytes.begin))) add(box.uses);
  return found;
}

// Looks only at ranges: a free always covers a range.
std::optional<std::pair<Access, ByteRange>> ShadowMemory::freed(const Extent &extent) const {
  auto range = ranges_.lower_bound(extent.begin);
  if (range != ranges_.begin() && std::prev(range)->second.end > extent.begin) --range;
  for (; range != ranges_.end() && range->first < extent.end(); ++range) {
    const auto &[end, uses] = range->second;
    if (uses.change.kind != Access::Kind::free) continue;
    if (const auto both = overlap(extent, Extent::of(range->first, end - range->first)))
      return std::pair(uses.change, *both);
  }
  return std::nullopt;
}

void ShadowMemory::sweep() {
  std::erase_if(ranges_, [&](const auto &range) { return is_over(range.second.uses); });
  std::erase_if(boxes_, [&](const Box &box) { return is_over(box.uses); });
  sweep_at_ = std::max<std::size_t>(1024, 2 * size());
}

}  // namespace cushim::check
