// SPDX-License-Identifier: Apache-2.0
// Reads what a Tracer recorded, and writes it as text.
//
//   trace::Trace trace("program.trace");
//   trace::write_text(trace, std::cout);
#pragma once

#include <cuda.h>
#include <cushim/mock/operations.hpp>

#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cushim::trace {

// When the work that a call enqueued ran on a device. The times are those of the calls: of all work of a
// context, one piece is taken to have begun when its call did, and the others follow by the device's clock.
struct GpuTime {
  std::int64_t begin = 0, end = 0;
};

// A recorded call. Times are in nanoseconds since the trace began.
struct Call {
  int slot = 0;         // of the entry point
  unsigned thread = 0;  // number in order of the threads' first calls, from 1
  std::int64_t begin = 0;
  // Missing in a call that had not returned at the end of the trace: the next three.
  std::optional<std::int64_t> end{};
  CUresult result = CUDA_SUCCESS;
  std::optional<std::int64_t> virtual_time{};  // of a simulated driver, after the call
  std::span<const std::uint64_t> words{};      // the arguments, each in whole words
  std::span<const std::uint64_t> values{};     // what pointers led to, after the call
  std::uint64_t id = 0;                        // of the call in the trace
  std::optional<GpuTime> gpu{};                // if it was measured (TracerOptions::gpu_times)
  const std::string *call_stack = nullptr;     // one line for each function; null if it was not recorded
};

// An operation of a stream of a simulated driver. Times are virtual, in nanoseconds.
struct Operation {
  std::optional<int> slot{};  // of the entry point that enqueued it
  std::uint64_t call = 0;     // Call::id of the call that enqueued it; 0 if it is unknown
  std::uint64_t number = 0;   // in order of submission
  std::uint64_t stream = 0;   // number
  std::int64_t begin = 0, end = 0;
  mock::CopyEngine copy_engine = mock::CopyEngine::none;  // the one that it used
  int device = 0;                                         // of the copy engine
};

// The name that the program gave to an object or a thread.
struct GivenName {
  std::int64_t time = 0;
  std::string noun{};        // "stream"; "thread" for a thread
  std::uint64_t object = 0;  // the handle, or the system's number of the thread
  std::string text{};
};

// A text that was recorded: a finding of a checker, or a remark of the program.
struct Note {
  std::uint64_t call = 0;  // Call::id of the call that ran on the thread; 0 if none did
  unsigned thread = 0;
  std::int64_t time = 0;
  std::string text{};
};

// The content of a trace.
struct TraceParts {
  int process = 0;
  std::string program{}, driver{};
  std::vector<Call> calls{};                                     // in order of their begin
  std::vector<Operation> operations{};                           // in the order in which they ran
  std::vector<Note> notes{};                                     // in order of their time
  std::vector<GivenName> names{};                                // in order of their time
  std::vector<int> system_threads{};                             // the system's number of each thread
  std::vector<std::uint64_t> storage{};                          // what the calls' words and values refer to
  std::unordered_map<std::uint64_t, std::string> call_stacks{};  // what the calls refer to, by number
};

// A trace. Calls are in order of their begin.
class Trace {
 public:
  // Throws std::runtime_error if the file cannot be read, is not a trace, or was made by another version of
  // cushim or with other CUDA headers.
  explicit Trace(const std::string &file);
  // Takes the content of a recording (cushim/replay/recording.hpp).
  explicit Trace(TraceParts parts) : parts_(std::move(parts)) { name_threads(); }
  Trace(const Trace &) = delete;
  Trace &operator=(const Trace &) = delete;

  const std::vector<Call> &calls() const noexcept { return parts_.calls; }
  const std::vector<Operation> &operations() const noexcept { return parts_.operations; }
  const std::vector<Note> &notes() const noexcept { return parts_.notes; }
  const std::vector<GivenName> &names() const noexcept { return parts_.names; }
  // The process, its program and its driver.
  int process() const noexcept { return parts_.process; }
  const std::string &program() const noexcept { return parts_.program; }
  const std::string &driver() const noexcept { return parts_.driver; }
  // The system's number of a thread.
  int system_thread(unsigned thread) const { return parts_.system_threads.at(thread - 1); }
  unsigned threads() const noexcept { return static_cast<unsigned>(parts_.system_threads.size()); }
  // Returns "thread 1", or "thread 1 \"loader\"" if the program named it.
  const std::string &thread_name(unsigned thread) const { return thread_names_.at(thread - 1); }

 private:
  void name_threads();

  TraceParts parts_;
  std::vector<std::string> thread_names_;
};

// Writes one line a call, in the manner of strace:
//   0.000123 [1] cuMemAlloc_v2(dptr -> memory#1, bytesize=4096) = CUDA_SUCCESS <1.2 us>
void write_text(const Trace &trace, std::ostream &to);
// Writes one JSON object a line.
void write_json(const Trace &trace, std::ostream &to);
// Writes the format of chrome://tracing, which Perfetto reads: a track for each thread, and the memory in
// use; for a simulated driver also the virtual time as a process of its own, with a track for each thread,
// stream and copy engine, and flows from calls to their operations and from operations to what waited for
// them.
void write_chrome(const Trace &trace, std::ostream &to);
// Writes one page of HTML that needs nothing else: a track for each thread with zoom and search, and the
// memory in use; for a simulated driver also the virtual time, with a track for each thread, stream and copy
// engine, arrows from calls to their operations and from operations to what waited for them, the critical
// path and the gaps in it.
void write_html(const Trace &trace, std::ostream &to);
// Writes calls with their time, bytes by direction, memory, streams, synchronizations, and advice; for a
// simulated driver also how long streams were busy in virtual time, and the critical path; with GPU times the
// same, and the time by kernel and function.
void write_summary(const Trace &trace, std::ostream &to);

// Advice about the use of the driver. Rules:
//
// - pageable-copy: copies from or to memory that is not pinned; pinned memory is faster, and lets copies
//   overlap
// - synchronize-in-loop: the host waits after every few operations
// - allocate-in-loop: memory of the same size is allocated and freed again and again
// - unread-timed-event: events with timing whose time is never read; CU_EVENT_DISABLE_TIMING makes them
//   cheaper
// - default-stream: work in the legacy stream, which waits for all blocking streams and they for it
struct Advice {
  std::string rule;
  std::string evidence;  // numbers, and the first call
  std::string advice;
};
std::vector<Advice> advice(const Trace &trace);

}  // namespace cushim::trace
