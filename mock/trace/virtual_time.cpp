// SPDX-License-Identifier: Apache-2.0
#include "virtual_time.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace cushim::trace {
namespace {

// The items of a trace by their end. Operations that end with a call come before it.
class ByEnd {
 public:
  ByEnd(const std::vector<Operation> &operations, const std::vector<TimedCall> &calls) {
    for (const Operation &one : operations) items_.push_back({nullptr, &one, one.begin, one.end, 0});
    for (const TimedCall &one : calls) items_.push_back({&one, nullptr, one.begin, one.end, 0});
    std::ranges::stable_sort(items_, {}, &PathStep::end);
    for (std::size_t i = 0; i < items_.size(); ++i)
      if (items_[i].call != nullptr) {
        by_id_.emplace(items_[i].call->call->id, i);
        calls_.push_back(i);
      } else {
        operations_.push_back(i);
      }
  }

  const std::vector<PathStep> &items() const noexcept { return items_; }

  // Returns the index of the item that `index` waited for: a lower index, or kNone.
  std::size_t before(std::size_t index) const {
    const PathStep &item = items_[index];
    return item.call != nullptr ? before_call(index) : before_operation(index);
  }

  static constexpr std::size_t kNone = ~std::size_t{0};

 private:
  // Returns the last of these indexes that is below `index` and whose item has ended at `time`, or kNone.
  std::size_t last(const std::vector<std::size_t> &indexes, std::size_t index, std::int64_t time) const {
    const auto end = std::ranges::lower_bound(indexes, index);
    const auto found = std::upper_bound(indexes.begin(), end, time, [&](std::int64_t when, std::size_t one) {
      return when < items_[one].end;
    });
    return found == indexes.begin() ? kNone : *std::prev(found);
  }

  std::size_t before_call(std::size_t index) const {
    const PathStep &call = items_[index];
    const std::size_t operation = last(operations_, index, call.end);
    if (operation != kNone && items_[operation].end > call.begin) return operation;
    return last(calls_, index, call.begin);
  }

  std::size_t before_operation(std::size_t index) const {
    const Operation &operation = *items_[index].operation;
    const std::size_t ended = last(operations_, index, operation.begin);
    const auto found = by_id_.find(operation.call);
    const std::size_t enqueued = found != by_id_.end() && found->second < index ? found->second : kNone;
    if (ended == kNone) return enqueued;
    // A call may return after its operation began, or wait for it.
    if (found != by_id_.end() && items_[found->second].begin >= items_[ended].end)
      return enqueued != kNone ? enqueued : last(calls_, index, items_[found->second].begin);
    return of_stream(operation.stream, ended);
  }

  // Returns the operation of a stream that ended with `ended`, or `ended` if there is none.
  std::size_t of_stream(std::uint64_t stream, std::size_t ended) const {
    // Streams of which operations ended at once are few.
    constexpr int kMost = 64;
    for (auto at = std::ranges::lower_bound(operations_, ended); items_[*at].end == items_[ended].end; --at) {
      if (items_[*at].operation->stream == stream) return *at;
      if (at == operations_.begin() || ended - *at > kMost) break;
    }
    return ended;
  }

  std::vector<PathStep> items_;
  std::vector<std::size_t> calls_, operations_;             // indexes, ascending
  std::unordered_map<std::uint64_t, std::size_t> by_id_{};  // of calls
};

}  // namespace

std::vector<TimedCall> timed_calls(const Trace &trace) {
  std::vector<const Call *> by_end;
  for (const Call &call : trace.calls())
    if (call.end && call.virtual_time) by_end.push_back(&call);
  std::ranges::stable_sort(by_end, {}, [](const Call *call) { return *call->end; });
  std::vector<TimedCall> timed;
  timed.reserve(by_end.size());
  std::size_t ended = 0;
  std::int64_t now = 0;
  for (const Call &call : trace.calls()) {
    for (; ended < by_end.size() && *by_end[ended]->end <= call.begin; ++ended)
      now = std::max(now, *by_end[ended]->virtual_time);
    if (call.end && call.virtual_time) timed.push_back({&call, now, std::max(*call.virtual_time, now)});
  }
  return timed;
}

std::vector<PathStep> critical_path(const std::vector<Operation> &operations,
                                    const std::vector<TimedCall> &calls) {
  const ByEnd by_end(operations, calls);
  std::vector<PathStep> path;
  if (by_end.items().empty()) return path;
  for (std::size_t at = by_end.items().size() - 1; at != ByEnd::kNone; at = by_end.before(at))
    path.push_back(by_end.items()[at]);
  std::ranges::reverse(path);
  for (std::size_t i = 1; i < path.size(); ++i)
    path[i].gap = std::max<std::int64_t>(path[i].begin - path[i - 1].end, 0);
  return path;
}

Busy busy_time(const std::vector<Operation> &operations) {
  Busy busy;
  std::map<std::uint64_t, StreamTime> streams;
  std::vector<std::pair<std::int64_t, int>> changes;  // of the number of busy streams
  for (const Operation &one : operations) {
    StreamTime &stream = streams[one.stream];
    stream.stream = one.stream;
    stream.busy += static_cast<std::uint64_t>(one.end - one.begin);
    ++stream.operations;
    changes.emplace_back(one.begin, 1);
    changes.emplace_back(one.end, -1);
  }
  std::ranges::sort(changes);
  int running = 0;
  for (std::size_t i = 0; i + 1 < changes.size(); ++i) {
    running += changes[i].second;
    const auto passed = static_cast<std::uint64_t>(changes[i + 1].first - changes[i].first);
    if (running >= 1) busy.any += passed;
    if (running >= 2) busy.several += passed;
  }
  for (const auto &[number, stream] : streams) busy.streams.push_back(stream);
  return busy;
}

}  // namespace cushim::trace
