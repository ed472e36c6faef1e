// SPDX-License-Identifier: Apache-2.0
#include "order.hpp"

namespace cushim::check {

Lane Order::open(ContextKey context, Kind kind) {
  const auto free = std::ranges::find_if(closed_, [&](Lane lane) { return is_reusable(lanes_[lane], lane); });
  Lane lane = static_cast<Lane>(lanes_.size());
  if (free != closed_.end()) {
    lane = *free;
    closed_.erase(free);
    if (const auto old = contexts_.find(lanes_[lane].context); old != contexts_.end())
      std::erase(old->second.lanes, lane);
  } else {
    lanes_.emplace_back();
  }
  State &state = lanes_[lane];
  const Step last = state.last;
  state = State{.context = context, .kind = kind, .is_open = true, .clock = {}, .last = last};
  state.clock.set(lane, last);
  Context &of = contexts_[context];
  if (kind == Kind::legacy) of.legacy = lane;
  of.lanes.push_back(lane);
  return lane;
}

void Order::close(Lane lane) {
  lanes_[lane].is_open = false;
  closed_.push_back(lane);
}

void Order::end(ContextKey context) {
  const auto found = contexts_.find(context);
  if (found == contexts_.end()) return;
  host_learns(work_of(context));
  const std::vector<Lane> lanes = std::move(found->second.lanes);
  contexts_.erase(found);
  for (const Lane lane : lanes) {
    if (lanes_[lane].is_open) close(lane);
    lanes_[lane].context = nullptr;
  }
}

// What the lane's next work comes after, besides what is in the lane.
void Order::catch_up(Lane lane) {
  State &state = lanes_[lane];
  if (state.seen_of_host != host_version_) {
    state.clock.join(host_);
    state.seen_of_host = host_version_;
  }
  if (state.kind == Kind::non_blocking) return;
  const auto found = contexts_.find(state.context);
  if (found == contexts_.end()) return;
  if (state.kind == Kind::blocking) {
    const Lane legacy = found->second.legacy;
    if (legacy == kNoLane || state.seen_of_legacy == lanes_[legacy].last) return;
    state.clock.join(lanes_[legacy].clock);
    state.seen_of_legacy = lanes_[legacy].last;
    return;
  }
  for (const Lane other : found->second.lanes)
    if (lanes_[other].kind == Kind::blocking && !state.clock.covers({other, lanes_[other].last}))
      state.clock.join(lanes_[other].clock);
}

Moment Order::submit(Lane lane) {
  catch_up(lane);
  State &state = lanes_[lane];
  state.clock.set(lane, ++state.last);
  return {lane, state.last};
}

Moment Order::wait(Lane lane, const Clock &clock) {
  lanes_[lane].clock.join(clock);
  return submit(lane);
}

const Clock &Order::work_of(Lane lane) {
  if (lanes_[lane].kind == Kind::legacy) catch_up(lane);
  return lanes_[lane].clock;
}

Clock Order::work_of(ContextKey context) const {
  Clock clock;
  if (const auto found = contexts_.find(context); found != contexts_.end())
    for (const Lane lane : found->second.lanes) clock.join(lanes_[lane].clock);
  return clock;
}

Clock Order::work_of_all() const {
  Clock clock;
  for (const State &state : lanes_) clock.join(state.clock);
  return clock;
}

bool Order::host_learns(const Clock &clock) {
  if (!host_.join(clock)) return false;
  ++host_version_;
  return true;
}

}  // namespace cushim::check
