// SPDX-License-Identifier: Apache-2.0
#include "ipc/shared_event.hpp"

#include <algorithm>

namespace cushim::sim {

namespace {

constexpr int kIndexBits = ShareLayout::kParticipantBits, kGenerationBits = ShareLayout::kGenerationBits;
constexpr int kNumberAt = kIndexBits + kGenerationBits;  // 40 bits: one record per microsecond for 12 days

std::uint64_t packed(const SharedEvent::Record &record) {
  return record.number << kNumberAt | std::uint64_t{record.participant.generation} << kIndexBits |
         record.participant.index;
}

SharedEvent::Record unpacked(std::uint64_t packed) {
  constexpr std::uint64_t indices = 1 << kIndexBits, generations = 1 << kGenerationBits;
  return {packed >> kNumberAt,
          {static_cast<std::uint32_t>(packed % indices),
           static_cast<std::uint32_t>(packed / indices % generations)}};
}

// 146 years of virtual time. Limits the time that another process reports, since virtual time continues from
// it.
constexpr Time kLatest = Time{1} << 62;

template <class Value>
void raise(std::atomic<Value> &to, Value value) noexcept {
  for (Value old = to; old < value && !to.compare_exchange_weak(old, value);) {
  }
}

}  // namespace

std::shared_ptr<SharedEvent> SharedEvent::make(std::shared_ptr<ShareTable> table) {
  const auto record = table->take_event_record();
  return record ? std::shared_ptr<SharedEvent>(new SharedEvent(std::move(table), *record)) : nullptr;
}

std::shared_ptr<SharedEvent> SharedEvent::open(std::shared_ptr<ShareTable> table, const ShareHandle &handle) {
  if (!table->retain_event_record(handle.record, handle.generation)) return nullptr;
  return std::shared_ptr<SharedEvent>(new SharedEvent(std::move(table), handle.record));
}

SharedEvent::~SharedEvent() { table_->release_event_record(index_); }

ShareHandle SharedEvent::handle() const {
  return table_->handle(ShareHandle::Kind::event, index_, state_.generation);
}

SharedEvent::Record SharedEvent::last() const noexcept { return unpacked(state_.last); }

std::uint64_t SharedEvent::record() noexcept {
  std::uint64_t old = state_.last, number = 0;
  do {
    number = unpacked(old).number + 1;
  } while (!state_.last.compare_exchange_weak(old, packed({number, table_->participant()})));
  return number;
}

void SharedEvent::complete(std::uint64_t number, Time at) noexcept {
  raise(state_.completed_at, std::int64_t{at});
  raise(state_.completed, number);
  table_->ring();
}

bool SharedEvent::is_complete(std::uint64_t number) const noexcept { return state_.completed >= number; }

Time SharedEvent::completed_at() const noexcept { return std::min<Time>(state_.completed_at, kLatest); }

}  // namespace cushim::sim
