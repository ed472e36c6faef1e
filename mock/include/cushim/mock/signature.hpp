// SPDX-License-Identifier: Apache-2.0
// The function type of each entry point, by its slot in the entry point list.
#pragma once

#include <cushim/driver.hpp>

namespace cushim::mock {

template <int slot>
struct SignatureOf;  // undefined for an entry point whose types the CUDA headers lack

// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  template <> struct SignatureOf<slot> { using type = CUresult parameters; };
#include <cushim/entry_points.inc>
// clang-format on

// Signature<Entry::cuMemAlloc> is CUresult(CUdeviceptr *, size_t).
template <Entry entry>
using Signature = typename SignatureOf<static_cast<int>(entry)>::type;

}  // namespace cushim::mock
