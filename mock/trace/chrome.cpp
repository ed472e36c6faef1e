// SPDX-License-Identifier: Apache-2.0
#include <cushim/driver.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "json_text.hpp"
#include "timeline.hpp"
#include "usage.hpp"

namespace cushim::trace {
namespace {

// Returns the time of the last event of the trace.
std::int64_t end_of(const Trace &trace) {
  std::int64_t end = 0;
  for (const Call &call : trace.calls()) end = std::max(end, call.end.value_or(call.begin));
  return end;
}

// Numbers that no process and no thread has.
constexpr int kVirtualProcess = 10'000'000;
constexpr std::uint64_t kFirstStream = 10'000'000, kFirstEngine = 20'000'000;

// Writes the operations of a timeline: a track for each stream and for each copy engine, and flows from calls
// to operations and from operations to waits.
class WorkWriter {
 public:
  WorkWriter(const Trace &trace, const Timeline &timeline, std::string process, std::ostream &to)
      : trace_(trace), timeline_(timeline), process_(std::move(process)), to_(to) {}

  void write_name(const char *what, std::uint64_t track, const std::string &name) {
    to_ << ",\n{\"ph\":\"M\",\"name\":\"" << what << "\"," << process_ << ",\"tid\":" << track
        << ",\"args\":{\"name\":" << json_string(name) << "}}";
  }

  void write_threads() {
    for (unsigned thread = 1; thread <= trace_.threads(); ++thread)
      write_name("thread_name", static_cast<std::uint64_t>(trace_.system_thread(thread)),
                 trace_.thread_name(thread));
  }

  void write_calls() {
    for (const auto &[call, begin, end] : timeline_.calls)
      to_ << ",\n{\"ph\":\"X\",\"name\":\"" << cushim_entry(call->slot)->symbol << "\"," << track_of(*call)
          << ",\"ts\":" << microseconds(begin) << ",\"dur\":" << microseconds(end - begin) << "}";
  }

  void write_operations() {
    for (std::size_t i = 0; i < timeline_.streams.size(); ++i)
      write_name("thread_name", kFirstStream + i, timeline_.streams[i]);
    for (std::size_t i = 0; i < timeline_.engine_names.size(); ++i)
      write_name("thread_name", kFirstEngine + i, timeline_.engine_names[i]);
    for (std::size_t i = 0; i < timeline_.operations.size(); ++i) {
      const Operation &operation = timeline_.operations[i];
      write_slice(i, track_of(operation));
      if (const auto engine = timeline_.engines[i])
        write_slice(i, process_ + ",\"tid\":" + std::to_string(kFirstEngine + *engine));
      if (const auto call = timeline_.call_by_id.find(operation.call); call != timeline_.call_by_id.end()) {
        const TimedCall &from = timeline_.calls[call->second];
        write_flow("enqueues", operation.number, track_of(*from.call), from.begin, track_of(operation),
                   operation.begin);
      }
    }
    std::uint64_t number = 0;
    for (const Wait &wait : timeline_.waits) {
      const Operation &from = timeline_.operations[wait.operation];
      const std::string track = wait.call ? track_of(*timeline_.calls[*wait.call].call)
                                          : track_of(timeline_.operations[*wait.waiting]);
      const std::int64_t begin =
          wait.call ? timeline_.calls[*wait.call].begin : timeline_.operations[*wait.waiting].begin;
      // A flow that ends before it begins is not shown.
      write_flow("waits", ++number, track_of(from), from.begin, track, std::max(begin, from.begin));
    }
  }

 private:
  std::string track_of(const Call &call) const {
    return process_ + ",\"tid\":" + std::to_string(trace_.system_thread(call.thread));
  }
  std::string track_of(const Operation &operation) const {
    return process_ + ",\"tid\":" + std::to_string(kFirstStream + operation.stream);
  }

