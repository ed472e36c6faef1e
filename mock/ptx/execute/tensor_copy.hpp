// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "execute/warp.hpp"

namespace cushim::ptx::execute {

inline constexpr unsigned most_tensor_dimensions = 5;

// The variant of a copy of a box of a tensor. Op::a: address of the tensor map; Op::b: shared
// memory address; Op::c: mbarrier.
struct TensorCopy {
  std::uint32_t coordinates[most_tensor_dimensions];  // frame offsets
  std::uint32_t offsets[3];                           // frame offsets of 16 bits, of im2col loads
  std::uint32_t ranks;      // frame offset of the 16-bit mask of the blocks that receive a multicast
  std::uint32_t operation;  // of a reduction, as in atomics.hpp
  std::uint32_t dimensions, offset_count;
  bool stores;  // to global memory; completes bytes at the mbarrier otherwise
  bool reduces, multicast, is_im2col;
};

const Op *copy_tensor(Warp &, const Op *);  // data: TensorCopy

// The field of a tensor map that tensormap.replace writes.
enum class TensorMapPart : std::uint32_t {
  global_address,
  rank,
  box_dim,
  global_dim,
  global_stride,
  element_stride,
  elemtype,
  interleave_layout,
  swizzle_mode,
  fill_mode
};

// Op::a: address of the tensor map; Op::b: the value, of 8 bytes; extra: TensorMapPart, 16 times the
// dimension, and 256 if the map is in shared memory.
const Op *replace_in_tensor_map(Warp &, const Op *);

// Op::a: the address of 128 bytes in global memory; Op::b: of the map in shared memory.
const Op *copy_tensor_map(Warp &, const Op *);

}  // namespace cushim::ptx::execute
