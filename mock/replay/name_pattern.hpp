// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace cushim::replay {

// Returns whether a base name matches a pattern. A * at the end of a pattern matches any text.
inline bool matches_any(std::string_view base, const std::vector<std::string> &patterns) {
  return std::ranges::any_of(patterns, [&](std::string_view pattern) {
    if (pattern.ends_with('*')) return base.starts_with(pattern.substr(0, pattern.size() - 1));
    return base == pattern;
  });
}

}  // namespace cushim::replay
