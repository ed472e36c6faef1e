// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "service.hpp"

namespace cushim::sim {

// Whether a context can be made with them: one way to schedule at most, and no unknown bit.
bool are_context_flags(unsigned flags) noexcept;

}  // namespace cushim::sim
