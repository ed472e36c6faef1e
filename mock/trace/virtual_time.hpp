// SPDX-License-Identifier: Apache-2.0
// When calls and operations ran in the virtual time of a simulated driver, and which of them the end waited
// for.
#pragma once

#include <cushim/trace/trace.hpp>

#include <cstdint>
#include <vector>

namespace cushim::trace {

// A call with its virtual time. It begins at the time at which the call before it, of any thread, had
// returned.
struct TimedCall {
  const Call *call = nullptr;
  std::int64_t begin = 0, end = 0;
};

// Returns the calls that have returned and whose driver has a virtual time, in order of their begin.
std::vector<TimedCall> timed_calls(const Trace &trace);

// A call or an operation, and how long nothing on the path ran before it.
struct PathStep {
  const TimedCall *call = nullptr;       // null for an operation
  const Operation *operation = nullptr;  // null for a call
  std::int64_t begin = 0, end = 0, gap = 0;
};

// Returns the critical path of the trace, from first to last: each step began or returned when the step
// before it had ended. The predecessor of an operation is the operation that ended last before it began (of
// its own stream if several ended at once), or the call that enqueued it. The predecessor of a call is the
// operation that ended while the call ran, else the call before it. Dependencies are not recorded: the times
// decide. Takes O(n log n) of calls and operations. The steps point into the two
// lists.
std::vector<PathStep> critical_path(const std::vector<Operation> &operations,
                                    const std::vector<TimedCall> &calls);

// How long streams were busy in virtual time, in nanoseconds.
struct StreamTime {
  std::uint64_t stream = 0;  // Operation::stream
  std::uint64_t busy = 0;
  unsigned long operations = 0;
};
struct Busy {
  std::vector<StreamTime> streams;  // by number
  std::uint64_t any = 0;            // at least one stream was busy
  std::uint64_t several = 0;        // at least two were: the overlap
};
Busy busy_time(const std::vector<Operation> &operations);

}  // namespace cushim::trace
