// SPDX-License-Identifier: Apache-2.0
// The happens-before relation of the work of a process. Each stream has an index, each piece of work a
// sequence number in its stream, and vector clocks say what streams, events and the host know to be done.
// All host threads count as one: the calls of two threads are ordered as they were made, so that
// synchronization between the threads causes no false alarm.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace cushim::check {

using StreamIndex = std::uint32_t;
using Sequence = std::uint64_t;
using ContextKey = const void *;

inline constexpr StreamIndex kNoStream = ~StreamIndex{0};

// One piece of work: a sequence number in a stream. Sequence 0 means no work.
struct Epoch {
  StreamIndex stream_index = kNoStream;
  Sequence sequence = 0;
};

// A vector clock: for each stream, the last sequence number known to be done.
class VectorClock {
 public:
  Sequence of(StreamIndex stream_index) const noexcept {
    return stream_index < sequences_.size() ? sequences_[stream_index] : 0;
  }
  bool covers(Epoch epoch) const noexcept { return epoch.sequence <= of(epoch.stream_index); }
  void set(StreamIndex stream_index, Sequence sequence) {
    if (stream_index >= sequences_.size()) sequences_.resize(stream_index + 1);
    sequences_[stream_index] = sequence;
  }
  // Joins another clock into this one. Returns whether this clock changed.
  bool join(const VectorClock &other) {
    if (sequences_.size() < other.sequences_.size()) sequences_.resize(other.sequences_.size());
    bool is_new = false;
    for (std::size_t stream_index = 0; stream_index < other.sequences_.size(); ++stream_index)
      if (sequences_[stream_index] < other.sequences_[stream_index]) {
        sequences_[stream_index] = other.sequences_[stream_index];
        is_new = true;
      }
    return is_new;
  }
  void clear() noexcept { sequences_.clear(); }
  bool covers(const VectorClock &other) const noexcept {
    for (std::size_t stream_index = 0; stream_index < other.sequences_.size(); ++stream_index)
      if (of(static_cast<StreamIndex>(stream_index)) < other.sequences_[stream_index]) return false;
    return true;
  }

 private:
  std::vector<Sequence> sequences_;
};

class Order {
 public:
  enum class Kind { legacy, blocking, non_blocking };

  // Opens a stream and returns its index. A context has one stream of kind legacy.
  StreamIndex open(ContextKey context, Kind kind);
  // Marks the stream destroyed; its work continues. The index is reused when all of its work is known to be
  // done.
  void close(StreamIndex stream_index);
  // Ends a context: all of its work is done, and its streams are closed.
  void end(ContextKey context);

  // Adds a piece of work to the stream. It happens after earlier work of the stream, after all that the
  // host knows to be done, and after what legacy stream semantics require.
  Epoch submit(StreamIndex stream_index);
  // Adds a piece of work that happens after all that the clock covers.
  Epoch wait(StreamIndex stream_index, const VectorClock &clock);
  // Returns the clock of all work in the stream; for a legacy stream, also of the work it would wait for.
  const VectorClock &work_of(StreamIndex stream_index);
  // Return the same for all streams of a context, and for all streams.
  VectorClock work_of(ContextKey context) const;
  VectorClock work_of_all() const;

  // Joins the clock into the host's. Returns whether the host's clock changed.
  bool host_learns(const VectorClock &clock);
  const VectorClock &host() const noexcept { return host_; }

  // Returns whether it happens before the newest work of the stream.
  bool is_before(Epoch epoch, StreamIndex stream_index) const noexcept {
    return stream_states_[stream_index].clock.covers(epoch);
  }
  bool is_done(Epoch epoch) const noexcept { return host_.covers(epoch); }
  Kind kind(StreamIndex stream_index) const noexcept { return stream_states_[stream_index].kind; }
  ContextKey context(StreamIndex stream_index) const noexcept { return stream_states_[stream_index].context; }
  const VectorClock &clock(StreamIndex stream_index) const noexcept {
    return stream_states_[stream_index].clock;
  }

 private:
  struct State {
    ContextKey context = nullptr;
    Kind kind = Kind::blocking;
    bool is_open = false;
    VectorClock clock;
    Sequence last = 0;
    std::uint64_t seen_of_host = 0;  // the host_version_ that `clock` includes
    Sequence seen_of_legacy = 0;     // the legacy stream's sequence that `clock` includes
  };
  struct Context {
    StreamIndex legacy = kNoStream;
    std::vector<StreamIndex> stream_indexes;
  };

  bool is_reusable(const State &state, StreamIndex stream_index) const noexcept {
    return !state.is_open && host_.covers({stream_index, state.last});
  }
  void catch_up(StreamIndex stream_index);

  std::vector<State> stream_states_;
  std::unordered_map<ContextKey, Context> contexts_;
  std::vector<StreamIndex> closed_;
  VectorClock host_;
  std::uint64_t host_version_ = 0;
};

}  // namespace cushim::check
