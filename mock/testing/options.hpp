// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cushim::testing {

// What the command line and the environment ask of this run.
struct Options {
  std::string driver = "default";  // --driver, CUSHIM_TEST_DRIVER
  std::string write_answers;       // --write-answers
  std::string compare_answers;     // --compare-answers
  std::string write_calls;         // --write-calls
  std::string summary;             // --summary, CUSHIM_TEST_SUMMARY
  bool lists_tests = false;        // --list-tests
  bool is_labelled_gpu = false;    // CUSHIM_TEST_LABEL=gpu: what another driver answers has shown nothing
  int limit_seconds = 20;          // --limit, CUSHIM_TEST_LIMIT: of one test

  // How one process of a run starts another.
  std::string child;    // --cushim-child: the body to run instead of the tests
  int child_file = -1;  // --cushim-file: its channel, or where a fresh process writes its answers
  int parent = 0;       // --cushim-parent: its process id
  std::string test;     // --cushim-test: what started it
  bool is_fresh = false;
};

// What --help prints.
extern const char *const help;
bool asks_for_help(int argc, char **argv);

// Reads what GoogleTest has left over. An error in words, or empty.
std::string parse(int argc, char **argv, Options &options);

// The options of this process.
const Options &options();
void set_options(const Options &options);

}  // namespace cushim::testing
