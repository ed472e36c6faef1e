// SPDX-License-Identifier: Apache-2.0
// The memory of sparse arrays and of arrays with deferred mapping: tiles of 64 KiB, to which physical memory
// is mapped and unmapped.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "memory/memory.hpp"
#include "memory/physical_view.hpp"
#include "objects/array.hpp"

namespace cushim::sim {

inline constexpr std::size_t kTileBytes = 64 << 10;

// A part of physical memory, of the size of a tile.
struct TilePart {
  std::shared_ptr<PhysicalView> view;  // null: nothing
  std::size_t offset = 0;
};

// The mip tail of a sparse mipmapped array: the levels that are smaller than a tile, one after the other. Of
// an array with deferred mapping: all levels.
struct MipTail {
  using Index = std::array<std::size_t, 2>;  // layer, and tile in the memory of the layer

  void map(const Index &index, const TilePart &part);

  unsigned first_level = 0;
  std::size_t size = 0;  // of each layer, in bytes
  std::map<Index, TilePart> parts{};
};

// Which memory is mapped to the tiles of an array. A level of a mipmapped array may also have memory in the
// tail.
class TileMap {
 public:
  explicit TileMap(const CUDA_ARRAY3D_DESCRIPTOR &shape);

  using Index = std::array<std::size_t, 3>;  // tiles; the last index is of slices, or of layers

  const Tile &tile() const noexcept { return tile_; }  // in elements
  void map(const Index &index, const TilePart &part);
  bool is_empty() const noexcept { return parts_.empty() && (tail_ == nullptr || tail_->parts.empty()); }
  // Places the array in a tail, at an offset in each layer.
  void join(std::shared_ptr<MipTail> tail, std::size_t offset);
  // Returns a copy that later calls of map() do not change.
  TileMap snapshot() const;

  // Returns the memory of a row from byte `x` to the end of that row in its tile; null if no memory is mapped
  // to the tile.
  std::byte *at(std::size_t x, std::size_t y, std::size_t z) const;
  // Returns the number of bytes from byte `x` of a row to the end of its tile.
  std::size_t rest_of_row(std::size_t x) const noexcept { return unit_ - x % unit_; }

 private:
  std::byte *in_tail(std::size_t x, std::size_t y, std::size_t z) const;

  Tile tile_;
  std::size_t row_bytes_;  // of a tile
  std::size_t element_bytes_;
  std::size_t unit_;  // the bytes of rows that are together: in a tail, an element
  std::map<Index, TilePart> parts_;
  std::shared_ptr<MipTail> tail_;  // null: none
  std::size_t tail_offset_ = 0;
  Extent extent_;
  bool has_layers_;
};

class ArrayTiles {
 public:
  ArrayTiles(Context &context, const CUDA_ARRAY3D_DESCRIPTOR &shape);

  // Returns whether the array is deferred and has no memory yet. Reading it in a copy is a fault.
  bool lacks_memory() const noexcept { return is_deferred_ && map.is_empty(); }

  // Copy `size` bytes of a row, from or to `x` bytes, `y` rows, `z` slices. Tiles without memory are read as
  // zeros, and ignore writes.
  void read(std::size_t x, std::size_t y, std::size_t z, std::size_t size, std::byte *out) const;
  void write(std::size_t x, std::size_t y, std::size_t z, std::size_t size, const std::byte *from) const;

  TileMap map;
  // Stands for the memory in copies: their device, and the work that uses it. Not in Memory.
  Allocation memory;

 private:
  template <class Visit>
  void for_each_part(std::size_t x, std::size_t y, std::size_t z, std::size_t size, Visit visit) const;

  const bool is_deferred_;
};

// Returns the size of an array with the padding of its rows, columns and slices, before it is rounded up.
std::size_t padded_size(const CUDA_ARRAY3D_DESCRIPTOR &shape) noexcept;
// Returns the result of creating an array of this shape, apart from the size of memory.
CUresult check(const Device &device, const CUDA_ARRAY3D_DESCRIPTOR &shape, Levels levels);

}  // namespace cushim::sim
