// SPDX-License-Identifier: Apache-2.0
// The source location of a call: std::source_location, or a replacement for compilers without it.
#pragma once

#include <cushim/detail/cxx20.hpp>

#include <cstdint>
#include <version>

#if defined(__cpp_lib_source_location)
#include <source_location>
#endif

namespace cushim {
inline namespace v1 {

// Every function that can throw has a Where as its last parameter, with the call site as default argument.
#if defined(__cpp_lib_source_location)
using Where = std::source_location;
#else
class Where {  // Clang 14; has no function name, so that it is passed in registers
 public:
  constexpr Where() noexcept = default;
  // Returns the call site of the function that has this as its default argument.
  static constexpr Where current(const char *file = __builtin_FILE(),
                                 std::uint_least32_t line = __builtin_LINE()) noexcept {
    Where where;
    where.file_ = file;
    where.line_ = line;
    return where;
  }
  constexpr std::uint_least32_t line() const noexcept { return line_; }
  constexpr std::uint_least32_t column() const noexcept { return 0; }
  constexpr const char *file_name() const noexcept { return file_; }
  constexpr const char *function_name() const noexcept { return ""; }

 private:
  const char *file_ = "";
  std::uint_least32_t line_ = 0;
};
#endif

}  // namespace v1
}  // namespace cushim
