// SPDX-License-Identifier: Apache-2.0
// Calls every entry point once, through the PLT and through the table.
#pragma once

#include <cushim/driver.hpp>

namespace cushim::bench {

// Declares every entry point whose type these headers know under a name of its own, so that the linker makes
// a PLT entry for it. The names that <cuda.h> declares would clash.
extern "C" {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  CUresult linked_##symbol parameters __asm__(#symbol);
#include <cushim/entry_points.inc>
// clang-format on
}

template <class... Arguments>
CUresult call_with_zeros(CUresult (*)(Arguments...), auto &&call) {
  return call(Arguments{}...);
}

__attribute__((noinline)) inline void all_by_plt() {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  call_with_zeros(&linked_##symbol, [](auto... zeros) { return linked_##symbol(zeros...); });
#include <cushim/entry_points.inc>
  // clang-format on
}

__attribute__((noinline)) inline void all_by_table() {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  call_with_zeros(static_cast<CUresult(*) parameters>(nullptr), \
                  [](auto... zeros) { return cushim::driver().symbol(zeros...); });
#include <cushim/entry_points.inc>
  // clang-format on
}

}  // namespace cushim::bench
