// SPDX-License-Identifier: Apache-2.0
// Traces as JSON.
#include <cushim/driver.hpp>

#include <ostream>

#include "call_text.hpp"
#include "json_text.hpp"

namespace cushim::trace {

void write_json(const Trace &trace, std::ostream &to) {
  const NotesOfCalls notes(trace);
  for_each_call(trace, [&](const Call &call, const std::vector<Word> &words) {
    to << "{\"begin_ns\":" << call.begin << ",\"thread\":" << call.thread
       << ",\"system_thread\":" << trace.system_thread(call.thread) << ",\"call\":\""
       << cushim_entry(call.slot)->symbol << "\",\"arguments\":" << json_arguments(words);
    if (call.end) {
      to << ",\"duration_ns\":" << *call.end - call.begin << ",\"result\":\"" << result_name(call.result)
         << '"';
      if (call.gpu)
        to << ",\"gpu_begin_ns\":" << call.gpu->begin
           << ",\"gpu_duration_ns\":" << call.gpu->end - call.gpu->begin;
      if (call.virtual_time) to << ",\"virtual_time_ns\":" << *call.virtual_time;
    }
    if (call.call_stack != nullptr) to << ",\"call_stack\":" << json_string(*call.call_stack);
    if (!notes.of(call).empty()) to << ",\"notes\":" << json_texts(notes.of(call));
    to << "}\n";
  });
  for (const Note *const note : notes.others())
    to << "{\"time_ns\":" << note->time << ",\"thread\":" << note->thread
       << ",\"note\":" << json_string(note->text) << "}\n";
}

}  // namespace cushim::trace
