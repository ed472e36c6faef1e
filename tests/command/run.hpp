// SPDX-License-Identifier: Apache-2.0
// Running the cushim command as users do.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cushim::command {

struct Finished {
  int exit = -1;  // the exit code, or minus the signal that ended it
  std::string out;
  std::string error;

  // What was printed, read as JSON; fails the calling test if it is none.
  nlohmann::json json() const;
};

// Runs the command and waits for it. environment ("NAME=value") is added to this process's, without
// the variables that the driver, cushim or the fake driver read.
Finished run(std::vector<std::string> arguments, std::vector<std::string> environment = {});

}  // namespace cushim::command
