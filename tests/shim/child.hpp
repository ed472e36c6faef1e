// SPDX-License-Identifier: Apache-2.0
// Starts a program with exactly the environment that a test specifies, and reads its output.
#pragma once

#include <map>
#include <string>
#include <vector>

struct Outcome {
  std::string out;
  int status;  // as from waitpid(): 0 is success

  bool operator==(const Outcome &) const = default;
};

// Returns a successful outcome with these lines.
Outcome lines(const std::vector<std::string> &expected);

void PrintTo(const Outcome &outcome, std::ostream *stream);

using Environment = std::map<std::string, std::string>;

// Runs a program until it exits. Of this process's environment it inherits only the sanitizers' options.
Outcome run(const std::string &program, const std::vector<std::string> &arguments,
            const Environment &environment = {});

// Runs the probe (probe.cpp).
Outcome probe(const std::vector<std::string> &commands, const Environment &environment = {});
