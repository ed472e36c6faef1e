// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cushim::replay {

// Returns the first eight of `size` bytes as a number; missing ones are 0.
inline std::uint64_t bits_at(const void *at, std::size_t size) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, std::min(size, sizeof bits));
  return bits;
}

// Returns the bytes as a signed number.
inline std::int64_t signed_bits_at(const void *at, std::size_t size) {
  const std::size_t unused = 64 - 8 * std::min<std::size_t>(size, 8);
  return static_cast<std::int64_t>(bits_at(at, size) << unused) >> unused;
}

}  // namespace cushim::replay