  void write_slice(std::size_t index, const std::string &track) {
    const Operation &operation = timeline_.operations[index];
    to_ << ",\n{\"ph\":\"X\",\"name\":" << json_string(timeline_.names[index]) << "," << track
        << ",\"ts\":" << microseconds(operation.begin)
        << ",\"dur\":" << microseconds(operation.end - operation.begin)
        << ",\"args\":{\"number\":" << operation.number << "}}";
  }

  void write_flow(const char *name, std::uint64_t number, const std::string &from, std::int64_t begin,
                  const std::string &to, std::int64_t end) {
    const std::string flow = "\"name\":\"" + std::string(name) + "\",\"cat\":\"" + name +
                             "\",\"id\":" + std::to_string(number) + ",";
    to_ << ",\n{\"ph\":\"s\"," << flow << from << ",\"ts\":" << microseconds(begin) << "}"
        << ",\n{\"ph\":\"f\",\"bp\":\"e\"," << flow << to << ",\"ts\":" << microseconds(end) << "}";
  }

  const Trace &trace_;
  const Timeline &timeline_;
  const std::string process_;
  std::ostream &to_;
};

// Writes the calls and operations of a simulated driver in virtual time, as a process of its own.
void write_virtual_time(const Trace &trace, std::ostream &to) {
  const Timeline timeline = virtual_timeline(trace);
  WorkWriter writer(trace, timeline, "\"pid\":" + std::to_string(kVirtualProcess + trace.process()), to);
  writer.write_name("process_name", 0, trace.program() + ", virtual time");
  writer.write_threads();
  writer.write_calls();
  writer.write_operations();
}

}  // namespace

void write_chrome(const Trace &trace, std::ostream &to) {
  const std::string process = "\"pid\":" + std::to_string(trace.process());
  to << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{\"ph\":\"M\",\"name\":\"process_name\"," << process
     << ",\"args\":{\"name\":" << json_string(trace.program()) << "}}";
  for (unsigned thread = 1; thread <= trace.threads(); ++thread)
    to << ",\n{\"ph\":\"M\",\"name\":\"thread_name\"," << process
       << ",\"tid\":" << trace.system_thread(thread)
       << ",\"args\":{\"name\":" << json_string(trace.thread_name(thread)) << "}}";
  const std::int64_t end = end_of(trace);
  for_each_call(trace, [&](const Call &call, const std::vector<Word> &words) {
    to << ",\n{\"ph\":\"X\",\"name\":\"" << cushim_entry(call.slot)->symbol << "\"," << process
       << ",\"tid\":" << trace.system_thread(call.thread) << ",\"ts\":" << microseconds(call.begin)
       << ",\"dur\":" << microseconds(call.end.value_or(end) - call.begin)
       << ",\"args\":{\"arguments\":" << json_arguments(words) << ",\"result\":\""
       << (call.end ? result_name(call.result) : "unfinished") << '"';
    if (call.call_stack != nullptr) to << ",\"call_stack\":" << json_string(*call.call_stack);
    to << "}}";
  });
  for (const Note &note : trace.notes())
    to << ",\n{\"ph\":\"i\",\"s\":\"t\",\"name\":" << json_string(note.text.substr(0, note.text.find('\n')))
       << "," << process << ",\"tid\":" << trace.system_thread(note.thread)
       << ",\"ts\":" << microseconds(note.time) << ",\"args\":{\"note\":" << json_string(note.text) << "}}";
  const Usage usage = usage_of(trace);
  for (const MemoryChange &change : usage.memory)
    to << ",\n{\"ph\":\"C\",\"name\":\"device memory\"," << process << ",\"ts\":" << microseconds(change.time)
       << ",\"args\":{\"bytes\":" << change.in_use << "}}";
  const Timeline gpu = gpu_timeline(trace, usage);
  WorkWriter(trace, gpu, process, to).write_operations();
  if (!trace.operations().empty()) write_virtual_time(trace, to);
  to << "\n]}\n";
}

}  // namespace cushim::trace
