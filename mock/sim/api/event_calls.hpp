// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/call.hpp"

namespace cushim::sim {

// Returns the operation that records an event outside of captures. An INTERPROCESS event is recorded for the
// other processes when the operation completes.
Operation record_operation(Call &call, Event &event);

// Records an event in a stream that does not capture. The event is of the stream's context.
void record_outside_of_captures(Call &call, Event &event, Stream &stream);

}  // namespace cushim::sim
