// SPDX-License-Identifier: Apache-2.0
// Suggests the nearest valid word for a misspelt one.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace cushim::mock {

// Returns the edit distance: the fewest single-letter edits (insert, delete, replace) that turn one into
// the other.
inline std::size_t edits(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] != to[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// Returns the word with the smallest edit distance; the first of several. The list must not be empty.
inline std::string nearest(std::string_view word, const std::vector<std::string> &valid) {
  const std::string *found = nullptr;
  std::size_t fewest = std::string::npos;
  for (const std::string &one : valid) {
    // The edit distance is at least the difference in length.
    if (std::max(word.size(), one.size()) - std::min(word.size(), one.size()) >= fewest) continue;
    const std::size_t count = edits(word, one);
    if (count >= fewest) continue;
    fewest = count;
    found = &one;
  }
  return *found;
}

}  // namespace cushim::mock
