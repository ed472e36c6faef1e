// SPDX-License-Identifier: Apache-2.0
// The parameters that a stream capture checks before it adds a node: all but the memory. Measured on an H200,
// driver 580.
#pragma once

#include "commands/command.hpp"

namespace cushim::sim {

struct Context;

// Throw INVALID_VALUE, or NOT_SUPPORTED for an operation that the device does not support.
void check_captured(const Context &context, const CUstreamBatchMemOpParams &operation);
void check_captured(const Context &context, const Memset &command);

}  // namespace cushim::sim
