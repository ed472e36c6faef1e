// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/service.hpp"

namespace cushim::sim {

// Returns whether the flags are valid for a context: at most one scheduling flag, and no unknown bit.
bool are_context_flags(unsigned flags) noexcept;

// Returns the flags as cuCtxGetFlags reports them: CU_CTX_USER_COREDUMP_ENABLE (0x40) reads back as
// CU_CTX_COREDUMP_ENABLE (0x20). Measured, driver 580.
unsigned flags_read_back(unsigned flags) noexcept;

}  // namespace cushim::sim
