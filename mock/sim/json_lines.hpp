// SPDX-License-Identifier: Apache-2.0
// On which line of a JSON text something stands. The parser itself does not tell.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace cushim::sim {

struct JsonLines {
  std::map<std::string, int> lines;  // of each member and element, by JSON pointer: "/devices/0/id"
  std::string duplicate;             // the JSON pointer of a member that stands twice, if there is one
  int duplicate_line = 0;

  // Of this member or element, else of the nearest thing around it. The first line is 1.
  int line(std::string pointer) const;
};

// The text is valid JSON.
JsonLines json_lines(std::string_view text);

// The line of the byte at this offset.
int line_of_byte(std::string_view text, std::size_t offset);

}  // namespace cushim::sim
