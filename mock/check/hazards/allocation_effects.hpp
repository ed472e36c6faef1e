// SPDX-License-Identifier: Apache-2.0
// The effects of calls that allocate, map and free memory.
#pragma once

#include "hazards/entry_point_effects.hpp"

namespace cushim::check {

void allocate(CallView &call);
void allocate_rows(CallView &call);
void allocate_managed(CallView &call);
void allocate_pinned(CallView &call);
void register_memory(CallView &call);
void map_memory(CallView &call);
void create_physical(CallView &call);
void open_memory(CallView &call);
void find_global(CallView &call);
void device_address(CallView &call);
void allocate_in_order(CallView &call);
void free_in_order(CallView &call);
void free_memory(CallView &call, VectorClock &host_learns);
void unmap(CallView &call, VectorClock &);
void destroy_array(CallView &call, VectorClock &host_learns);

}  // namespace cushim::check
