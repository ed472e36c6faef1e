// SPDX-License-Identifier: Apache-2.0
// Traces as text.
#include <cushim/driver.hpp>

#include <cstdio>
#include <sstream>

#include "call_text.hpp"
#include "json_text.hpp"

namespace cushim::trace {
namespace {

std::string short_time(std::int64_t nanoseconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f us", static_cast<double>(nanoseconds) / 1e3);
  return text;
}

// Writes the lines of a call stack.
void write_lines(const std::string &call_stack, std::ostream &to) {
  std::istringstream lines(call_stack);
  for (std::string line; std::getline(lines, line);) to << line << '\n';
}

// Writes the lines of a note, each behind "    ! ".
void write_note(const Note &note, std::ostream &to) {
  std::istringstream lines(note.text);
  for (std::string line; std::getline(lines, line);) to << "    ! " << line << '\n';
}

}  // namespace

void write_text(const Trace &trace, std::ostream &to) {
  const NotesOfCalls notes(trace);
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
    if (call.end) {
      to << result_name(call.result) << " <" << short_time(*call.end - call.begin);
      if (call.gpu) to << ", GPU " << short_time(call.gpu->end - call.gpu->begin);
      if (call.virtual_time) to << ", virtual time " << seconds(*call.virtual_time);
      to << ">\n";
    } else {
      to << "? <unfinished>\n";
    }
    if (call.call_stack != nullptr) write_lines(*call.call_stack, to);
    for (const Note *const note : notes.of(call)) write_note(*note, to);
  });
  for (const Note *const note : notes.others()) {
    to << seconds(note->time) << " [" << note->thread << "]\n";
    write_note(*note, to);
  }
}

}  // namespace cushim::trace
