// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cushim/check/call_stack.hpp>

#include <cstdint>
#include <string>

#include "core/kind.hpp"

namespace cushim::check {

// A handle or an allocation, while it exists and later as a tombstone. The last 1,024 tombstones are kept,
// and calls search them, so the structure is small.
struct TrackedObject {
  std::uint64_t value = 0;
  std::uint64_t bytes = 0;     // size of an allocation; 0 for a handle
  std::uint64_t context = 0;   // context that owns it
  std::uint64_t freed_in = 0;  // the stream of cuMemFreeAsync (stream_of); 0 if not freed in stream order
  CallStack made_at{};
  CallStack ended_at{};
  unsigned count = 1;          // reference count: times opened, retained or returned
  unsigned ended_number = 0;   // sequence number among all destroyed objects
  std::int16_t made_by = 0;    // slot of the entry point
  std::int16_t ended_by = -1;  // slot of the entry point; -1 while alive
  Kind kind = Kind::none;      // none: memory
  bool ended_with_context = false;
  bool is_reported = false;  // reported as leaked

  bool is_alive() const noexcept { return ended_by < 0; }
  bool is_memory() const noexcept { return kind == Kind::none; }
  // Returns "stream" or "device memory".
  const char *noun() const;
  // Returns "event 0x7f10" or "device memory 0x7f00 of 4096 bytes".
  std::string to_text() const;
};

}  // namespace cushim::check
