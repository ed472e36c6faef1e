// SPDX-License-Identifier: Apache-2.0
// The kernels of the hazard model.
#include <algorithm>

#include "hazards/hazard_model.hpp"

namespace cushim::check {
namespace {

using Accessed = mock::KernelRecord;

// Kernels that are remembered for each allocation, and conflicts that wait for the end of a kernel.
constexpr std::size_t kMostLaunches = 256, kMostUnconfirmed = 4096;

// Returns what a kernel did with these bytes; nothing if it did not access them.
std::optional<Access::Kind> kind_of(const Accessed &record, ByteRange bytes) {
  if (record.find(bytes.begin, bytes.end, Accessed::Kind::write)) return Access::Kind::write;
  if (record.find(bytes.begin, bytes.end, Accessed::Kind::read)) return Access::Kind::read;
  return std::nullopt;
}

ByteRange narrowed(ByteRange bytes, const Accessed::Range &granule) {
  return {std::max(bytes.begin, granule.first), std::min(bytes.end, granule.second)};
}

}  // namespace

Access HazardModel::submit_launch(const StreamRef &stream, Access access) {
  const StreamIndex stream_index = names_.stream_index(stream);
  access.epoch = submit_unknown(stream_index);
  access.stream = names_.number(stream_index);
  return access;
}

void HazardModel::add_uses(const Access &launch, std::span<const Use> uses) {
  if (captures_ != 0) return;
  Access access = launch;
  for (const Use &one : uses) {
    if (one.is_host && one.array == nullptr && is_pageable(one.extent.begin)) continue;
    access.kind = one.kind;
    use(access, one);
  }
}

void HazardModel::add_uses(const Access &launch, std::span<const PointerUse> uses) {
  if (captures_ != 0 || !reports()) return;
  if (!unconfirmed_.empty()) review_unconfirmed();
  for (const PointerUse &pointer : uses) use_pointer(launch, pointer);
}

void HazardModel::use_pointer(const Access &given, const PointerUse &pointer) {
  const std::uint64_t address = at_host(pointer.address);
  const auto next = memory_.upper_bound(address);
  if (memory_at(address) == nullptr) return;
  Access access = given;
  access.kind = pointer.kind;
  const std::uint64_t begin = std::prev(next)->first;
  Memory &memory = std::prev(next)->second;
  const bool may_inform_host = memory.kind == MemoryKind::pinned || memory.kind == MemoryKind::registered;
  if (may_inform_host && access.kind != Access::Kind::read)
    host_may_know_.join(order_.clock(access.epoch.stream_index));
  if (access.record() == nullptr) return use(access, {.extent = Extent::of(address, 1), .kind = access.kind});
  std::deque<Access> &launches = launches_[begin];
  if (!launches.empty() && launches.back().epoch.stream_index == access.epoch.stream_index &&
      launches.back().epoch.sequence == access.epoch.sequence && launches.back().work == access.work)
    return;  // another parameter points into the same allocation
  access.kind = Access::Kind::unknown;
  conflicts_.clear();
  const ByteRange whole{begin, memory.end};
  touched_.match(Extent::of(begin, memory.end - begin), access, conflicts_);
  std::erase_if(launches, [&](const Access &earlier) { return order_.is_done(earlier.epoch); });
  for (const Access &earlier : launches)
    if (!order_.is_before(earlier.epoch, access.epoch.stream_index))
      conflicts_.push_back({earlier, access, whole});
  for (const Conflict &conflict : conflicts_) report_or_hold(conflict);
  if (launches.size() == kMostLaunches) launches.pop_front();
  launches.push_back(access);
}

// Adds the conflicts of other work with recorded kernels.
void HazardModel::match_launches(const Extent &extent, const Access &access) {
  auto next = launches_.upper_bound(extent.begin);
  if (next != launches_.begin()) --next;
  for (; next != launches_.end() && next->first < extent.end(); ++next) {
    const auto memory = memory_.find(next->first);
    if (memory == memory_.end()) continue;
    const auto both = overlap(extent, Extent::of(next->first, memory->second.end - next->first));
    if (!both) continue;
    const ByteRange bytes = extent.is_flat() ? *both : ByteRange{both->begin, extent.end()};
    for (const Access &launch : next->second)
      if (!order_.is_before(launch.epoch, access.epoch.stream_index))
        conflicts_.push_back({launch, access, bytes});
  }
}

HazardModel::Verdict HazardModel::confirm(Conflict &conflict) {
  const Accessed *const first = conflict.first.record(), *const second = conflict.second.record();
  for (const Accessed *const record : {first, second})
    if (record != nullptr && !record->is_finished()) return Verdict::pending;
  ByteRange &bytes = conflict.bytes;
  if (first != nullptr && second != nullptr) {
    auto both = first->find(bytes.begin, bytes.end, Accessed::Kind::write, *second, Accessed::Kind::any);
    if (!both)
      both = first->find(bytes.begin, bytes.end, Accessed::Kind::read, *second, Accessed::Kind::write);
    if (!both) return Verdict::refuted;
    bytes = narrowed(bytes, *both);
  }
  for (Access *const access : {&conflict.first, &conflict.second}) {
    const Accessed *const record = access->record();
    if (record == nullptr) continue;
    const auto kind = kind_of(*record, bytes);
    if (!kind) return Verdict::refuted;
    access->kind = *kind;
    const auto sought = *kind == Access::Kind::write ? Accessed::Kind::write : Accessed::Kind::read;
    bytes = narrowed(bytes, *record->find(bytes.begin, bytes.end, sought));
  }
  return may_conflict(conflict.first, conflict.second) ? Verdict::confirmed : Verdict::refuted;
}

void HazardModel::review_unconfirmed() {
  std::deque<Conflict> waiting = std::exchange(unconfirmed_, {});
  for (const Conflict &conflict : waiting) report(conflict);  // puts it back if a kernel has not run yet
  while (unconfirmed_.size() > kMostUnconfirmed) unconfirmed_.pop_front();
}

}  // namespace cushim::check
