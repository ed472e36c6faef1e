// SPDX-License-Identifier: Apache-2.0
// Line numbers of JSON values, which the parser does not report.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace cushim::sim {

struct JsonLines {
  std::map<std::string, int> lines;  // by JSON pointer of the member or element: "/devices/0/id"
  std::string duplicate;             // JSON pointer of the first duplicate member; empty without one
  int duplicate_line = 0;

  // Returns the line of a member or element, else of its nearest known parent. The first line is 1.
  int line(std::string pointer) const;
};

// Requires that the text is valid JSON.
JsonLines json_lines(std::string_view text);

// Returns the line of the byte at this offset.
int line_of_byte(std::string_view text, std::size_t offset);

}  // namespace cushim::sim
