// SPDX-License-Identifier: Apache-2.0
// The steps of walks, by what they are about.
#pragma once

#include "walk.hpp"

namespace differential {

Choices context_choices();
Choices stream_choices();
Choices event_choices();
Choices memory_choices();
Choices copy_choices();
Choices memop_choices();

// ---- For walks about one subject ----

Choices life_choices();   // contexts
Choices kind_choices();   // kinds of memory
Choices ipc_choices();    // processes
Choices block_choices();  // blocks
Choices mapping_choices();
Choices mapped_memory_choices();
Choices pool_choices();
Choices pool_memory_choices();
Choices array_choices();
Choices array_copy_choices();
Choices managed_choices();
Choices pointer_choices();  // managed memory
Choices usage_choices();    // the free memory
Choices plain_choices();    // streams that hold no work, for walks about one kind of memory

// ---- For walks about kernels, stream captures and graphs ----

Choices module_choices();
Choices launch_choices();
Choices function_choices();
Choices library_choices();
Choices capture_choices();
Choices captured_work_choices();
Choices new_graph_choices();
Choices graph_choices();
Choices graph_node_choices();
Choices node_parameter_choices();
Choices executable_choices();
Choices graph_memory_choices();
Choices graph_stream_choices();

}  // namespace differential
