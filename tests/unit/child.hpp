// SPDX-License-Identifier: Apache-2.0
// Starting a program with exactly the environment that a test says, and reading what it prints.
#pragma once

#include <map>
#include <string>
#include <vector>

struct Outcome {
  std::string out;
  int status;  // as waitpid() gives it: 0 is a good end

  bool operator==(const Outcome &) const = default;
};

// A good end after these lines.
Outcome lines(const std::vector<std::string> &expected);

void PrintTo(const Outcome &outcome, std::ostream *stream);

using Environment = std::map<std::string, std::string>;

// Runs a program to its end. Of this process's own environment it gets only the sanitizers' options.
Outcome run(const std::string &program, const std::vector<std::string> &arguments,
            const Environment &environment = {});

// Runs the probe (probe.cpp).
Outcome probe(const std::vector<std::string> &commands, const Environment &environment = {});
