// SPDX-License-Identifier: Apache-2.0
#include "../calls.hpp"
#include "../structures.hpp"

namespace arguments {

void add_event_calls(Calls &calls) {
  CALL(cuEventCreate, o.made<CUevent>(), 0U);
  CALL(cuEventDestroy, o.event()).destroys();
  CALL(cuEventRecord, o.event(), o.stream());
  CALL(cuEventRecordWithFlags, o.event(), o.stream(), 0U);
  CALL(cuEventQuery, o.event());
  CALL_AS("new", cuEventQuery, o.other_event());
  CALL(cuEventSynchronize, o.event());
  CALL(cuEventElapsedTime, o.hidden<float>(), o.event(), o.event());
  CALL_AS("new", cuEventElapsedTime, o.hidden<float>(), o.event(), o.other_event());
  CALL_AS("untimed", cuEventElapsedTime, o.hidden<float>(), o.event(), o.ipc_event());
}

}  // namespace arguments
