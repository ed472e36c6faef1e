// SPDX-License-Identifier: Apache-2.0
// Recordings as text and as JSON.
#include <cushim/driver.hpp>

#include <cstdio>

#include "json_text.hpp"
#include "words.hpp"

namespace cushim::trace {
namespace {

std::string short_time(std::int64_t nanoseconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f us", static_cast<double>(nanoseconds) / 1e3);
  return text;
}

}  // namespace

void write_text(const Trace &trace, std::ostream &to) {
  for_each_call(trace, [&](const Call &call, const std::vector<Word> &words) {
    to << seconds(call.begin) << " [" << call.thread << "] " << cushim_entry(call.slot)->symbol << '(';
    const char *separator = "";
    for (const Word &word : words) {
      to << separator << word.name;
      if (word.out)
        to << " -> " << *word.out;
      else
        to << '=' << word.value;
      separator = ", ";
    }
    to << ") = ";
    if (!call.end) {
      to << "? <unfinished>\n";
      return;
    }
    to << result_name(call.result) << " <" << short_time(*call.end - call.begin);
    if (call.virtual_time) to << ", virtual time " << seconds(*call.virtual_time);
    to << ">\n";
  });
}

void write_json(const Trace &trace, std::ostream &to) {
  for_each_call(trace, [&](const Call &call, const std::vector<Word> &words) {
    to << "{\"begin_ns\":" << call.begin << ",\"thread\":" << call.thread
       << ",\"system_thread\":" << trace.system_thread(call.thread) << ",\"call\":\""
       << cushim_entry(call.slot)->symbol << "\",\"arguments\":" << json_arguments(words);
    if (call.end) {
      to << ",\"duration_ns\":" << *call.end - call.begin << ",\"result\":\"" << result_name(call.result)
         << '"';
      if (call.virtual_time) to << ",\"virtual_time_ns\":" << *call.virtual_time;
    }
    to << "}\n";
  });
}

}  // namespace cushim::trace
