// SPDX-License-Identifier: Apache-2.0
// All ABIs of all entry points, under names that no macro of <cuda.h> changes: base name, release of the ABI
// and per-thread suffix, as in PFN_<base>_v<release><suffix>.
//
//   cushim::exact::cuStreamWriteValue32_v8000(driver)(stream, address, 1, flags);   the first ABI
//   cushim::exact::cuStreamWriteValue32_v11070_ptsz(driver)(...);
//
// A call reaches the same symbol under all headers that have its types.
#pragma once

#include <cushim/driver.hpp>

namespace cushim {
inline namespace v1 {
namespace exact {

// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  inline const auto &base##_v##version##thread(const Driver &driver) noexcept { return driver.symbol; }
#define CUSHIM_ENTRY_UNTYPED CUSHIM_ENTRY
#include <cushim/entry_points.inc>
// clang-format on

}  // namespace exact
}  // namespace v1
}  // namespace cushim
