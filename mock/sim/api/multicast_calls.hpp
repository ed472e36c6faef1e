// SPDX-License-Identifier: Apache-2.0
// Multicast objects in calls for physical memory.
#pragma once

#include "api/call.hpp"
#include "memory/multicast.hpp"

namespace cushim::sim {

// NOT_SUPPORTED, with a report, unless all devices of the team have been added. The documented behaviour of
// the calls that need all of them is to wait.
void require_complete(const Call &call, const Multicast &multicast);

// Implements cuMemExportToShareableHandle: INVALID_VALUE, or NOT_SUPPORTED, with a report, for an object that
// can be exported.
CUresult export_multicast(const Call &call, const Multicast &multicast);

}  // namespace cushim::sim
