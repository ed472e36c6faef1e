// SPDX-License-Identifier: Apache-2.0
#include <cushim/driver.hpp>

#include <algorithm>

#include "json_text.hpp"
#include "usage.hpp"

namespace cushim::trace {
namespace {

// Returns the time of the last event of the recording.
std::int64_t end_of(const Trace &trace) {
  std::int64_t end = 0;
  for (const Call &call : trace.calls()) end = std::max(end, call.end.value_or(call.begin));
  return end;
}

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
       << (call.end ? result_name(call.result) : "unfinished") << "\"}}";
  });
  for (const MemoryChange &change : usage_of(trace).memory)
    to << ",\n{\"ph\":\"C\",\"name\":\"device memory\"," << process << ",\"ts\":" << microseconds(change.time)
       << ",\"args\":{\"bytes\":" << change.in_use << "}}";
  to << "\n]}\n";
}

}  // namespace cushim::trace
