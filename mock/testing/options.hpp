// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cushim::testing {

// The options of this run, from the command line and the environment.
struct Options {
  std::string driver = "default";  // --driver, CUSHIM_TEST_DRIVER
  std::string write_answers;       // --write-answers
  std::string compare_answers;     // --compare-answers
  std::string write_calls;         // --write-calls
  std::string summary;             // --summary, CUSHIM_TEST_SUMMARY
  bool lists_tests = false;        // --list-tests
  bool is_labelled_gpu = false;    // CUSHIM_TEST_LABEL=gpu: requires the machine's own driver
  int limit_seconds = 20;          // --limit, CUSHIM_TEST_LIMIT: of one test

  // Options by which one process of a run starts another.
  std::string child;  // --cushim-child: the body to run instead of the tests
  // --cushim-file: the channel of the child; with --cushim-fresh a socket, and in a fresh process its answers
  int child_file = -1;
  int parent = 0;         // --cushim-parent: process ID of the parent
  std::string test;       // --cushim-test: the test that started it
  bool is_fresh = false;  // --cushim-fresh: starts fresh processes, or is one
};

// The text of --help.
extern const char *const help;
bool asks_for_help(int argc, char **argv);

// Parses the arguments that GoogleTest has not consumed. Returns an error message, or an empty string.
std::string parse(int argc, char **argv, Options &options);

// The options of this process.
const Options &options();
void set_options(const Options &options);

}  // namespace cushim::testing
