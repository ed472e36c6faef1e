// SPDX-License-Identifier: Apache-2.0
// Runs the cushim command as a user does.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cushim::command {

struct Finished {
  int exit = -1;  // exit code, or the negative signal number
  std::string out;
  std::string error;

  // Parses `out` as JSON; fails the calling test if it is not JSON.
  nlohmann::json json() const;
};

// Runs the command and waits for it. `environment` ("NAME=value") is added to this process's environment,
// from which the variables of the driver, cushim and the fake driver are removed.
Finished run(std::vector<std::string> arguments, std::vector<std::string> environment = {});

// Runs the command, which must succeed, and returns its output.
std::string output_of(std::vector<std::string> arguments);

}  // namespace cushim::command
