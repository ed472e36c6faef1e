// SPDX-License-Identifier: Apache-2.0
#include "hazards/order.hpp"

namespace cushim::check {

StreamIndex Order::open(ContextKey context, Kind kind) {
  const auto free = std::ranges::find_if(closed_, [&](StreamIndex stream_index) {
    return is_reusable(stream_states_[stream_index], stream_index);
  });
  StreamIndex stream_index = static_cast<StreamIndex>(stream_states_.size());
  if (free != closed_.end()) {
    stream_index = *free;
    closed_.erase(free);
    if (const auto old = contexts_.find(stream_states_[stream_index].context); old != contexts_.end())
      std::erase(old->second.stream_indexes, stream_index);
  } else {
    stream_states_.emplace_back();
  }
  State &state = stream_states_[stream_index];
  const Sequence last = state.last;
  state = State{.context = context, .kind = kind, .is_open = true, .clock = {}, .last = last};
  state.clock.set(stream_index, last);
  Context &of = contexts_[context];
  if (kind == Kind::legacy) of.legacy = stream_index;
  of.stream_indexes.push_back(stream_index);
  return stream_index;
}

void Order::close(StreamIndex stream_index) {
  stream_states_[stream_index].is_open = false;
  closed_.push_back(stream_index);
}

void Order::end(ContextKey context) {
  const auto found = contexts_.find(context);
  if (found == contexts_.end()) return;
  host_learns(work_of(context));
  const std::vector<StreamIndex> stream_indexes = std::move(found->second.stream_indexes);
  contexts_.erase(found);
  for (const StreamIndex stream_index : stream_indexes) {
    if (stream_states_[stream_index].is_open) close(stream_index);
    stream_states_[stream_index].context = nullptr;
  }
}

// Joins what the stream's next work happens after, besides earlier work of the stream.
void Order::catch_up(StreamIndex stream_index) {
  State &state = stream_states_[stream_index];
  if (state.seen_of_host != host_version_) {
    state.clock.join(host_);
    state.seen_of_host = host_version_;
  }
  if (state.kind == Kind::non_blocking) return;
  const auto found = contexts_.find(state.context);
  if (found == contexts_.end()) return;
  if (state.kind == Kind::blocking) {
    const StreamIndex legacy = found->second.legacy;
    if (legacy == kNoStream || state.seen_of_legacy == stream_states_[legacy].last) return;
    state.clock.join(stream_states_[legacy].clock);
    state.seen_of_legacy = stream_states_[legacy].last;
    return;
  }
  for (const StreamIndex other : found->second.stream_indexes)
    if (stream_states_[other].kind == Kind::blocking &&
        !state.clock.covers({other, stream_states_[other].last}))
      state.clock.join(stream_states_[other].clock);
}

Epoch Order::submit(StreamIndex stream_index) {
  catch_up(stream_index);
  State &state = stream_states_[stream_index];
  state.clock.set(stream_index, ++state.last);
  return {stream_index, state.last};
}

Epoch Order::wait(StreamIndex stream_index, const VectorClock &clock) {
  stream_states_[stream_index].clock.join(clock);
  return submit(stream_index);
}

const VectorClock &Order::work_of(StreamIndex stream_index) {
  if (stream_states_[stream_index].kind == Kind::legacy) catch_up(stream_index);
  return stream_states_[stream_index].clock;
}

VectorClock Order::work_of(ContextKey context) const {
  VectorClock clock;
  if (const auto found = contexts_.find(context); found != contexts_.end())
    for (const StreamIndex stream_index : found->second.stream_indexes)
      clock.join(stream_states_[stream_index].clock);
  return clock;
}

VectorClock Order::work_of_all() const {
  VectorClock clock;
  for (const State &state : stream_states_) clock.join(state.clock);
  return clock;
}

bool Order::host_learns(const VectorClock &clock) {
  if (!host_.join(clock)) return false;
  ++host_version_;
  return true;
}

}  // namespace cushim::check
