// SPDX-License-Identifier: Apache-2.0
// Arrays. How a device lays out their bytes is its own affair: here they lie row after row, in an allocation
// as large as the device's would be.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <vector>

#include "handle.hpp"

namespace cushim::sim {

struct Allocation;
struct Context;
struct Device;
struct MipmappedArray;

// What a format's elements are: one, or a block of 4 by 4 that is compressed to some bytes.
struct Element {
  std::size_t bytes = 0;  // 0: there is no such format, or not with so many channels
  std::size_t side = 1;
};
Element element_of(CUarray_format format, unsigned channels) noexcept;

// A box of elements in rows: the bytes that copies see.
struct Extent {
  std::size_t row = 0;  // bytes
  std::size_t rows = 1, slices = 1;

  std::size_t bytes() const noexcept { return row * rows * slices; }
};
Extent extent_of(const CUDA_ARRAY3D_DESCRIPTOR &shape) noexcept;

// What a device needs for it. Rows of 64 bytes are stacked by 8, stacks to blocks; whole units of 64 KiB.
// Measured on an H200 by cuArrayGetMemoryRequirements.
inline constexpr std::size_t kArrayUnit = 64 << 10;
std::size_t memory_needed(const CUDA_ARRAY3D_DESCRIPTOR &shape) noexcept;

// The size of a level, of which each is half the one before. The layers of layered arrays stay.
CUDA_ARRAY3D_DESCRIPTOR level_of(const CUDA_ARRAY3D_DESCRIPTOR &shape, unsigned level) noexcept;

// Whether the shape is one that the device takes, by its attributes.
enum class Levels { one, many };
bool is_valid(const Device &device, const CUDA_ARRAY3D_DESCRIPTOR &shape, Levels levels);

// The part of a sparse array that is mapped at once, in elements. Measured on an H200.
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

struct Array : Object {
  static constexpr Kind kKind = Kind::array;
  Array() : Object(kKind) {}

  Context *context = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR shape = {};
  Extent extent;
  Allocation *allocation = nullptr;  // null: nothing is mapped
  std::size_t offset = 0;            // of its first byte in the allocation
  MipmappedArray *whole = nullptr;   // that it is a level of
};

struct MipmappedArray : Object {
  static constexpr Kind kKind = Kind::mipmapped_array;
  MipmappedArray() : Object(kKind) {}

  Context *context = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR shape = {};
  Allocation *allocation = nullptr;
  std::vector<Array *> levels;
};

}  // namespace cushim::sim
