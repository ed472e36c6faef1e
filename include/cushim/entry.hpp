// SPDX-License-Identifier: Apache-2.0
// Names an entry point: by enumerator, by the function of <cuda.h>, or by base name and version.
#pragma once

#include <cushim/detail/cxx20.hpp>

#include <cushim/table.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cushim {
inline namespace v1 {

// All rows of the list; the value is the slot. Each row has two enumerators. One is the exported symbol:
// since <cuda.h> defines some symbols as macros, Entry::cuMemAlloc means cuMemAlloc_v2, as in a call. The
// other has the base name and the release, and names each ABI under all headers: Entry::cuMemAlloc_v2000 is
// the first ABI, Entry::cuMemcpy_v7000_ptds the per-thread variant.
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

// Returns the name of a function that is a template argument, from the compiler's __PRETTY_FUNCTION__.
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

// Returns the row of a function that <cuda.h> declares: entry_of<&cuMemAlloc>(). Only uses the function's
// name, so the function needs no definition.
template <auto function>
consteval Entry entry_of() {
  constexpr int slot = detail::slot_of<function>();
  static_assert(slot >= 0, "cushim knows no driver entry point of this name");
  return static_cast<Entry>(slot);
}

}  // namespace v1
}  // namespace cushim
