// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cushim::testing {

// The answers of each test ("Suite.Name"), in recorded order.
using Answers = std::map<std::string, std::vector<std::pair<std::string, std::string>>>;

// Returns "Suite.Name" of the running test; in a process that a test started, of that test; else empty.
std::string running_test();

// Returns what this process has recorded so far.
Answers recorded();

// Write and parse a line of an answers file, "Suite.Name: key = value". Parsing accepts and ignores empty
// lines and lines that begin with #.
std::string line_of(const std::string &test, const std::string &key, const std::string &value);
bool add_line(Answers &answers, const std::string &line);

// Reads a file. Returns an error message, or an empty string.
std::string read_answers(const std::string &path, Answers &answers);
// Writes a file that begins with a description of the driver and the devices. If the path is a folder,
// derives the file name from these. An answer that differs between runs (an address, a time, an identity)
// is an error.
std::string write_answers(const std::string &path, const Answers &answers);
// Writes the answers of a run that is about to be aborted. Makes no driver call, because the driver may hang.
// If the path is a folder, the file is named incomplete.txt.
void write_answers_so_far(const std::string &path, const Answers &answers);

// Adds the lines that a fresh process wrote.
void add_child_answers(const std::string &lines);

// The differences between a driver's answers and recorded ones.
struct Comparison {
  struct Line {
    std::string test, key, expected, actual;  // `actual` is empty if there was no answer
  };
  int same = 0;
  int not_recorded = 0;  // answers that are not in the file
  std::vector<Line> different;
  std::vector<Line> missing;

  // Returns a table for people: one line for each suite, then the differences.
  std::string table(const Answers &expected) const;
};
Comparison compare(const Answers &expected, const Answers &actual);

}  // namespace cushim::testing
