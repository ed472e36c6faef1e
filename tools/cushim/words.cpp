// SPDX-License-Identifier: Apache-2.0
#include "words.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <tuple>

#include "../../mock/words/nearest.hpp"

namespace cushim::command {

std::string wrap(std::string_view text, std::size_t indent, std::size_t width) {
  std::string lines;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find(' '), text.size());
    const bool is_first = column == indent;
    if (!is_first && column + 1 + length > width) {
      lines.append("\n").append(indent, ' ');
      column = indent;
    } else if (!is_first) {
      lines += ' ';
      ++column;
    }
    lines += text.substr(0, length);
    column += length;
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return lines;
}

std::vector<std::string> nearest(std::string_view word, const std::vector<std::string> &candidates,
                                 std::size_t count) {
  using Rank = std::tuple<bool, std::size_t, std::string>;
  std::vector<Rank> ranks;
  for (const std::string &candidate : candidates)
    ranks.emplace_back(word.size() < 3 || candidate.find(word) == std::string::npos,
                       mock::edits(word, candidate), candidate);
  std::sort(ranks.begin(), ranks.end());
  std::vector<std::string> best;
  for (std::size_t i = 0; i < std::min(count, ranks.size()); ++i) best.push_back(std::get<2>(ranks[i]));
  return best;
}

std::string upper_case(std::string_view text) {
  std::string upper(text);
  for (char &letter : upper)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  return upper;
}

bool matches(const std::string &pattern, const std::string &name) {
  const std::string wanted = upper_case(pattern);
  const std::string upper = upper_case(name);
  if (wanted.find_first_of("*?[") != std::string::npos) return fnmatch(wanted.c_str(), upper.c_str(), 0) == 0;
  return upper.find(wanted) != std::string::npos;
}

}  // namespace cushim::command
