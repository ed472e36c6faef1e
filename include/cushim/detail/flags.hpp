// SPDX-License-Identifier: Apache-2.0
// Scoped enumerations with bit operators: declare `constexpr bool is_flags(TheFlags) { return true; }`.
#pragma once

#include <cushim/detail/cxx20.hpp>

#include <type_traits>

namespace cushim {
inline namespace v1 {

namespace detail {

template <class T>
concept Flags = std::is_enum_v<T> && requires(T flags) {
  is_flags(flags);
};

// Returns the flags as the number that the driver takes.
template <Flags T>
constexpr unsigned number(T flags) noexcept {
  return static_cast<unsigned>(flags);
}

}  // namespace detail

template <detail::Flags T>
constexpr T operator|(T left, T right) noexcept {
  return static_cast<T>(detail::number(left) | detail::number(right));
}

// Returns whether all of these flags are set.
template <detail::Flags T>
constexpr bool has(T flags, T these) noexcept {
  return (detail::number(flags) & detail::number(these)) == detail::number(these);
}

}  // namespace v1
}  // namespace cushim
