// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cushim::testing {

// "Suite.Name" to its answers, in the order given.
using Answers = std::map<std::string, std::vector<std::pair<std::string, std::string>>>;

// "Suite.Name" of the test that runs; in a process that a test started, of that test; or empty.
std::string running_test();

// What this process has recorded so far.
Answers recorded();

// A line of an answers file, "Suite.Name: key = value"; and reading such lines. Empty lines and lines that
// begin with # are passed over.
std::string line_of(const std::string &test, const std::string &key, const std::string &value);
bool add_line(Answers &answers, const std::string &line);

// Reads a file. An error in words, or empty.
std::string read_answers(const std::string &path, Answers &answers);
// Writes a file, with what is known of driver and devices at its head; into a folder, under a name made of
// them. An answer that no other run can give (an address, a time, an identity) is an error.
std::string write_answers(const std::string &path, const Answers &answers);

// Takes over the lines that a fresh process wrote.
void take_over(const std::string &lines);

// How a driver's answers compare with recorded ones.
struct Comparison {
  struct Line {
    std::string test, key, expected, actual;  // actual is empty if there was no answer
  };
  int same = 0;
  int not_recorded = 0;  // answers that the file lacks
  std::vector<Line> different;
  std::vector<Line> missing;

  // For people: a row a suite, then what differs.
  std::string table(const Answers &expected) const;
};
Comparison compare(const Answers &expected, const Answers &actual);

}  // namespace cushim::testing
