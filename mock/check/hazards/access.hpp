// SPDX-License-Identifier: Apache-2.0
// One access to memory by one piece of work.
#pragma once

#include <cuda.h>
#include <cushim/check/call_stack.hpp>
#include <cushim/entry.hpp>

#include "hazards/extent.hpp"
#include "hazards/order.hpp"

namespace cushim::check {

struct Access {
  enum class Kind : std::uint8_t { read, write, allocation, free };

  Epoch epoch;
  CallStack call_stack;
  unsigned long stream = 0;  // its stream number (stream_names.hpp)
  Entry entry{};             // the call that submitted it
  Kind kind = Kind::read;

  bool is_change() const noexcept { return kind != Kind::read; }
};

// Pseudo-addresses of the rows and layers of an array, which has no addresses of its own.
inline constexpr std::uint64_t kRowOfArray = std::uint64_t{1} << 24, kLayerOfArray = std::uint64_t{1} << 42;

// Two accesses to the same bytes with no order between them, or an access after the first one freed the
// bytes.
struct Conflict {
  Access first, second;  // in the order of submission
  ByteRange bytes;
  // if not null, the bytes are pseudo-addresses in this array (kRowOfArray, kLayerOfArray)
  CUarray array = nullptr;
};

}  // namespace cushim::check
