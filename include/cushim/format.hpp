// SPDX-License-Identifier: Apache-2.0
// Formats nouns: fmt::format("{}", event) is "event 0x7f10". For fmt::format if <fmt/format.h> was included
// before, and for std::format if the standard library has it.
#pragma once

#include <cushim/detail/reference.hpp>

#if defined(FMT_VERSION)
template <cushim::detail::Noun T>
struct fmt::formatter<T, char> : fmt::formatter<std::string_view, char> {
  template <class Context>
  auto format(const T &noun, Context &context) const {
    return fmt::formatter<std::string_view, char>::format(to_text(noun), context);
  }
};
#endif

#if defined(__cpp_lib_format)
#include <format>

template <cushim::detail::Noun T>
struct std::formatter<T, char> : std::formatter<std::string_view, char> {
  template <class Context>
  auto format(const T &noun, Context &context) const {
    return std::formatter<std::string_view, char>::format(to_text(noun), context);
  }
};
#endif
