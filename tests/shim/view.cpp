// SPDX-License-Identifier: Apache-2.0
#include "view.h"

#include <cushim/driver.hpp>

namespace {

// clang-format off
constexpr std::size_t offsets[] = {
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) offsetof(CushimDriver, symbol),
#define CUSHIM_ENTRY_UNTYPED CUSHIM_ENTRY
#include <cushim/entry_points.inc>
};
// clang-format on

// Functions that are macros in some headers only.
constexpr int slots[] = {
    static_cast<int>(cushim::entry_of<&cuInit>()),
    static_cast<int>(cushim::entry_of<&cuMemAlloc>()),
    static_cast<int>(cushim::entry_of<&cuDeviceTotalMem>()),
    static_cast<int>(cushim::entry_of<&cuCtxDestroy>()),
    static_cast<int>(cushim::entry_of<&cuEventDestroy>()),
    static_cast<int>(cushim::Entry::cuMemAlloc),
    static_cast<int>(cushim::Entry::cuMemAlloc_v2000),
    static_cast<int>(cushim::Entry::cuMemcpyHtoD_v7000_ptds),
    static_cast<int>(cushim::Entry::cuStreamQuery_v7000_ptsz),
    static_cast<int>(cushim::Entry::cuCtxCreate_v12050),
    static_cast<int>(cushim::Entry::cuGetProcAddress_v12000),
};

View view{VIEW_NAME,
          CUDA_VERSION,
          sizeof(CushimDriver),
          offsets,
          CUSHIM_ENTRY_COUNT,
          slots,
          std::size(slots),
          static_cast<int>(cushim::Entry::cuStreamQuery),
          nullptr};

[[maybe_unused]] const bool enlisted = [] {
  view.next = views;
  views = &view;
  return true;
}();

}  // namespace
