// SPDX-License-Identifier: Apache-2.0
// How copies and memsets access memory, as the table of entry traits describes it.
#pragma once

#include <cushim/detail/entry_traits.hpp>

#include "hazards/entry_point_effects.hpp"

namespace cushim::check {

// Returns whether the arguments of a call tell which memory its work reads and writes.
bool has_accesses(const mock::EntryTraits &traits) noexcept;

// The effect of such a call.
void access_memory(CallView &call);

// Copies without a stream between memory of two contexts. They run after all earlier work of both, and before
// all later work.
void copy_between_contexts(CallView &call);
void copy_3d_between_contexts(CallView &call);

}  // namespace cushim::check
