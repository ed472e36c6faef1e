// SPDX-License-Identifier: Apache-2.0
// The result of a verb: text, JSON, and the exit code.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace cushim::command {

// Exit codes of all verbs.
enum class Exit : int {
  good = 0,
  finding = 1,   // a problem was found, or nothing matches
  usage = 2,     // invalid command line
  no_driver = 3  // the verb needs a driver, and there is none
};

using Json = nlohmann::ordered_json;

// The output of a verb in both formats. The text ends with a newline.
struct Outcome {
  Exit exit = Exit::good;
  std::string text;
  Json json;
};

}  // namespace cushim::command
