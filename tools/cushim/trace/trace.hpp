// SPDX-License-Identifier: Apache-2.0
// cushim trace: writes a trace of driver calls as text.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "common/verb.hpp"

namespace cushim::command {

// The text formats of a trace.
std::vector<std::string> trace_formats();

// Returns the format that the end of a file's name means: .txt text, .jsonl JSON lines, .json and .html a
// timeline; nullopt for any other.
std::optional<std::string> trace_format_of(std::string_view file);

// Writes a trace in one of trace_formats(). Throws std::runtime_error if it cannot be read.
void write_trace(const std::string &file, const std::string &format, std::ostream &to);

// Adds the verb trace.
Verb add_trace(CLI::App &app);

}  // namespace cushim::command
