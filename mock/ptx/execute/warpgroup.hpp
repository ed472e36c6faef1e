// SPDX-License-Identifier: Apache-2.0
// wgmma: products of matrices that the four warps of a warpgroup compute together.
#pragma once

#include <cstdint>

#include "execute/matrix.hpp"

namespace cushim::ptx::execute {

inline constexpr unsigned warps_of_group = 4;
inline constexpr unsigned most_column_blocks = 32;  // of 8 columns, for n = 256

// A matrix in shared memory, as the PTX ISA defines it in "Matrix Descriptor" of wgmma. "Row" means a row of
// A or a column of B, "k" the other dimension.
struct SharedMatrix {
  std::uint64_t start;        // shared memory address
  std::uint64_t leading;      // leading dimension byte offset
  std::uint64_t stride;       // stride dimension byte offset
  std::uint64_t base_offset;  // of the pattern of a swizzle, in units of 128 bytes
  unsigned swizzle;           // bytes: 0, 32, 64 or 128

  explicit SharedMatrix(std::uint64_t descriptor);
  // Returns the shared memory address of the 16 bytes that contain element `k` of a row. `transposed`: these
  // bytes contain consecutive rows instead of consecutive k.
  std::uint64_t address(unsigned row, unsigned k, unsigned bits, bool transposed) const;
};

// wgmma.mma_async. Op::a: descriptor of A, if it is in shared memory; Op::b: descriptor of B; Op::c:
// predicate scale-d; Op::d: metadata of a sparse A. Each warp computes 16 rows of D, in blocks of 8 columns.
struct WarpgroupProduct {
  MatrixProduct product;  // of a warp and a block of columns; `a` in registers
  std::uint32_t blocks;
  bool a_in_registers, a_transposed, b_transposed, a_negated, b_negated;
  FragmentOperand d[most_column_blocks];
};

// Waits until the four warps of the warpgroup execute the operation, then computes the products of all.
const Op *multiply_warpgroup(Warp &, const Op *);

}  // namespace cushim::ptx::execute
