// SPDX-License-Identifier: Apache-2.0
// The calls and the operations of streams on one clock, and which operations waits waited for.
#pragma once

#include <cushim/trace/trace.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "usage.hpp"
#include "virtual_time.hpp"

namespace cushim::trace {

// A wait of a call or of a stream for an operation.
struct Wait {
  std::size_t operation = 0;             // index of the operation that was waited for
  std::optional<std::size_t> call{};     // index of the call that waited for it
  std::optional<std::size_t> waiting{};  // index of the operation that waited for it; this or `call` is set
};

struct Timeline {
  std::vector<TimedCall> calls{};                     // in order of their begin
  std::vector<Operation> operations{};                // Operation::stream is an index in streams
  std::vector<std::string> names{};                   // of each operation: the kernel's, or the symbol
  std::vector<std::string> streams{};                 // names
  std::vector<std::optional<std::size_t>> engines{};  // of each operation: index in engine_names
  std::vector<std::string> engine_names{};            // of the copy engines in use
  std::vector<Wait> waits{};                          // in order of the waiting calls
  std::unordered_map<std::uint64_t, std::size_t> call_by_id{};  // index in calls, by Call::id
};

// Returns the operations of a simulated driver in virtual time; without operations if there are none.
Timeline virtual_timeline(const Trace &trace);

// Returns the calls and the work that they enqueued by its GPU time, on the clock of the host; without
// operations if none was measured. Copies have a copy engine for each direction. `usage`: of the trace.
Timeline gpu_timeline(const Trace &trace, const Usage &usage);

}  // namespace cushim::trace
