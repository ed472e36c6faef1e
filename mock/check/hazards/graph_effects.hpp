// SPDX-License-Identifier: Apache-2.0
// The effects of calls about graphs.
#pragma once

#include "hazards/entry_point_effects.hpp"

namespace cushim::check {

void add_node(CallView &call);
void add_any_node(CallView &call);
void destroy_graph(CallView &call, VectorClock &);
void instantiate_graph(CallView &call);
void destroy_executable(CallView &call, VectorClock &);
void update_executable(CallView &call);
void launch_graph(CallView &call);

// Changes of nodes of executable graphs.
void set_kernel_node(CallView &call);
void set_copy_node(CallView &call);
void set_memset_node(CallView &call);
void set_record_node(CallView &call);
void set_wait_node(CallView &call);
void set_any_node(CallView &call);
void enable_node(CallView &call);
// The graph is not checked any more.
void set_child_graph(CallView &call);

}  // namespace cushim::check
