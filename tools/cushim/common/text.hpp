// SPDX-License-Identifier: Apache-2.0
// Text functions shared by the verbs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cushim::command {

// Escapes ("\\n", "\\x1b") everything that could control a terminal or forge a line: control characters,
// bidirectional controls, line separators, and bytes that are not UTF-8. For names from files and environment
// variables.
std::string printable(std::string_view text);

// Breaks text, after printable(), into lines of at most width columns. Indents each line except the first by
// `indent` spaces; the first line is printed after text of that length. Does not break words.
std::string wrap(std::string_view unsafe, std::size_t indent, std::size_t width = 100);

// Returns at most count candidates that are most similar to word, best first. Candidates that contain word
// precede all others.
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string> &candidates,
                                 std::size_t count);

// Returns whether name matches pattern, ignoring case. A pattern with one of *?[ is a glob that must match
// the whole name; any other pattern matches a substring.
bool matches(const std::string &pattern, const std::string &name);

std::string upper_case(std::string_view text);

}  // namespace cushim::command
