// SPDX-License-Identifier: Apache-2.0
#include "shared_event.hpp"

#include <algorithm>

namespace cushim::sim {

namespace {

constexpr int kParticipantBits = 16;
// After 146 years of virtual time. Another process may say anything, and time goes on from there.
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
  if (!table->hold_event_record(handle.record, handle.generation)) return nullptr;
  return std::shared_ptr<SharedEvent>(new SharedEvent(std::move(table), handle.record));
}

SharedEvent::~SharedEvent() { table_->let_event_record_go(index_); }

ShareHandle SharedEvent::handle() const {
  return table_->handle(ShareHandle::Kind::event, index_, state_.generation);
}

SharedEvent::Record SharedEvent::last() const noexcept {
  const std::uint64_t last = state_.last;
  return {last >> kParticipantBits, static_cast<std::uint32_t>(last & ((1u << kParticipantBits) - 1))};
}

std::uint64_t SharedEvent::record() noexcept {
  std::uint64_t old = state_.last, number = 0;
  do {
    number = (old >> kParticipantBits) + 1;
  } while (!state_.last.compare_exchange_weak(old, number << kParticipantBits | table_->participant()));
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
