// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>
#include <cushim/error.hpp>
#include <cushim/testing/answer.hpp>

#include <algorithm>
#include <mutex>
#include <sstream>

#include "calls.hpp"
#include "options.hpp"
#include "record.hpp"

namespace cushim::testing {

namespace {

std::mutex mutex;

Answers &answers() {
  static Answers answers;
  return answers;
}

// Replaces line breaks: each value takes one line.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

void add(const std::string &test, const std::string &wanted, const std::string &value) {
  auto &lines = answers()[test];
  std::string key = wanted;
  const auto taken = [&] {
    return std::any_of(lines.begin(), lines.end(), [&](const auto &line) { return line.first == key; });
  };
  for (int again = 2; taken(); ++again) key = wanted + " #" + std::to_string(again);
  lines.emplace_back(key, value);
}

}  // namespace

std::string running_test() {
  const ::testing::TestInfo *info = ::testing::UnitTest::GetInstance()->current_test_info();
  return info == nullptr ? options().test : std::string(info->test_suite_name()) + "." + info->name();
}

std::string name_of(CUresult code) {
  const std::string_view name = cushim::name_of(code);
  return std::string(name.empty() ? "unknown" : name) + " (" + std::to_string(static_cast<int>(code)) + ")";
}

void detail::record(std::string_view key, std::string value) {
  if (!options().child.empty()) return;  // the parent process records the answers
  const std::string test = running_test();
  if (test.empty()) return;
  const std::string kept_key = one_line(std::string(key));
  value = one_line(std::move(value));
  record_calls(kept_key);
  const std::lock_guard lock(mutex);
  if (options().is_fresh) {
    // Written now, since this process may crash later.
    const std::string line = line_of(test, kept_key, value) + "\n";
    if (write(options().child_file, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
      ADD_FAILURE() << "cushim: cannot write an answer";
    return;
  }
  add(test, kept_key, value);
}

CUresult answer(std::string_view key, CUresult code) {
  detail::record(key, name_of(code));
  return code;
}

bool answer(std::string_view key, bool value) {
  detail::record(key, value ? "true" : "false");
  return value;
}

std::string answer(std::string_view key, std::string value) {
  detail::record(key, value);
  return value;
}

Answers recorded() {
  const std::lock_guard lock(mutex);
  return answers();
}

void add_child_answers(const std::string &lines) {
  Answers theirs;
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) add_line(theirs, line);
  const std::lock_guard lock(mutex);
  for (const auto &[test, keys] : theirs)
    for (const auto &[key, value] : keys) add(test, key, value);
}

}  // namespace cushim::testing
