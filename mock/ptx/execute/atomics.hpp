// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cushim::ptx::execute {

// The number of the operation exch.
inline constexpr std::uint32_t atomic_exchange = 8;

// Returns the number of a type of atomic operations; empty if there are none of that type.
std::optional<std::uint32_t> atomic_kind(std::string_view type);

// Returns the size in bytes of a type, by number.
unsigned atomic_bytes(std::uint32_t type);

// Updates one element and returns its old value. Operations: add, and, or, xor, min, max, inc, dec, exch,
// cas, from 0 on. c: the new value of cas.
std::uint64_t update_atomically(std::byte *at, std::uint32_t operation, std::uint32_t type, std::uint64_t b,
                                std::uint64_t c, bool in_global);

}  // namespace cushim::ptx::execute
