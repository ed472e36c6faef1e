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

}  // namespace cushim::ptx::execute
