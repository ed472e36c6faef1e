// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/call.hpp"

namespace cushim::sim {

// Returns the operation that records an event outside of captures. An INTERPROCESS event is recorded for the
// other processes when the operation completes.
Operation record_operation(Call &call, Event &event);

}  // namespace cushim::sim
