// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/service.hpp"

namespace cushim::sim {

// Returns whether the flags are valid for a context: at most one scheduling flag, and no unknown bit.
bool are_context_flags(unsigned flags) noexcept;

// Returns the flags as cuCtxGetFlags reports them: CU_CTX_USER_COREDUMP_ENABLE (0x40) reads back as
// CU_CTX_COREDUMP_ENABLE (0x20). Measured, driver 580.
unsigned flags_read_back(unsigned flags) noexcept;

// Retains the primary context of a device, which creates it or revives it if need be. The device's fault, if
// it has one.
Context &retain_primary(Call &call, Device &device);
// Releases the primary context of a device; the last release destroys it. INVALID_CONTEXT if it is not
// retained. Returns the device's fault.
CUresult release_primary(Call &call, Device &device);

// Creates a stream in a context. Requires valid flags; clamps the priority.
Stream &make_stream(Call &call, Context &context, unsigned flags, int priority);
// Returns the handle of the green context of a stream, 0 if it has none; of the null and the legacy stream
// the one that is current.
std::uintptr_t green_of_stream(Call &call, CUstream handle);

}  // namespace cushim::sim
