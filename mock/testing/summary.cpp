// SPDX-License-Identifier: Apache-2.0
#include "summary.hpp"

#include <cushim/testing/needs.hpp>

#include <cstdio>
#include <sstream>

#include "machine.hpp"

namespace cushim::testing {

namespace {

std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      result += escaped;
    } else {
      result += c;
    }
  }
  return result + '"';
}

constexpr std::string_view mark = "cushim-skip: ";

std::string reason_of(const ::testing::TestResult &result) {
  for (int i = 0; i < result.total_part_count(); ++i) {
    std::string text = result.GetTestPartResult(i).message();
    if (!result.GetTestPartResult(i).skipped()) continue;
    const auto start = text.find(mark);
    if (start == text.npos) return text;
    return text.substr(start + mark.size(), text.find('\n', start) - start - mark.size());
  }
  return "";
}

}  // namespace

void Summary::OnTestEnd(const ::testing::TestInfo &test) {
  const ::testing::TestResult &result = *test.result();
  if (result.Skipped())
    ++skipped_by_[reason_of(result)];
  else
    ++(result.Passed() ? passed_ : failed_);
}

int Summary::skipped() const {
  int all = 0;
  for (const auto &[reason, count] : skipped_by_) all += count;
  return all;
}

std::string Summary::text() const {
  std::ostringstream text;
  text << "executed " << executed() << " (" << passed_ << " passed, " << failed_ << " failed), skipped "
       << skipped();
  for (const auto &[reason, count] : skipped_by_) text << "; " << reason << " (" << count << ")";
  return text.str();
}

std::string Summary::json(const Comparison *comparison) const {
  const Machine machine = describe_machine();
  std::ostringstream text;
  text << "{\n  \"executed\": " << executed() << ",\n  \"passed\": " << passed_
       << ",\n  \"failed\": " << failed_ << ",\n  \"skipped\": {";
  const char *comma = "";
  for (const auto &[reason, count] : skipped_by_) {
    text << comma << quoted(reason) << ": " << count;
    comma = ", ";
  }
  text << "},\n  \"driver\": " << quoted(machine.library) << ",\n  \"version\": " << machine.version
       << ",\n  \"gpus\": [";
  comma = "";
  for (const std::string &gpu : machine.gpus) {
    text << comma << quoted(gpu);
    comma = ", ";
  }
  text << "],\n  \"undeclared\": " << quoted(undeclared());
  if (comparison != nullptr) {
    text << ",\n  \"answers\": {\"same\": " << comparison->same
         << ", \"different\": " << comparison->different.size()
         << ", \"missing\": " << comparison->missing.size()
         << ", \"not_recorded\": " << comparison->not_recorded << "}";
  }
  text << "\n}\n";
  return text.str();
}

}  // namespace cushim::testing
