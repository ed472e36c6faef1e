// SPDX-License-Identifier: Apache-2.0
// What comes before what: the streams of a process as lanes, each piece of work a step in its lane, and what
// streams, events and the host know of each other's steps. Host threads are taken for one: calls of two
// threads are ordered as they came, so that what the threads agreed among themselves raises no alarm.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace cushim::check {

using Lane = std::uint32_t;
using Step = std::uint64_t;
using ContextKey = const void *;

inline constexpr Lane kNoLane = ~Lane{0};

// One piece of work. Step 0 is none.
struct Moment {
  Lane lane = kNoLane;
  Step step = 0;
};

// How many steps of each lane have been done, as far as somebody knows.
class Clock {
 public:
  Step of(Lane lane) const noexcept { return lane < steps_.size() ? steps_[lane] : 0; }
  bool covers(Moment moment) const noexcept { return moment.step <= of(moment.lane); }
  void set(Lane lane, Step step) {
    if (lane >= steps_.size()) steps_.resize(lane + 1);
    steps_[lane] = step;
  }
  // Whether anything new was learnt.
  bool join(const Clock &other) {
    if (steps_.size() < other.steps_.size()) steps_.resize(other.steps_.size());
    bool is_new = false;
    for (std::size_t lane = 0; lane < other.steps_.size(); ++lane)
      if (steps_[lane] < other.steps_[lane]) {
        steps_[lane] = other.steps_[lane];
        is_new = true;
      }
    return is_new;
  }
  void clear() noexcept { steps_.clear(); }
  bool covers(const Clock &other) const noexcept {
    for (std::size_t lane = 0; lane < other.steps_.size(); ++lane)
      if (of(static_cast<Lane>(lane)) < other.steps_[lane]) return false;
    return true;
  }

 private:
  std::vector<Step> steps_;
};

class Order {
 public:
  enum class Kind { legacy, blocking, non_blocking };

  // A context has one lane of kind legacy.
  Lane open(ContextKey context, Kind kind);
  // The stream is destroyed; its work goes on. The lane's number is given again when all of it is known to be
  // done.
  void close(Lane lane);
  // A context has ended: all of its work is done, and its lanes are closed.
  void end(ContextKey context);

  // The next piece of work in the lane. It comes after what was there, after all that the host knows to be
  // done, and after what the legacy stream asks for.
  Moment submit(Lane lane);
  // The lane's next piece of work, this one included, comes after what the clock covers.
  Moment wait(Lane lane, const Clock &clock);
  // What is done when all that is in the lane is; of a legacy stream, also what it would wait for.
  const Clock &work_of(Lane lane);
  // The same for all streams of a context.
  Clock work_of(ContextKey context) const;
  Clock work_of_all() const;

  // The host has learnt that all this is done.
  bool host_learns(const Clock &clock);
  const Clock &host() const noexcept { return host_; }

  // Whether it is done before the newest work of the lane begins.
  bool is_before(Moment moment, Lane lane) const noexcept { return lanes_[lane].clock.covers(moment); }
  bool is_done(Moment moment) const noexcept { return host_.covers(moment); }
  Kind kind(Lane lane) const noexcept { return lanes_[lane].kind; }
  ContextKey context(Lane lane) const noexcept { return lanes_[lane].context; }
  const Clock &clock(Lane lane) const noexcept { return lanes_[lane].clock; }

 private:
  struct State {
    ContextKey context = nullptr;
    Kind kind = Kind::blocking;
    bool is_open = false;
    Clock clock;
    Step last = 0;
    std::uint64_t seen_of_host = 0;  // host_version_ that the clock has
    Step seen_of_legacy = 0;         // the legacy lane's step that the clock has
  };
  struct Context {
    Lane legacy = kNoLane;
    std::vector<Lane> lanes;
  };

  bool is_reusable(const State &state, Lane lane) const noexcept {
    return !state.is_open && host_.covers({lane, state.last});
  }
  void catch_up(Lane lane);

  std::vector<State> lanes_;
  std::unordered_map<ContextKey, Context> contexts_;
  std::vector<Lane> closed_;
  Clock host_;
  std::uint64_t host_version_ = 0;
};

}  // namespace cushim::check
