// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "execute/convert.hpp"
#include "execute/warp.hpp"

namespace cushim::ptx::execute {

struct MatrixType {
  Kind kind = Kind::f32;
  std::uint8_t bits = 32;
  bool is_signed = false;
};

struct MatrixProduct {
  std::uint32_t m, n, k;
  MatrixType a, b, c, d;
  bool finite;  // .satfinite: integer results saturate
  std::uint32_t registers_a[4], registers_b[4], registers_c[4], registers_d[4];
};

const Op *multiply_matrices(Warp &, const Op *);
const Op *move_matrices(Warp &, const Op *);

}  // namespace cushim::ptx::execute
