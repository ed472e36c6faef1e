// SPDX-License-Identifier: Apache-2.0
#include "hazards/hazard_model.hpp"

#include <algorithm>

namespace cushim::check {

namespace {

constexpr std::uint64_t kWord = 8;  // size in bytes of the largest value of a stream memory operation

std::uint64_t both(StreamIndex one, StreamIndex other) { return std::uint64_t{one} << 32 | other; }

}  // namespace

// ---- Streams, events and contexts ----

void HazardModel::context_ended(ContextKey context) {
  host_learns(order_.work_of(context));
  names_.context_ended(context);
  std::erase_if(memory_, [&](const auto &memory) {
    if (memory.second.context != context) return false;
    touched_.forget({memory.first, memory.second.end});
    launches_.erase(memory.first);
    return true;
  });
}

HazardModel::Event &HazardModel::event(CUevent handle) {
  Event &event = events_[handle];
  if (event.number == 0) event.number = ++event_count_;
  return event;
}

void HazardModel::event_made(CUevent handle, Sharing sharing) {
  events_.erase(handle);
  event(handle).sharing = sharing;
}

void HazardModel::record(CUevent handle, const StreamRef &stream) {
  const StreamIndex stream_index = names_.stream_index(stream);
  Event &event = this->event(handle);
  event.recorded = order_.submit(stream_index);
  event.clock = order_.clock(stream_index);
  event.is_known_done = false;
  if (event.sharing != Sharing::none) exported_.join(event.clock);
  last_record_[stream_index] = {event.number, reinterpret_cast<std::uintptr_t>(handle),
                                event.recorded.sequence};
}

void HazardModel::record(CUevent handle, ContextKey context) {
  Event &event = this->event(handle);
  event.recorded = {kNoStream, 1};  // belongs to no single stream
  event.clock = order_.work_of(context);
  event.is_known_done = false;
  if (event.sharing != Sharing::none) exported_.join(event.clock);
}

void HazardModel::wait(const StreamRef &stream, CUevent handle) {
  const Event &event = this->event(handle);
  if (event.sharing == Sharing::imported) {
    order_.wait(names_.stream_index(stream), exported_);
  } else if (event.recorded.sequence != 0) {
    const StreamIndex stream_index = names_.stream_index(stream);
    order_.wait(stream_index, event.clock);
    last_wait_[both(stream_index, event.recorded.stream_index)] = {
        event.number, reinterpret_cast<std::uintptr_t>(handle), event.recorded.sequence};
  }
}

void HazardModel::semaphore_signalled(const StreamRef &stream) {
  const StreamIndex stream_index = names_.stream_index(stream);
  order_.submit(stream_index);
  exported_.join(order_.clock(stream_index));
}

void HazardModel::semaphore_awaited(const StreamRef &stream) {
  order_.wait(names_.stream_index(stream), exported_);
}

// ---- The host ----

const VectorClock &HazardModel::work_of(const StreamRef &stream) {
  return order_.work_of(names_.stream_index(stream));
}

const VectorClock &HazardModel::work_of(CUevent handle) {
  const Event &event = this->event(handle);
  return event.sharing == Sharing::imported ? exported_ : event.clock;
}

void HazardModel::host_learns(CUevent handle) {
  Event &event = this->event(handle);
  if (event.sharing == Sharing::imported) return host_learns(VectorClock(exported_));
  if (event.is_known_done) return;
  event.is_known_done = true;
  host_learns(event.clock);
}

void HazardModel::host_learns(const VectorClock &clock) {
  if (!order_.host_learns(clock)) return;
  if (!sources_.empty()) check_sources();
  if (!unconfirmed_.empty()) review_unconfirmed();
  if (!held_.empty()) review();
  if (!open_waits_.empty())
    std::erase_if(open_waits_, [&](const OpenWait &wait) { return order_.is_done(wait.epoch); });
}

void HazardModel::host_learns_all_of(const StreamRef &stream) {
  const StreamIndex stream_index = names_.stream_index(stream);
  const VectorClock &work = order_.work_of(stream_index);
  if (order_.kind(stream_index) == Order::Kind::legacy ||
      !order_.is_done({stream_index, work.of(stream_index)}))
    host_learns(VectorClock(work));
}

// ---- Work ----

ShadowMemory &HazardModel::touched(CUarray array) {
  if (array == nullptr) return touched_;
  return arrays_.try_emplace(array, order_).first->second;
}

void HazardModel::work(const StreamRef &stream, Access access, std::span<const Use> uses, Host host) {
  const StreamIndex stream_index = names_.stream_index(stream);
  access.epoch = order_.submit(stream_index);
  if (captures_ != 0) return;
  access.stream = names_.number(stream_index);
  bool host_waits = host == Host::waits;
  for (const Use &one : uses) {
    if (one.is_host && one.array == nullptr && is_pageable(one.extent.begin)) {
      // Data in pageable memory must have arrived when the call returns.
      host_waits |= one.kind == Access::Kind::write;
      continue;
    }
    access.kind = one.kind;
    use(access, one);
  }
  if (!host_waits) return;
  host_learns(order_.clock(stream_index));
  if (words_.empty()) return;
  // A host that reads a value may thereby learn of the work before its write.
  for (const Use &one : uses)
    for (auto word = words_.lower_bound(one.extent.begin);
         one.kind == Access::Kind::read && word != words_.end() && word->first < one.extent.end(); ++word)
      host_may_know_.join(word->second);
}

void HazardModel::refused_work(const StreamRef &stream, Access access, std::span<const Use> uses) {
  if (!report_ || captures_ != 0) return;
  const StreamIndex stream_index = names_.stream_index(stream);
  access.epoch.stream_index = stream_index;
  access.stream = names_.number(stream_index);
  for (const Use &one : uses) {
    if (one.array != nullptr) continue;
    access.kind = one.kind;
    const auto freed = touched_.freed(one.extent);
    if (freed && freed->first.epoch.stream_index != stream_index)
      report({.first = freed->first, .second = access, .bytes = freed->second});
  }
}

namespace {

// If there is a conflict with a kernel whose extent is a guess, removes the conflicts with earlier work of
// the kernel's stream: one event after the kernel removes all of them, and the kernel may use the same bytes.
void drop_older_conflicts(std::vector<Conflict> &conflicts) {
  std::vector<Epoch> kernels;
  for (const Conflict &conflict : conflicts)
    if (conflict.first.has_guessed_extent()) kernels.push_back(conflict.first.epoch);
  if (kernels.empty()) return;
  std::erase_if(conflicts, [&](const Conflict &conflict) {
    const Epoch epoch = conflict.first.epoch;
    return std::ranges::any_of(kernels, [&](const Epoch &kernel) {
      return kernel.stream_index == epoch.stream_index && kernel.sequence > epoch.sequence;
    });
  });
}

}  // namespace

void HazardModel::use(const Access &access, const Use &use) {
  if (use.extent.is_empty()) return;
  Extent extent = use.extent;
  if (use.array == nullptr) {
    if (at_host(extent.end() - 1) - at_host(extent.begin) == extent.end() - 1 - extent.begin)
      extent.begin = at_host(extent.begin);
    Memory *const memory = memory_at(extent.begin);
    if (memory != nullptr && memory->kind != MemoryKind::device) {
      if (access.is_change()) {
        memory->changed_by.set(access.epoch.stream_index, access.epoch.sequence);
        memory->changed_at = ++ticks_;
      } else if (memory->kind == MemoryKind::pinned && report_) {
        keep_source(access, extent, *memory);
      }
    }
    if (access.is_change() && !held_.empty()) word_changed(access.epoch.stream_index, extent);
  }
  conflicts_.clear();
  touched(use.array).touch(extent, access, conflicts_);
  if (!reports()) return;
  drop_older_conflicts(conflicts_);
  if (use.array == nullptr && !launches_.empty()) match_launches(extent, access);
  for (Conflict &conflict : conflicts_) {
    conflict.array = use.array;
    report_or_hold(conflict);
  }
}

Epoch HazardModel::submit_unknown(StreamIndex stream_index) {
  const Epoch epoch = order_.submit(stream_index);
  if (captures_ != 0) return epoch;
  check_sources_now([](const Source &) { return true; });  // it may also write them
  unknown_.join(order_.clock(stream_index));
  // It may write any value that a stream waits for, and any that the host reads.
  std::erase_if(held_, [&](const Held &held) {
    return std::ranges::any_of(held.excuses, [&](const Held::PossibleOrder &excuse) {
      return order_.is_before(excuse.other, stream_index);
    });
  });
  return epoch;
}

void HazardModel::write_word(const StreamRef &stream, std::uint64_t given) {
  const StreamIndex stream_index = names_.stream_index(stream);
  order_.submit(stream_index);
  if (captures_ != 0) return;
  const std::uint64_t address = at_host(given);
  words_[address].join(order_.clock(stream_index));
  word_changed(stream_index, Extent::of(address, 4));
  check_sources_now(
      [&](const Source &source) { return order_.is_before(source.access.epoch, stream_index); });
  if (!is_device(address)) host_may_know_.join(order_.clock(stream_index));
}

void HazardModel::wait_for_word(const StreamRef &stream, const ValueWait &wait) {
  const StreamIndex stream_index = names_.stream_index(stream);
  const std::uint64_t address = at_host(wait.address);
  VectorClock clock = unknown_;
  if (const auto word = words_.find(address); word != words_.end()) clock.join(word->second);
  for (const Epoch writer : touched_.writers({address, address + kWord}))
    clock.join(order_.clock(writer.stream_index));
  const Epoch epoch = order_.wait(stream_index, clock);
  if (captures_ != 0) return;
  open_waits_.push_back(
      {.epoch = epoch, .address = address, .can_host_end = !is_device(address), .word = wait});
  open_waits_.back().word.access.stream = names_.number(stream_index);
}

std::uint64_t HazardModel::host_function(const StreamRef &stream, const Access &access) {
  const StreamIndex stream_index = names_.stream_index(stream);
  const Epoch epoch = order_.submit(stream_index);
  const std::uint64_t number = ++host_function_count_;
  if (captures_ != 0) return number;
  open_waits_.push_back({.epoch = epoch, .address = 0, .can_host_end = true, .word = {.access = access}});
  open_waits_.back().word.access.stream = names_.number(stream_index);
  host_functions_[number] = {order_.clock(stream_index), epoch};
  return number;
}

void HazardModel::host_function_begun(std::uint64_t number) {
  const auto found = host_functions_.find(number);
  if (found == host_functions_.end()) return;
  VectorClock clock = found->second.clock;
  const Epoch epoch = found->second.epoch;
  clock.set(epoch.stream_index, epoch.sequence - 1);
  host_learns(clock);
}

void HazardModel::host_function_ended(std::uint64_t number) {
  const auto found = host_functions_.find(number);
  if (found == host_functions_.end()) return;
  const VectorClock clock = std::move(found->second.clock);
  host_functions_.erase(found);
  host_learns(clock);
}

// ---- Conflicts that are held back ----

// Reports a conflict, or holds it back if an open wait may order the two accesses: a wait that the host or
// a later write ends may end after the other access.
void HazardModel::report_or_hold(const Conflict &conflict) {
  const Access &first = conflict.first, &second = conflict.second;
  const bool is_ordered = order_.is_before(first.epoch, second.epoch.stream_index);
  if (!is_ordered && host_may_know_.covers(first.epoch)) return;
  Held held{conflict, {}};
  if (!is_ordered)
    for (const OpenWait &wait : open_waits_) {
      const bool is_before_second = order_.is_before(wait.epoch, second.epoch.stream_index);
      const bool is_in_lane_of_first = wait.epoch.stream_index == first.epoch.stream_index;
      const bool is_before_first = is_in_lane_of_first
                                       ? wait.epoch.sequence <= first.epoch.sequence
                                       : order_.is_before(wait.epoch, first.epoch.stream_index);
      if (is_before_second && !(is_in_lane_of_first && is_before_first))
        held.excuses.push_back({wait, first.epoch});
      else if (is_before_first && !is_before_second)
        held.excuses.push_back({wait, second.epoch});
    }
  if (held.excuses.empty()) return report(conflict);
  for (const auto &[wait, other] : held.excuses)
    if (const auto word = words_.find(wait.address); word != words_.end() && word->second.covers(other))
      return;
  held_.push_back(std::move(held));
}

// Reconsiders the held-back conflicts after the host's clock has changed.
void HazardModel::review() {
  std::vector<Conflict> ready;
  std::erase_if(held_, [&](Held &held) {
    std::erase_if(held.excuses,
                  [&](const Held::PossibleOrder &excuse) { return order_.is_done(excuse.wait.epoch); });
    if (held.excuses.empty()) {
      ready.push_back(held.conflict);
      return true;
    }
    return std::ranges::any_of(held.excuses, [&](const Held::PossibleOrder &excuse) {
      return excuse.wait.can_host_end && order_.is_done(excuse.other);
    });
  });
  for (const Conflict &conflict : ready) report(conflict);
}

void HazardModel::word_changed(StreamIndex stream_index, const Extent &extent) {
  std::erase_if(held_, [&](const Held &held) {
    return std::ranges::any_of(held.excuses, [&](const Held::PossibleOrder &excuse) {
      return excuse.wait.address != 0 && order_.is_before(excuse.other, stream_index) &&
             overlap(extent, Extent::of(excuse.wait.address, kWord)).has_value();
    });
  });
}

void HazardModel::finish() {
  for (const Held &held : std::exchange(held_, {})) report(held.conflict);
  review_unconfirmed();
}

}  // namespace cushim::check
