// SPDX-License-Identifier: Apache-2.0
// The virtual time of calls and operations, the critical path, and how long streams were busy.
#include "virtual_time.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>

namespace cushim::trace {
namespace {

using testing::ElementsAre;

// A trace of calls and operations that tests add in order.
class Traced {
 public:
  // Adds a call that returned at a virtual time, and returns its id.
  std::uint64_t call(std::int64_t end) {
    const auto id = static_cast<std::uint64_t>(parts_.calls.size() + 1);
    const auto host = static_cast<std::int64_t>(10 * id);
    parts_.calls.push_back({.thread = 1, .begin = host, .end = host + 5, .virtual_time = end, .id = id});
    return id;
  }
  void operation(std::uint64_t stream, std::int64_t begin, std::int64_t end, std::uint64_t call = 0) {
    parts_.operations.push_back(
        {.call = call, .number = parts_.operations.size() + 1, .stream = stream, .begin = begin, .end = end});
  }
  Trace trace() && {
    parts_.system_threads = {1};
    return Trace(std::move(parts_));
  }

 private:
  TraceParts parts_;
};

// Returns the path as "call begin-end" and "stream begin-end", with the gap before it.
std::vector<std::string> path_of(const Trace &trace) {
  const auto calls = timed_calls(trace);
  std::vector<std::string> path;
  for (const PathStep &step : critical_path(trace.operations(), calls))
    path.push_back((step.call != nullptr ? "call" : "stream" + std::to_string(step.operation->stream)) + " " +
                   std::to_string(step.begin) + "-" + std::to_string(step.end) +
                   (step.gap != 0 ? ", gap " + std::to_string(step.gap) : ""));
  return path;
}

TEST(CriticalPath, Follows_operations_from_stream_to_stream_to_the_call_that_waits) {
  Traced traced;
  const auto first = traced.call(1), second = traced.call(2), third = traced.call(3);
  traced.call(30);  // waits for all
  traced.operation(1, 1, 11, first);
  traced.operation(2, 11, 21, second);
  traced.operation(3, 3, 9, third);
  traced.operation(1, 21, 30);
  EXPECT_THAT(path_of(std::move(traced).trace()),
              ElementsAre("call 0-1", "stream1 1-11", "stream2 11-21", "stream1 21-30", "call 3-30"));
}

TEST(CriticalPath, Goes_by_the_call_if_the_operation_was_enqueued_after_others_had_ended) {
  Traced traced;
  const auto first = traced.call(1);
  traced.call(20);
  const auto last = traced.call(21);
  traced.operation(1, 1, 5, first);
  traced.operation(1, 21, 24, last);
  EXPECT_THAT(path_of(std::move(traced).trace()),
              ElementsAre("call 0-1", "stream1 1-5", "call 1-20", "call 20-21", "stream1 21-24"));
}

TEST(CriticalPath, Prefers_the_operation_of_the_same_stream_among_those_that_ended_at_once) {
  Traced traced;
  traced.operation(1, 0, 5);
  traced.operation(2, 0, 5);
  traced.operation(1, 5, 9);
  EXPECT_THAT(path_of(std::move(traced).trace()), ElementsAre("stream1 0-5", "stream1 5-9"));
}

TEST(CriticalPath, Tells_how_long_nothing_on_it_ran) {
  Traced traced;
  traced.operation(1, 0, 5);
  traced.operation(1, 8, 9);
  EXPECT_THAT(path_of(std::move(traced).trace()), ElementsAre("stream1 0-5", "stream1 8-9, gap 3"));
}

TEST(CriticalPath, Ends_also_if_operations_take_no_time) {
  Traced traced;
  const auto call = traced.call(0);
  for (int i = 0; i < 3; ++i) traced.operation(1, 0, 0, call);
  EXPECT_THAT(path_of(std::move(traced).trace()), ElementsAre("call 0-0"));
}

TEST(CriticalPath, Of_nothing_is_empty) { EXPECT_TRUE(path_of(Traced().trace()).empty()); }

TEST(VirtualTime, Of_a_call_begins_when_the_call_before_it_had_returned) {
  Traced traced;
  for (const int end : {4, 4, 9}) traced.call(end);
  const Trace trace = std::move(traced).trace();
  std::vector<std::pair<std::int64_t, std::int64_t>> times;
  for (const auto &[call, begin, end] : timed_calls(trace)) times.emplace_back(begin, end);
  EXPECT_THAT(times, ElementsAre(std::pair(0, 4), std::pair(4, 4), std::pair(4, 9)));
}

TEST(BusyTime, Counts_each_stream_the_time_of_any_and_the_overlap) {
  Traced traced;
  traced.operation(1, 0, 10);
  traced.operation(2, 4, 12);
  traced.operation(1, 20, 25);
  const Busy busy = busy_time(std::move(traced).trace().operations());
  std::vector<std::tuple<std::uint64_t, std::uint64_t, unsigned long>> streams;
  for (const StreamTime &one : busy.streams) streams.emplace_back(one.stream, one.busy, one.operations);
  EXPECT_THAT(streams, ElementsAre(std::tuple(1, 15, 2), std::tuple(2, 8, 1)));
  EXPECT_EQ(busy.any, 17u);
  EXPECT_EQ(busy.several, 6u);
}

}  // namespace
}  // namespace cushim::trace
