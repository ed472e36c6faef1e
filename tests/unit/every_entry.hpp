// SPDX-License-Identifier: Apache-2.0
// Calling entries of a table in bulk.
#pragma once

#include <cushim/driver.hpp>

#include <cstring>

// The cell of a slot, whatever its entry's type.
inline void (*cell_of(const CushimDriver &driver, int slot))() {
  const char *start = reinterpret_cast<const char *>(&driver) + 2 * sizeof(void *);
  void (*function)();
  std::memcpy(&function, start + static_cast<std::size_t>(slot) * sizeof function, sizeof function);
  return function;
}

// Calls an entry with null pointers whatever its type, which C functions of the platforms that cushim
// supports do not mind.
#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
inline int
call_slot(const CushimDriver &driver, int slot) {
  const auto function = reinterpret_cast<int (*)(...)>(cell_of(driver, slot));
  return function(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
}

// Calls one entry through its typed member, with zeros.
template <class... Arguments>
int call_with_zeros(const CushimEntry<CUresult(Arguments...)> &entry) {
  return static_cast<int>(entry(Arguments{}...));
}

// Calls every entry with zeros and visit(slot, info, code) after each.
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
