// SPDX-License-Identifier: Apache-2.0
#include <cushim/driver.hpp>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "json_text.hpp"
#include "usage.hpp"
#include "virtual_time.hpp"

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
constexpr std::uint64_t kFirstStream = 10'000'000;

// Writes the calls and operations of a simulated driver in virtual time.
class VirtualTimeline {
 public:
  VirtualTimeline(const Trace &trace, std::ostream &to)
      : trace_(trace), to_(to), process_("\"pid\":" + std::to_string(kVirtualProcess + trace.process())) {}

  void write() {
    write_name("process_name", 0, trace_.program() + ", virtual time");
    for (unsigned thread = 1; thread <= trace_.threads(); ++thread)
      write_name("thread_name", static_cast<std::uint64_t>(trace_.system_thread(thread)),
                 "thread " + std::to_string(thread));
    write_calls();
    std::set<std::uint64_t> streams;
    for (const Operation &operation : trace_.operations()) {
      if (streams.insert(operation.stream).second)
        write_name("thread_name", kFirstStream + operation.stream,
                   "stream " + std::to_string(operation.stream));
      write_operation(operation);
    }
  }

 private:
  void write_name(const char *what, std::uint64_t track, const std::string &name) {
    to_ << ",\n{\"ph\":\"M\",\"name\":\"" << what << "\"," << process_ << ",\"tid\":" << track
        << ",\"args\":{\"name\":" << json_string(name) << "}}";
  }

  void write_calls() {
    for (const auto &[call, begin, end] : timed_calls(trace_)) {
      begins_.emplace(call->id, std::pair(begin, trace_.system_thread(call->thread)));
      to_ << ",\n{\"ph\":\"X\",\"name\":\"" << cushim_entry(call->slot)->symbol << "\"," << process_
          << ",\"tid\":" << trace_.system_thread(call->thread) << ",\"ts\":" << microseconds(begin)
          << ",\"dur\":" << microseconds(end - begin) << "}";
    }
  }

  void write_operation(const Operation &operation) {
    const std::string track = process_ + ",\"tid\":" + std::to_string(kFirstStream + operation.stream);
    to_ << ",\n{\"ph\":\"X\",\"name\":\""
        << (operation.slot ? cushim_entry(*operation.slot)->symbol : "operation") << "\"," << track
        << ",\"ts\":" << microseconds(operation.begin)
        << ",\"dur\":" << microseconds(operation.end - operation.begin)
        << ",\"args\":{\"number\":" << operation.number << "}}";
    const auto call = begins_.find(operation.call);
    if (call == begins_.end()) return;
    const auto &[begin, thread] = call->second;
    const std::string flow =
        "\"name\":\"enqueues\",\"cat\":\"enqueues\",\"id\":" + std::to_string(operation.number);
    to_ << ",\n{\"ph\":\"s\"," << flow << "," << process_ << ",\"tid\":" << thread
        << ",\"ts\":" << microseconds(begin) << "}"
        << ",\n{\"ph\":\"f\",\"bp\":\"e\"," << flow << "," << track
        << ",\"ts\":" << microseconds(operation.begin) << "}";
  }

  const Trace &trace_;
  std::ostream &to_;
  const std::string process_;
  // Virtual time of the begin, and the system's thread, by Call::id.
  std::unordered_map<std::uint64_t, std::pair<std::int64_t, int>> begins_;
};

}  // namespace

void write_chrome(const Trace &trace, std::ostream &to) {
  const std::string process = "\"pid\":" + std::to_string(trace.process());
  to << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{\"ph\":\"M\",\"name\":\"process_name\"," << process
     << ",\"args\":{\"name\":" << json_string(trace.program()) << "}}";
  for (unsigned thread = 1; thread <= trace.threads(); ++thread)
    to << ",\n{\"ph\":\"M\",\"name\":\"thread_name\"," << process
       << ",\"tid\":" << trace.system_thread(thread) << ",\"args\":{\"name\":\"thread " << thread << "\"}}";
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
  for (const MemoryChange &change : usage_of(trace).memory)
    to << ",\n{\"ph\":\"C\",\"name\":\"device memory\"," << process << ",\"ts\":" << microseconds(change.time)
       << ",\"args\":{\"bytes\":" << change.in_use << "}}";
  if (!trace.operations().empty()) VirtualTimeline(trace, to).write();
  to << "\n]}\n";
}

}  // namespace cushim::trace
