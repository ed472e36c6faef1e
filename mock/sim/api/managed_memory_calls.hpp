// SPDX-License-Identifier: Apache-2.0
// Checks of calls that take ranges of managed memory and locations.
#pragma once

#include "api/call.hpp"

namespace cushim::sim {

// Returns the managed allocation that contains the range. INVALID_VALUE if there is none, or for no bytes.
Allocation &managed_range(Call &call, CUdeviceptr address, std::size_t size);

// Returns a location as range attributes return it. `no_device` for a device that does not exist,
// INVALID_VALUE for another type or host node. Measured on an H200, driver 580.159.
PageLocation page_location(Call &call, const CUmemLocation &location, CUresult no_device);

// Sets the location of the last prefetch for the pages of a range.
void set_prefetched(Allocation &allocation, CUdeviceptr address, std::size_t size, const PageLocation &to);

}  // namespace cushim::sim
