// SPDX-License-Identifier: Apache-2.0
// How batches of copies and discards access memory.
#pragma once

#include "hazards/entry_point_effects.hpp"

namespace cushim::check {

// A copy with CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL reads its source before the call returns, not in the
// stream: only its destination is an access of the stream.
void copy_batch(CallView &call);
void copy_3d_batch(CallView &call);

// A discard counts as a write: it makes the bytes indeterminate.
void discard_batch(CallView &call);

}  // namespace cushim::check
