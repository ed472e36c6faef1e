// SPDX-License-Identifier: Apache-2.0
#include "check/race_detector.hpp"

namespace cushim::ptx::execute {

void RaceDetector::reset(std::uint64_t host, std::uint64_t bytes) {
  cells_.reset(host, bytes);
  std::erase_if(released_,
                [&](const auto &one) { return one.first >= host / 4 && one.first < (host + bytes + 3) / 4; });
}

bool RaceDetector::is_ordered(const Record &earlier, const Access &access, const Knowledge &knowledge,
                              std::uint64_t host) const {
  if (earlier.thread == access.thread) return true;
  // A collective access has ended for all lanes of its warps.
  const std::uint64_t threads = 32 * std::max<std::uint64_t>(earlier.warps, access.warps);
  const std::uint32_t of_block = shape_.threads_of_block;
  if (threads != 0 && earlier.thread / of_block == access.thread / of_block &&
      earlier.thread % of_block / threads == access.thread % of_block / threads)
    return true;
  for (const auto &[address, time] : knowledge.observed)
    if (earlier.is_strong && address == host / 4 && earlier.time <= time) return true;
  const VectorClock *const clock = knowledge.now.get();
  if (clock == nullptr) return false;
  return earlier.time <= clock->of(VectorClock::block(earlier.thread / shape_.threads_of_block)) ||
         earlier.time <= clock->of(VectorClock::warp(warp_of(earlier.thread))) ||
         earlier.time <= clock->of(VectorClock::thread(earlier.thread)) ||
         earlier.time <= clock->of(VectorClock::grid);
}

RaceDetector::Record RaceDetector::note(const Access &access, const Knowledge &knowledge, std::uint64_t host,
                                        std::uint64_t bytes) {
  Record race;
  const std::uint64_t end = host + bytes;
  for (std::uint64_t granule = host / granule_bytes; granule * granule_bytes < end; ++granule) {
    const std::uint64_t begin = granule * granule_bytes;
    const unsigned first = static_cast<unsigned>(std::max(host, begin) - begin),
                   last = static_cast<unsigned>(std::min(end, begin + granule_bytes) - begin);
    const unsigned mask = (0xffu >> (granule_bytes - (last - first))) << first;
    auto &records = cells_.at(begin);
    Record *same = nullptr, *free = nullptr, *ordered = nullptr, *oldest = &records[0];
    for (Record &earlier : records) {
      if (earlier.bytes == 0) {
        if (free == nullptr) free = &earlier;
        continue;
      }
      const bool conflicts = (earlier.bytes & mask) != 0 && (earlier.is_write || access.is_write) &&
                             !(earlier.is_strong && access.is_strong);
      const bool may_replace = (earlier.bytes & ~mask) == 0 && (access.is_write || !earlier.is_write) &&
                               (!access.is_strong || earlier.is_strong);
      if (conflicts || may_replace) {
        const bool is_before = is_ordered(earlier, access, knowledge, host);
        if (conflicts && !is_before && race.bytes == 0) race = earlier;
        if (may_replace && is_before) {
          if (earlier.thread == access.thread)
            same = &earlier;
          else
            ordered = &earlier;
        }
      }
      if ((oldest->is_write && !earlier.is_write) ||
          (oldest->is_write == earlier.is_write && earlier.time < oldest->time))
        oldest = &earlier;
    }
    Record &place = same != nullptr      ? *same
                    : ordered != nullptr ? *ordered
                    : free != nullptr    ? *free
                                         : *oldest;
    place.thread = access.thread & 0xffffffffffff;
    place.bytes = mask & 0xff;
    place.is_write = access.is_write;
    place.is_strong = access.is_strong;
    place.warps = access.warps & 7;
    place.time = now_;
    place.where = access.where;
  }
  return race;
}

SharedClock RaceDetector::with(const SharedClock &clock, VectorClock::Group group) {
  auto made = clock != nullptr ? std::make_shared<VectorClock>(*clock) : std::make_shared<VectorClock>();
  made->raise(group, now_);
  return made;
}

void RaceDetector::acquire(Knowledge &knowledge, std::uint64_t host) {
  if (knowledge.observed[0].address != host / 4) std::swap(knowledge.observed[0], knowledge.observed[1]);
  knowledge.observed[0] = {host / 4, now_};
  if (released_.empty()) return;
  if (const auto found = released_.find(host / 4); found != released_.end())
    knowledge.now = joined(knowledge.now, found->second);
}

void RaceDetector::release(std::uint64_t thread, const Knowledge &knowledge, std::uint64_t host,
                           bool is_fenced) {
  if (is_fenced && knowledge.fenced == nullptr) return;
  SharedClock &released = released_[host / 4];
  if (is_fenced) {
    released = joined(released, knowledge.fenced);
    return;
  }
  released = joined(released, with(knowledge.now, VectorClock::thread(thread)));
  ++now_;
}

void RaceDetector::fence(std::uint64_t thread, Knowledge &knowledge) {
  knowledge.fenced = with(knowledge.now, VectorClock::thread(thread));
  ++now_;
}

void RaceDetector::arrive(VectorClock::Group group, const Knowledge &knowledge, Knowledge &to) {
  to.now = joined(to.now, with(knowledge.now, group));
  to.fenced = joined(to.fenced, knowledge.fenced);
  ++now_;
}

void RaceDetector::meet_in_block(std::uint64_t block, Knowledge &met) {
  auto now = met.now != nullptr ? std::make_shared<VectorClock>(*met.now) : std::make_shared<VectorClock>();
  now->erase([&](VectorClock::Group group) {
    const std::uint64_t index = group & ~VectorClock::grid;
    switch (group >> 62) {
      case 0:
        return index / shape_.threads_of_block == block;
      case 1:
        return index / shape_.warps_of_block == block;
      default:
        return group == VectorClock::block(block);
    }
  });
  now->raise(VectorClock::block(block), now_);
  ++now_;
  met.now = std::move(now);
}

}  // namespace cushim::ptx::execute
