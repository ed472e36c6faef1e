// SPDX-License-Identifier: Apache-2.0
// Literals of C++.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cushim::replay {

// Returns "5U", or "0x12345678ULL" for numbers that look like bits.
std::string unsigned_literal(std::uint64_t value);
std::string signed_literal(std::int64_t value);
// Returns "std::uint32_t" for 4 bytes.
const char *unsigned_type_of(std::size_t size);
// Returns an address as a void *.
inline std::string as_pointer(const std::string &address) {
  return "reinterpret_cast<void *>(" + address + ")";
}
// Returns the bytes as a string literal, in lines. It has a NUL at its end that is not one of the bytes.
std::string text_literal(std::string_view bytes);

}  // namespace cushim::replay
