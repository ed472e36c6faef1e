// SPDX-License-Identifier: Apache-2.0
// Text as JSON, and times as text.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "call_text.hpp"

namespace cushim::trace {

// Returns the text in quotation marks. Bytes that are not ASCII become \u00XX.
inline std::string json_string(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json.append("\\").push_back(c);
    } else if (c >= ' ' && c < 127) {
      json.push_back(c);
    } else {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned char>(c));
      json += code;
    }
  }
  return json + "\"";
}

// Returns a time as a number of seconds.
inline std::string seconds(std::int64_t nanoseconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6f", static_cast<double>(nanoseconds) / 1e9);
  return text;
}

// Returns a time as a number of microseconds, the unit of Chrome's format and of the HTML page.
inline std::string microseconds(std::int64_t nanoseconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", static_cast<double>(nanoseconds) / 1e3);
  return text;
}

// Returns an object with the values as text, by parameter name.
inline std::string json_arguments(const std::vector<Word> &words) {
  std::string json = "{";
  for (const Word &word : words) {
    if (json.size() > 1) json += ',';
    json.append(json_string(word.name)).append(":").append(json_string(word.out ? *word.out : word.value));
  }
  return json + "}";
}

// Returns an array with the texts of notes.
inline std::string json_texts(const std::vector<const Note *> &notes) {
  std::string json = "[";
  for (const Note *const note : notes)
    json.append(json.size() > 1 ? "," : "").append(json_string(note->text));
  return json + "]";
}

}  // namespace cushim::trace
