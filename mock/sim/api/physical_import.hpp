// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "api/call.hpp"

namespace cushim::sim {

// Opens exported physical memory behind a file descriptor, which stays open. UNKNOWN if the file is not such
// memory; INVALID_VALUE if this process does not see the memory's device.
std::shared_ptr<PhysicalMemory> import_physical(Call &call, int descriptor);

}  // namespace cushim::sim
