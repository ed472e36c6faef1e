// SPDX-License-Identifier: Apache-2.0
// What a verb of the command hands back to main: text or JSON, and the exit code.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace cushim::command {

// Exit codes of all verbs.
enum class Exit : int {
  good = 0,
  finding = 1,   // something is wrong, or nothing matches
  usage = 2,     // the command line makes no sense
  no_driver = 3  // the verb needs a driver, and there is none
};

using Json = nlohmann::ordered_json;

// The answer of a verb, in both forms that it can be printed in. The text ends with a new line.
struct Outcome {
  Exit exit = Exit::good;
  std::string text;
  Json json;
};

}  // namespace cushim::command
