// SPDX-License-Identifier: Apache-2.0
// The bytes that a call touches: a range, or the rows of a 2D or 3D box with gaps between them.
#pragma once

#include <cstdint>
#include <optional>

namespace cushim::check {

struct ByteRange {
  std::uint64_t begin = 0, end = 0;
  bool is_empty() const noexcept { return begin >= end; }
};

struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t width = 0;            // bytes of a row
  std::uint64_t rows = 1, pitch = 0;  // pitch: bytes from one row to the next
  // layer_pitch: bytes from the first row of a layer to that of the next
  std::uint64_t layers = 1, layer_pitch = 0;

  static Extent of(std::uint64_t begin, std::uint64_t size) noexcept {
    return {.begin = begin, .width = size};
  }
  // Returns the same bytes with fewer rows and layers if there are no gaps between them.
  Extent simplified() const noexcept;

  bool is_empty() const noexcept { return width == 0 || rows == 0 || layers == 0; }
  bool is_flat() const noexcept { return rows == 1 && layers == 1; }
  std::uint64_t end() const noexcept {
    return begin + (layers - 1) * layer_pitch + (rows - 1) * pitch + width;
  }
  bool operator==(const Extent &) const = default;
};

// Returns the first common bytes, within one row.
std::optional<ByteRange> overlap(const Extent &one, const Extent &other) noexcept;

}  // namespace cushim::check
