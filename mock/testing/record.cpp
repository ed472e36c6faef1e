// SPDX-License-Identifier: Apache-2.0
#include "record.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <regex>
#include <sstream>

#include "machine.hpp"

namespace cushim::testing {

namespace {

// The recorded answer of a driver that crashed: no reference for comparison.
constexpr const char *crashed = "crashed";

std::string suite_of(const std::string &test) {
  std::string suite = test.substr(0, test.find('.'));
  if (const auto slash = suite.find('/'); slash != std::string::npos) suite = suite.substr(slash + 1);
  return suite;
}

const std::string *find(const Answers &answers, const std::string &test, const std::string &key) {
  const auto keys = answers.find(test);
  if (keys == answers.end()) return nullptr;
  for (const auto &[known, value] : keys->second)
    if (known == key) return &value;
  return nullptr;
}

// Returns whether the value differs between runs: an address, a UUID, a PCI address, or a number as large
// as an address.
bool is_of_this_run(const std::string &value) {
  static const std::regex identity(
      "0[xX][0-9a-fA-F]{6,}|[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|"
      "[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(\\.[0-9a-fA-F])?");
  if (std::regex_search(value, identity)) return true;
  const bool is_number =
      !value.empty() && std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number) return false;
  const unsigned long long number = std::strtoull(value.c_str(), nullptr, 10);
  constexpr unsigned long long far = 1ULL << 40;  // exceeds the memory of one device
  return number >= far && number < 0ULL - far;    // but not -1 of any width
}

// Returns a name such as 580.159.04_NVIDIA_H200_x2.txt.
std::string file_name(const Machine &machine) {
  const std::string prefix = "libcuda.so.";
  std::string name = machine.library.starts_with(prefix) && machine.library.size() > prefix.size() + 1
                         ? machine.library.substr(prefix.size())
                         : std::to_string(machine.version);
  name += "_" + (machine.gpus.empty() ? "none" : machine.gpus.front()) + "_x" +
          std::to_string(machine.gpus.size()) + ".txt";
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ' ' || c == '/'; }, '_');
  return name;
}

// Opens an answers file, or the file `name` if the path is a folder, and writes its first lines.
std::ofstream open_answers(const std::string &path, const std::string &name) {
  const bool is_folder = path.ends_with('/') || std::filesystem::is_directory(path);
  std::error_code ignored;  // if this fails, opening the file fails too
  if (is_folder) std::filesystem::create_directories(path, ignored);
  std::ofstream file(is_folder ? path + "/" + name : path);
  file << "# SPDX-License-Identifier: Apache-2.0\n"
       << "# Answers of a CUDA driver, one in each line: test, query, answer.\n";
  return file;
}

void write_lines(std::ostream &out, const Answers &answers) {
  for (const auto &[test, keys] : answers)
    for (const auto &[key, value] : keys) out << line_of(test, key, value) << "\n";
}

}  // namespace

std::string line_of(const std::string &test, const std::string &key, const std::string &value) {
  return test + ": " + key + " = " + value;
}

bool add_line(Answers &answers, const std::string &line) {
  if (line.empty() || line.front() == '#') return true;
  // A key is the text of a call and may contain " = "; a value may not.
  const auto colon = line.find(": ");
  const auto equals = line.rfind(" = ");
  if (colon == std::string::npos || equals == std::string::npos || equals < colon + 2) return false;
  answers[line.substr(0, colon)].emplace_back(line.substr(colon + 2, equals - colon - 2),
                                              line.substr(equals + 3));
  return true;
}

std::string read_answers(const std::string &path, Answers &answers) {
  std::ifstream file(path);
  if (!file) return "cannot read " + path;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (!add_line(answers, line)) return path + ":" + std::to_string(number) + ": not an answer: " + line;
  }
  return answers.empty() ? path + " contains no answer" : "";
}

std::string write_answers(const std::string &path, const Answers &answers) {
  for (const auto &[test, keys] : answers)
    for (const auto &[key, value] : keys)
      if (is_of_this_run(value))
        return "not an answer, but an address, a time or an identifier: " + line_of(test, key, value);
  const Machine machine = describe_machine();
  std::ofstream file = open_answers(path, file_name(machine));
  file << "# driver " << machine.library << ", version " << machine.version << "\n";
  for (const std::string &name : machine.gpus) file << "# gpu " << name << "\n";
  write_lines(file, answers);
  file.close();
  return file ? "" : "cannot write " + path;
}

void write_answers_so_far(const std::string &path, const Answers &answers) {
  std::ofstream file = open_answers(path, "incomplete.txt");
  file << "# incomplete: a test exceeded its time limit\n";
  write_lines(file, answers);
}

Comparison compare(const Answers &expected, const Answers &actual) {
  Comparison result;
  for (const auto &[test, keys] : expected) {
    for (const auto &[key, value] : keys) {
      const std::string *given = find(actual, test, key);
      // If the recorded process crashed, the answers after the crash are unknown.
      if (value == crashed || (given != nullptr && *given == value))
        ++result.same;
      else if (given == nullptr)
        result.missing.push_back({test, key, value, ""});
      else
        result.different.push_back({test, key, value, *given});
    }
  }
  for (const auto &[test, keys] : actual)
    for (const auto &[key, value] : keys)
      if (find(expected, test, key) == nullptr) ++result.not_recorded;
  return result;
}

std::string Comparison::table(const Answers &expected) const {
  struct Row {
    std::size_t recorded = 0, different = 0, missing = 0;
  };
  std::map<std::string, Row> rows;
  Row all;
  for (const auto &[test, keys] : expected) rows[suite_of(test)].recorded += keys.size();
  for (const Line &line : different) ++rows[suite_of(line.test)].different;
  for (const Line &line : missing) ++rows[suite_of(line.test)].missing;

  std::ostringstream text;
  const auto print = [&](const std::string &name, const Row &row) {
    text << std::left << std::setw(28) << name << std::right << std::setw(9) << row.recorded << std::setw(9)
         << row.recorded - row.different - row.missing << std::setw(11) << row.different << std::setw(9)
         << row.missing << "\n";
  };
  text << std::left << std::setw(28) << "answers" << std::right << std::setw(9) << "recorded" << std::setw(9)
       << "same" << std::setw(11) << "different" << std::setw(9) << "missing"
       << "\n";
  for (const auto &[name, row] : rows) {
    print(name, row);
    all.recorded += row.recorded;
    all.different += row.different;
    all.missing += row.missing;
  }
  print("all", all);
  if (not_recorded > 0) text << not_recorded << " answers are not in the file\n";

  constexpr std::size_t shown = 100;
  for (const auto &[title, lines] : {std::pair{"different", &different}, {"missing", &missing}}) {
    if (lines->empty()) continue;
    text << title << ":\n";
    for (std::size_t i = 0; i < std::min(shown, lines->size()); ++i) {
      const Line &line = (*lines)[i];
      text << "  " << line_of(line.test, line.key, line.expected);
      if (!line.actual.empty()) text << "; here " << line.actual;
      text << "\n";
    }
    if (lines->size() > shown) text << "  and " << lines->size() - shown << " more\n";
  }
  return text.str();
}

}  // namespace cushim::testing
