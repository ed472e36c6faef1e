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
#include "objects/array.hpp"

namespace cushim::sim {

inline constexpr std::size_t kTileBytes = 64 << 10;

// Physical memory as this process sees it.
class PhysicalView {
 public:
  // Returns null on failure, with the reason in errno.
  static std::shared_ptr<PhysicalView> make(std::shared_ptr<PhysicalMemory> memory);
  ~PhysicalView();
  PhysicalView(const PhysicalView &) = delete;
  PhysicalView &operator=(const PhysicalView &) = delete;

  // Returns `size` bytes; poisons them on first touch.
  std::byte *bytes(std::size_t offset, std::size_t size) const;

 private:
  PhysicalView(std::shared_ptr<PhysicalMemory> memory, std::byte *mapped)
      : memory_(std::move(memory)), mapped_(mapped) {}

  const std::shared_ptr<PhysicalMemory> memory_;
  std::byte *const mapped_;
};

class ArrayTiles {
 public:
  ArrayTiles(Context &context, const CUDA_ARRAY3D_DESCRIPTOR &shape);

  // A tile, counted in tiles; the last index is of slices, or of layers.
  using Index = std::array<std::size_t, 3>;
  // A part of physical memory, of the size of a tile.
  struct Part {
    std::shared_ptr<PhysicalView> view;  // null: nothing
    std::size_t offset = 0;
  };

  const Tile &tile() const noexcept { return tile_; }  // in elements
  void map(const Index &index, const Part &part);

  // Whether it is an array with deferred mapping that has no memory. A copy that reads it is a fault.
  bool lacks_memory() const noexcept { return is_deferred_ && parts_.empty(); }

  // Copy `size` bytes of a row, from or to `x` bytes, `y` rows, `z` slices. Tiles without memory are read as
  // zeros, and ignore writes.
  void read(std::size_t x, std::size_t y, std::size_t z, std::size_t size, std::byte *out) const;
  void write(std::size_t x, std::size_t y, std::size_t z, std::size_t size, const std::byte *from) const;

  // Stands for the memory in copies: their device, and the work that uses it. Not in Memory.
  Allocation memory;

 private:
  template <class Visit>
  void for_each_part(std::size_t x, std::size_t y, std::size_t z, std::size_t size, Visit visit) const;

  const bool is_deferred_;
  const Tile tile_;
  const std::size_t row_bytes_;  // of a tile
  std::map<Index, Part> parts_;
};

}  // namespace cushim::sim
