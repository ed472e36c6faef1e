// SPDX-License-Identifier: Apache-2.0
#include "cpp_text.hpp"

#include <cinttypes>
#include <cstdio>
#include <limits>

namespace cushim::replay {

std::string unsigned_literal(std::uint64_t value) {
  if (value <= std::numeric_limits<std::uint32_t>::max()) return std::to_string(value) + "U";
  char text[32];
  std::snprintf(text, sizeof text, "0x%" PRIx64 "ULL", value);
  return text;
}

std::string signed_literal(std::int64_t value) {
  if (value >= -std::numeric_limits<std::int32_t>::max() && value <= std::numeric_limits<std::int32_t>::max())
    return std::to_string(value);
  // The smallest number has no literal.
  return "static_cast<long long>(" + unsigned_literal(static_cast<std::uint64_t>(value)) + ")";
}

const char *unsigned_type_of(std::size_t size) {
  switch (size) {
    case 1:
      return "std::uint8_t";
    case 2:
      return "std::uint16_t";
    case 4:
      return "std::uint32_t";
    default:
      return "std::uint64_t";
  }
}

std::string text_literal(std::string_view bytes) {
  constexpr std::size_t kWidth = 100;
  std::string text = "\"";
  std::size_t column = 1;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    char piece[8];
    if (byte == '\n')
      std::snprintf(piece, sizeof piece, "\\n");
    else if (byte == '"' || byte == '\\' || byte == '?')
      std::snprintf(piece, sizeof piece, "\\%c", byte);
    else if (byte >= ' ' && byte < 127)
      std::snprintf(piece, sizeof piece, "%c", byte);
    else
      std::snprintf(piece, sizeof piece, "\\%03o", byte);
    text += piece;
    column += std::string_view(piece).size();
    if (i + 1 < bytes.size() && (byte == '\n' || column > kWidth)) {
      text += "\"\n      \"";
      column = 1;
    }
  }
  return text + '"';
}

}  // namespace cushim::replay
