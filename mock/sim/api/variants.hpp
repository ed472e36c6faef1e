// SPDX-License-Identifier: Apache-2.0
// The ABI variants of an entry point, looked up at compile time by name.
#pragma once

#include <cushim/mock/signature.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace cushim::sim {

// A string literal as a template argument.
template <std::size_t size>
struct Name {
  char text[size];
  constexpr Name(const char (&literal)[size]) {  // implicit: written as a literal
    for (std::size_t i = 0; i < size; ++i) text[i] = literal[i];
  }
  constexpr std::string_view view() const { return {text, size - 1}; }
};

namespace detail {

// The base name of each row, and its base name with the version: cuStreamGetCtx, cuStreamGetCtx_v12050.
struct VariantName {
  std::string_view base, versioned;
};
inline constexpr VariantName variant_names[] = {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) {#base, #base "_v" #version},
#define CUSHIM_ENTRY_UNTYPED CUSHIM_ENTRY
#include <cushim/entry_points.inc>
    // clang-format on
};

template <Name name>
constexpr bool is_variant(const VariantName &row) {
  return row.base == name.view() || row.versioned == name.view();
}

template <Name name>
consteval std::size_t variant_count() {
  std::size_t count = 0;
  for (const VariantName &row : variant_names) count += is_variant<name>(row);
  return count;
}

template <Name name>
consteval auto slots_of_variants() {
  std::array<int, variant_count<name>()> slots{};
  auto next = slots.begin();
  for (int slot = 0; slot < CUSHIM_ENTRY_COUNT; ++slot)
    if (is_variant<name>(variant_names[slot])) *next++ = slot;
  return slots;
}

}  // namespace detail

// The slots of an entry point's ABI variants, per-thread variants included. The name is a base name for all
// versions ("cuStreamGetCtx"), or a base name with one version ("cuStreamGetCtx_v12050").
template <Name name>
inline constexpr auto kVariants = detail::slots_of_variants<name>();

// Returns for each slot the row of a table with the name of its entry point, else Row{}. The row of the base
// name gives way to that of the base name with the version.
template <class Row, std::size_t count>
std::array<Row, CUSHIM_ENTRY_COUNT> rows_by_slot(const Row (&table)[count]) {
  std::array<Row, CUSHIM_ENTRY_COUNT> rows;
  for (std::size_t slot = 0; slot < rows.size(); ++slot)
    for (const std::string_view name :
         {detail::variant_names[slot].base, detail::variant_names[slot].versioned})
      if (const Row *const found = std::ranges::find(table, name, &Row::name); found != std::end(table))
        rows[slot] = *found;
  return rows;
}

// True if the CUDA headers in use declare the types of the entry point in this slot.
template <int slot>
inline constexpr bool kIsTyped = requires {
  typename mock::SignatureOf<slot>::type;
};

}  // namespace cushim::sim
