// SPDX-License-Identifier: Apache-2.0
// Calls that submit several operations to one stream.
#pragma once

#include <array>
#include <vector>

#include "api/call.hpp"

namespace cushim::sim {

// The allocations that an operation uses; null: none.
using Uses = std::array<Allocation *, 2>;

// Adds an operation to a stream and to the users of its allocations. Call::start() must follow.
Work add(Call &call, Stream &stream, Operation &&operation, const Uses &uses);

struct BatchOperation {
  Operation operation;
  Uses uses{};
};

// Adds the operations to the stream, one after the other, and starts them. Returns the last one; null if
// there are none. If memory is exhausted, the operations before that point are made, and std::bad_alloc is
// thrown.
Work submit(Call &call, Stream &stream, std::vector<BatchOperation> &&operations);

// Returns the stream of a call that refuses the legacy stream, by its handle and as the null stream, with
// INVALID_VALUE.
Stream &stream_of_batch(Call &call, CUstream handle);

// Checks the array that assigns `entries` attributes or locations to `count` operations: entry i applies from
// operation first[i] on. INVALID_VALUE unless the array begins with 0, rises, and ends below `count`.
void check_assignment(const std::size_t *first, std::size_t entries, std::size_t count);

// Returns the entry that applies to an operation: `entry`, which applies to the operation before it, or the
// next one.
inline std::size_t entry_of(const std::size_t *first, std::size_t entries, std::size_t operation,
                            std::size_t entry) {
  return entry + 1 < entries && first[entry + 1] == operation ? entry + 1 : entry;
}

}  // namespace cushim::sim
