// SPDX-License-Identifier: Apache-2.0
// Formats nouns: fmt::format("{}", event) is "event 0x7f10". For fmt::format if <fmt/format.h> was included
// before, and for std::format if the standard library has it.
#pragma once

#include <cushim/detail/reference.hpp>

namespace cushim {
inline namespace v1 {
namespace detail {

// Formats a noun as its text. Base is the formatter of std::string_view.
template <class Base>
struct NounFormatter : Base {
  template <Noun T, class Context>
  auto format(const T &noun, Context &context) const {
    return Base::format(to_text(noun), context);
  }
};

}  // namespace detail
}  // namespace v1
}  // namespace cushim

#if defined(FMT_VERSION)
template <cushim::detail::Noun T>
struct fmt::formatter<T, char> : cushim::detail::NounFormatter<fmt::formatter<std::string_view, char>> {};
#endif

#if defined(__cpp_lib_format)
#include <format>

template <cushim::detail::Noun T>
struct std::formatter<T, char> : cushim::detail::NounFormatter<std::formatter<std::string_view, char>> {};
#endif
