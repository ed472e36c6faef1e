// SPDX-License-Identifier: Apache-2.0
// Words and lines: what the verbs share in reading what users write and in printing prose.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cushim::command {

// Breaks text into lines of at most width columns, each after the first indented by as many spaces;
// the first is to be printed behind something of that length. A longer word stays whole.
std::string wrap(std::string_view text, std::size_t indent, std::size_t width = 100);

// The at most count candidates that are most like word, best first. Those that contain it come before
// all others.
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string> &candidates,
                                 std::size_t count);

// Whether name matches pattern, upper and lower case alike: a glob if it has one of *?[, which must
// match all of name, else any part of name.
bool matches(const std::string &pattern, const std::string &name);

std::string upper_case(std::string_view text);

}  // namespace cushim::command
