// SPDX-License-Identifier: Apache-2.0
// Calls many or all entry points of a table.
#pragma once

#include <cushim/driver.hpp>

#include <cstring>

// Returns the contents of a table slot, with the function type erased.
inline void (*cell_of(const CushimDriver &driver, int slot))() {
  const char *start = reinterpret_cast<const char *>(&driver) + 2 * sizeof(void *);
  void (*function)();
  std::memcpy(&function, start + static_cast<std::size_t>(slot) * sizeof function, sizeof function);
  return function;
}

// Calls an entry point of any type with six null pointers. The calling conventions of the supported platforms
// tolerate the wrong number and types of arguments.
#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
inline int
call_slot(const CushimDriver &driver, int slot) {
  const auto function = reinterpret_cast<int (*)(...)>(cell_of(driver, slot));
  return function(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
}

// Calls one entry point through its typed member, with zeros.
template <class... Arguments>
int call_with_zeros(const CushimEntry<CUresult(Arguments...)> &entry) {
  return static_cast<int>(entry(Arguments{}...));
}

// Calls every entry point with zeros, and visit(slot, info, code) after each.
template <class Visit>
void every_entry(const CushimDriver &driver, Visit visit) {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  visit(slot, *cushim_entry(slot), call_with_zeros(driver.symbol));
#define CUSHIM_ENTRY_UNTYPED(slot, symbol, base, version, thread, parameters, arguments) \
  visit(slot, *cushim_entry(slot), call_slot(driver, slot));
#include <cushim/entry_points.inc>
  // clang-format on
}
