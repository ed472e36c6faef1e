// SPDX-License-Identifier: Apache-2.0
// A verb of the command, and the options and output that verbs share. Each verb's header declares a function
// that adds its subcommand; main.cpp lists these functions.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "common/outcome.hpp"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace cushim::command {

struct Verb {
  CLI::App *subcommand = nullptr;  // owned by the application that it was added to
  std::function<int()> run;        // runs the verb and prints its result; returns the exit code
};

// Returns a transformation of option values for CLI11. It replaces a text by the number that parse() returns;
// if parse() returns nullopt, the error says that the text is not `what`. `name` stands for the value in the
// help text.
CLI::Validator parsed_by(std::optional<int> (*parse)(std::string_view), const std::string &name,
                         const std::string &what);

// Accepts a CUDA release, "12.4", and converts it to a version, 12040.
CLI::Validator release_value();

void add_json_flag(CLI::App &verb, bool &as_json);

void add_library_option(CLI::App &verb, std::string &library);

// Converts an option's value for a parameter whose default is null.
const char *null_if_empty(const std::string &text);

// Prints the result on standard output, a usage error as text on standard error. Returns the exit code.
int print(const Outcome &outcome, bool as_json);

// Prints the text of a verb whose output another program reads: errors go to standard error. Returns the exit
// code.
int print_data(const Outcome &outcome);

}  // namespace cushim::command
