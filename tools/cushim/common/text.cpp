// SPDX-License-Identifier: Apache-2.0
#include "common/text.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <tuple>

#include <cushim/detail/nearest.hpp>

namespace cushim::command {
namespace {

// The first character of a text.
struct Character {
  char32_t code = 0;
  std::size_t size = 0;  // in bytes; 0 if not valid UTF-8
};

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {};
  char32_t code = lead & (0x7f >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool is_overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const bool is_invalid = (code >= 0xd800 && code < 0xe000) || code > 0x10ffff;
  if (is_overlong || is_invalid) return {};
  return {code, size};
}

bool is_harmless(const Character &character) {
  const char32_t code = character.code;
  const bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool is_direction = code == 0x61c || code == 0x200e || code == 0x200f ||
                            (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  const bool is_separator = code == 0x2028 || code == 0x2029;
  return character.size != 0 && !is_control && !is_direction && !is_separator;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::size_t size = std::max<std::size_t>(character.size, 1);
    if (is_harmless(character))
      result += text.substr(0, size);
    else if (text[0] == '\n')
      result += "\\n";
    else
      for (const char each : text.substr(0, size))
        result += fmt::format("\\x{:02x}", static_cast<unsigned char>(each));
    text.remove_prefix(size);
  }
  return result;
}

std::string wrap(std::string_view unsafe, std::size_t indent, std::size_t width) {
  const std::string safe = printable(unsafe);
  std::string_view text = safe;
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
