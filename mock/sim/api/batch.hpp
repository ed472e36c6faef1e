// SPDX-License-Identifier: Apache-2.0
// Calls that submit several operations to one stream. Their checks and effects are measured on an H200,
// driver 580.159.
#pragma once

#include <vector>

#include "commands/submit.hpp"

namespace cushim::sim {

// Adds the commands to the stream, one after the other, and starts them. Returns the last one; null if
// there are none. If memory is exhausted, the operations before that point are made, and std::bad_alloc is
// thrown.
Work submit(Call &call, Stream &stream, std::vector<PreparedCommand> &&commands);

// Returns whether a handle is null and so names the legacy stream.
inline bool is_null_stream(const Call &call, CUstream handle) {
  return handle == nullptr && !call.per_thread;
}

// Throws the error that captures cause, or a missing context if the stream is that of the thread. They come
// before errors of other arguments.
void require_capture_allows(Call &call, CUstream handle);

// Returns the stream of a call that refuses the legacy stream, by its handle and as the null stream, with
// INVALID_VALUE, also without a context.
Stream &stream_of_batch(Call &call, CUstream handle);

// Checks the array that assigns `entries` attributes or locations to `count` operations: entry i applies from
// operation first[i] on. INVALID_VALUE unless the array begins with 0 and all values are below `count`, and,
// if `order` is rising, each exceeds the one before it.
enum class IndexOrder { rising, any };
void check_assignment(const std::size_t *first, std::size_t entries, std::size_t count, IndexOrder order);

// Returns the entry that applies to an operation: `entry`, which applies to the operation before it, or the
// next one. The first entry applies to the first operation.
inline std::size_t entry_of(const std::size_t *first, std::size_t entries, std::size_t operation,
                            std::size_t entry) {
  return operation != 0 && entry + 1 < entries && first[entry + 1] == operation ? entry + 1 : entry;
}

}  // namespace cushim::sim
