// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "service.hpp"

namespace cushim::sim {

// Whether a context can be made with them: one way to schedule at most, and no unknown bit.
bool are_context_flags(unsigned flags) noexcept;

// What cuCtxGetFlags answers of them: a user's coredump (0x40) has become a coredump (0x20). Measured,
// driver 580.
unsigned flags_read_back(unsigned flags) noexcept;

}  // namespace cushim::sim
