// SPDX-License-Identifier: Apache-2.0
#include "rule_names.hpp"

#include <algorithm>

#include <cushim/error.hpp>

namespace cushim::mock {

namespace {

// Matches a glob pattern with * and ?; other characters match themselves.
bool matches(std::string_view pattern, std::string_view name) {
  std::size_t star = std::string_view::npos, resume = 0, at = 0, in = 0;
  while (in < name.size()) {
    if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == name[in])) {
      ++at, ++in;
    } else if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      resume = in;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

}  // namespace

const std::vector<std::string> &result_names() {
  static const std::vector<std::string> &names = *new std::vector<std::string>([] {
    std::vector<std::string> names;
    for (int code = 1; code <= 999; ++code) {
      std::string_view name = name_of(static_cast<CUresult>(code));
      if (name.empty()) continue;
      if (name.starts_with(kErrorPrefix)) name.remove_prefix(kErrorPrefix.size());
      names.emplace_back(name);
    }
    return names;
  }());
  return names;
}

const std::vector<std::string> &base_names() {
  static const std::vector<std::string> &names = *new std::vector<std::string>([] {
    std::vector<std::string> names;
    for (int slot = 0; slot < cushim_entry_count(); ++slot) names.emplace_back(cushim_entry(slot)->base);
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  }());
  return names;
}

std::vector<int> rows_of(std::string_view pattern) {
  for (const auto name : {&CushimEntryInfo::base, &CushimEntryInfo::symbol}) {
    std::vector<int> rows;
    for (int slot = 0; slot < cushim_entry_count(); ++slot)
      if (matches(pattern, cushim_entry(slot)->*name)) rows.push_back(slot);
    if (!rows.empty()) return rows;
  }
  return {};
}

}  // namespace cushim::mock
