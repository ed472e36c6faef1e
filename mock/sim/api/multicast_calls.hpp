// SPDX-License-Identifier: Apache-2.0
// Multicast objects in calls for physical memory.
#pragma once

#include "api/call.hpp"
#include "memory/multicast.hpp"

namespace cushim::sim {

// Waits until all devices of the team have been added, by any process. Reports a wait that takes longer than
// the patience of the machine. The machine's lock is released meanwhile.
void wait_for_team(Call &call, const Multicast &multicast);

// The same before the object is mapped. The mapping then counts as memory of a device: the last one that was
// added with this handle, else the first of the team that this process sees; INVALID_VALUE if it sees none.
void prepare_mapping(Call &call, PhysicalMemory &object);

// Returns a new file descriptor, which the caller closes; -1 on failure, with the reason in errno.
// INVALID_VALUE for an object that cannot be exported.
int export_multicast(const Multicast &multicast);

// Opens an exported object behind a file descriptor, which stays open. Returns null for another file.
std::shared_ptr<PhysicalMemory> import_multicast(Call &call, int descriptor);

}  // namespace cushim::sim
