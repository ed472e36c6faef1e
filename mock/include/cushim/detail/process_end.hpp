// SPDX-License-Identifier: Apache-2.0
// Process state that the destruction of a machine depends on.
#pragma once

#include <sys/types.h>

namespace cushim::sim {

// Returns the ID of the process that last initialized a machine; 0 if none has. In a child of fork() the
// driver works only if this is the ID of the child.
pid_t initialized_process() noexcept;

}  // namespace cushim::sim
