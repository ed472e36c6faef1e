// SPDX-License-Identifier: Apache-2.0
// CUDA arrays. A device's byte layout is opaque; here the bytes are stored row by row, in an allocation as
// large as the device's would be.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "objects/handle.hpp"

namespace cushim::sim {

struct Allocation;
class ArrayTiles;
struct Context;
struct Device;
struct MipmappedArray;
struct MipTail;

// The unit of a format: one element, or a compressed block of 4 by 4 elements.
struct Element {
  std::size_t bytes = 0;  // 0: the format does not exist, or not with this number of channels
  // Elements per side of a block.
  std::size_t side = 1;
};
Element element_of(CUarray_format format, unsigned channels) noexcept;

// The size of an array in bytes, rows and slices, as copies see it.
struct Extent {
  std::size_t row = 0;  // bytes
  std::size_t rows = 1, slices = 1;

  std::size_t bytes() const noexcept { return row * rows * slices; }
};
Extent extent_of(const CUDA_ARRAY3D_DESCRIPTOR &shape) noexcept;

// Returns the bytes that an array takes on a device: rows are padded to 64 bytes and stacked by 8, stacks are
// grouped into blocks, and the sum is a multiple of 64 KiB. Measured on an H200 by
// cuArrayGetMemoryRequirements.
inline constexpr std::size_t kArrayUnit = 64 << 10;
std::size_t memory_needed(const CUDA_ARRAY3D_DESCRIPTOR &shape) noexcept;

// Returns the shape of a mipmap level. Each level has half the size of the level before; the number of layers
// does not change.
CUDA_ARRAY3D_DESCRIPTOR level_of(const CUDA_ARRAY3D_DESCRIPTOR &shape, unsigned level) noexcept;

// Returns whether the device's attributes allow the shape.
// Returns the descriptor with extents cut to 32 bits, as the driver reads them. Measured on an H200, driver
// 580.159.
CUDA_ARRAY3D_DESCRIPTOR with_extents_of_32_bits(CUDA_ARRAY3D_DESCRIPTOR shape) noexcept;

enum class Levels { one, many };
bool is_valid(const Device &device, const CUDA_ARRAY3D_DESCRIPTOR &shape, Levels levels);

// The granularity of mapping a sparse array, in elements. Measured on an H200.
struct Tile {
  unsigned width = 0, height = 0, depth = 1;
};
Tile tile_of(const CUDA_ARRAY3D_DESCRIPTOR &shape) noexcept;

inline bool is_sparse(const CUDA_ARRAY3D_DESCRIPTOR &shape) {
  return (shape.Flags & CUDA_ARRAY3D_SPARSE) != 0;
}
inline bool is_deferred(const CUDA_ARRAY3D_DESCRIPTOR &shape) {
  return (shape.Flags & CUDA_ARRAY3D_DEFERRED_MAPPING) != 0;
}
inline bool is_layered(const CUDA_ARRAY3D_DESCRIPTOR &shape) {
  return (shape.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
}

struct Array : ObjectOf<Kind::array> {
  Context *context = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR shape = {};
  Extent extent;
  Allocation *allocation = nullptr;   // null: a sparse array, or one with deferred mapping
  std::shared_ptr<ArrayTiles> tiles;  // of such an array; else null
  std::size_t offset = 0;             // of the first byte in the allocation
  MipmappedArray *whole = nullptr;    // the mipmapped array that this is a level of, or null

  bool is_usable() const noexcept;  // whether new work may use it
};

struct MipmappedArray : ObjectOf<Kind::mipmapped_array> {
  Context *context = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR shape = {};
  Allocation *allocation = nullptr;  // null as of Array
  std::shared_ptr<MipTail> tail;     // of such an array; else null
  std::vector<Array *> levels;

  bool is_usable() const noexcept;
};

}  // namespace cushim::sim
