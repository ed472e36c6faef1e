// SPDX-License-Identifier: Apache-2.0
#include "list.hpp"

#include <gtest/gtest.h>
#include <cushim/testing/needs.hpp>

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

namespace cushim::testing {

namespace {

using Counts = std::map<std::string, int, std::less<>>;

// By class: "Frames_Arrive_Test" for a test's body, "Frames" for a fixture.
std::map<std::string, Counts, std::less<>> &needs_of_classes() {
  static std::map<std::string, Counts, std::less<>> needs;
  return needs;
}

// Returns the class of "(anonymous namespace)::Frames_Arrive_Test<int>::TestBody()::(lambda)".
std::string class_of(std::string_view function) {
  for (const std::string_view member : {"::TestBody(", "::SetUp("}) {
    const auto end = function.find(member);
    if (end == function.npos) continue;
    std::string_view before = function.substr(0, end);
    if (before.ends_with('>')) before = before.substr(0, before.find('<'));
    const auto is_of_name = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    };
    const auto begin = std::find_if_not(before.rbegin(), before.rend(), is_of_name).base();
    return {begin, before.end()};
  }
  return "";
}

void add(Counts &counts, const Counts &more) {
  for (const auto &[name, count] : more) counts[name] = std::max(counts[name], count);
}

// Splits a name: "Two/Frames" and "Frames/0" are instances of Frames.
std::vector<std::string> parts(std::string_view name) {
  std::vector<std::string> parts;
  for (;;) {
    const auto slash = name.find('/');
    parts.emplace_back(name.substr(0, slash));
    if (slash == name.npos) return parts;
    name.remove_prefix(slash + 1);
  }
}

Counts needs_of(const ::testing::TestInfo &test) {
  Counts counts;
  const auto add_those_of = [&](const std::string &its_class) {
    const auto known = needs_of_classes().find(its_class);
    if (known != needs_of_classes().end()) add(counts, known->second);
  };
  const std::string name = parts(test.name()).front();
  for (const std::string &suite : parts(test.test_suite_name())) {
    add_those_of(suite);
    add_those_of(suite + "_" + name + "_Test");
  }
  return counts;
}

}  // namespace

bool detail::declare(const Needs &needs) {
  Counts counts;
  for (const Need &need : needs.all) counts[std::string(need.name)] = need.count;
  add(needs_of_classes()[class_of(needs.function)], counts);
  return true;
}

std::string list_of_tests() {
  std::string text;
  const ::testing::UnitTest &all = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const ::testing::TestSuite &suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const ::testing::TestInfo &test = *suite.GetTestInfo(j);
      text += std::string(test.test_suite_name()) + "." + test.name();
      char separator = ' ';
      for (const auto &[name, count] : needs_of(test)) {
        text += separator + name + (name == "gpus" ? ":" + std::to_string(count) : "");
        separator = ',';
      }
      text += '\n';
    }
  }
  return text;
}

}  // namespace cushim::testing
