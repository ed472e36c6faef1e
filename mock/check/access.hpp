// SPDX-License-Identifier: Apache-2.0
// One use of memory by one piece of work.
#pragma once

#include <cuda.h>
#include <cushim/check/place.hpp>
#include <cushim/entry.hpp>

#include "extent.hpp"
#include "order.hpp"

namespace cushim::check {

struct Access {
  enum class Kind : std::uint8_t { read, write, allocation, free };

  Moment moment;
  Place place;
  unsigned long stream = 0;  // its number (stream_names.hpp)
  Entry entry{};             // the call
  Kind kind = Kind::read;

  bool is_change() const noexcept { return kind != Kind::read; }
};

// Where the rows and layers of an array begin, which has no addresses of its own.
inline constexpr std::uint64_t kRowOfArray = std::uint64_t{1} << 24, kLayerOfArray = std::uint64_t{1} << 42;

// Two uses of the same bytes with no order between them, or the second one after the first freed them.
struct Conflict {
  Access first, second;  // as they were submitted
  ByteRange bytes;
  CUarray array = nullptr;  // the bytes are of its rows (kRowOfArray, kLayerOfArray)
};

}  // namespace cushim::check
