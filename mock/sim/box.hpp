// SPDX-License-Identifier: Apache-2.0
// Copies of boxes: slices of rows of bytes, in linear memory and in arrays.
#pragma once

#include "place.hpp"

namespace cushim::sim {

struct Box {
  std::size_t width = 0;  // bytes
  std::size_t rows = 1, slices = 1;

  std::size_t bytes() const noexcept { return width * rows * slices; }
};

// Where a box begins, in bytes, rows and slices.
struct Corner {
  std::size_t x = 0, y = 0, z = 0;
};

// One end of a copy.
struct BoxEnd {
  Place place;                     // its address is that of the box's first byte
  std::size_t row = 0, slice = 0;  // bytes from one to the next
};

// In linear memory with rows `pitch` bytes and slices `height` rows apart; 0 stands for no gap behind the
// box. INVALID_VALUE where the box does not fit in between, or leaves the memory.
enum class Reach { device, any };  // as device_place() or any_place() takes addresses
BoxEnd linear_end(Call &call, Reach reach, CUdeviceptr address, std::size_t pitch, std::size_t height,
                  const Corner &corner, const Box &box);

// In an array. INVALID_VALUE for none, and where the box leaves it.
BoxEnd array_end(Call &call, CUarray array, const Corner &corner, const Box &box);

void copy_box(Call &call, Stream &stream, const BoxEnd &to, const BoxEnd &from, const Box &box, Sync sync);

}  // namespace cushim::sim
