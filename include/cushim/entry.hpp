// SPDX-License-Identifier: Apache-2.0
// Naming an entry point: by enumerator, by the function of <cuda.h>, or by name and version.
#pragma once

#include <cushim/detail/cxx20.hpp>

#include <cushim/table.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cushim {
inline namespace v1 {

// Every row of the list. An enumerator bears the exported symbol's name; since <cuda.h> makes some
// of these macros, Entry::cuMemAlloc is written and means cuMemAlloc_v2, like a call does. The second
// name of each row, by release, reaches every ABI under any headers: Entry::cuMemAlloc_v2000 is the
// first ABI, Entry::cuMemcpy_v7000_ptds the per-thread variant. The value is the slot.
enum class Entry : std::uint16_t {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  symbol = slot, base##_v##version##thread = slot,
#define CUSHIM_ENTRY_UNTYPED CUSHIM_ENTRY
#include <cushim/entry_points.inc>
  // clang-format on
};

namespace detail {

inline constexpr std::string_view symbols[] = {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) #symbol,
#define CUSHIM_ENTRY_UNTYPED CUSHIM_ENTRY
#include <cushim/entry_points.inc>
    // clang-format on
};

// The name of a function given as template argument, as the compiler spells it.
template <auto function>
consteval std::string_view function_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  const std::size_t start = text.find("function = ") + std::string_view("function = ").size();
  text = text.substr(start, text.find_first_of(";]", start) - start);
  return text.starts_with('&') ? text.substr(1) : text;
}

template <auto function>
consteval int slot_of() {
  int slot = 0;
  for (std::string_view symbol : symbols) {
    if (symbol == function_name<function>()) return slot;
    ++slot;
  }
  return -1;
}

}  // namespace detail

// The row of a function that <cuda.h> declares: entry_of<&cuMemAlloc>(). The function is only
// named, so nothing needs to define it.
template <auto function>
consteval Entry entry_of() {
  constexpr int slot = detail::slot_of<function>();
  static_assert(slot >= 0, "cushim knows no driver entry point of this name");
  return static_cast<Entry>(slot);
}

}  // namespace v1
}  // namespace cushim
