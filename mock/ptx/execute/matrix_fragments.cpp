// SPDX-License-Identifier: Apache-2.0
// Where the lanes of a warp keep the elements of a matrix.
#include <algorithm>
#include <utility>

#include "execute/matrix.hpp"

namespace cushim::ptx::execute {
namespace {

unsigned per_register(const MatrixType &type) { return type.bits >= 32 ? 1 : 32 / type.bits; }

struct Place {
  unsigned lane, reg, part;
};

// m: number of rows of the product
Place mma_place(char matrix, unsigned m, const MatrixType &type, unsigned row, unsigned column) {
  const unsigned e = per_register(type);
  if (matrix == 'a') {
    const unsigned block = column / (4 * e), within = column % (4 * e);
    return {row % 8 * 4 + within / e, m == 8 ? block : block * 2 + row / 8, within % e};
  }
  if (matrix == 'b') {
    const unsigned within = row % (4 * e);
    return {column * 4 + within / e, row / (4 * e), within % e};
  }
  const unsigned lane = row % 8 * 4 + column / 2;
  if (type.bits == 16) return {lane, row / 8, column % 2};
  return {lane, row / 8 * 2 + column % 2, 0};
}

// A product of wmma consists of two products of mma. That of m8n32k16 is transposed.
Place wmma_place(char matrix, MatrixShape shape, const MatrixType &type, unsigned row, unsigned column) {
  if (shape.m == 8 && shape.n == 32) {
    std::swap(row, column);
    std::swap(shape.m, shape.n);
    matrix = matrix == 'a' ? 'b' : matrix == 'b' ? 'a' : matrix;
  }
  if (shape.m == 8) return mma_place(matrix, 8, type, row, column);
  const bool by_columns = matrix == 'b' || (matrix != 'a' && shape.n == 16);
  unsigned &divided = by_columns ? column : row;
  const unsigned size = by_columns ? 8 : 16, block = divided / size;
  divided %= size;
  const unsigned elements = 32 * per_register(type);
  const unsigned registers = (matrix == 'a' ? 16 * shape.k : matrix == 'b' ? 8 * shape.k : 128) / elements;
  Place place = mma_place(matrix, 16, type, row, column);
  place.reg += block * registers;
  return place;
}

// PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16 floating point type"
Fragment quad_fragment(char matrix, bool by_columns, const MatrixShape &shape, const MatrixType &type) {
  const unsigned columns = matrix == 'a' ? shape.k : shape.n, count = matrix == 'a' || matrix == 'b' ? 4 : 8,
                 size = matrix == 'a' || matrix == 'b' ? 32 : 64;
  Fragment made;
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < count; ++i) {
      const unsigned half = lane / 16 * 4, within = lane % 4;
      unsigned row = within + half, column = i;
      if (matrix == 'a' && by_columns) row = i + half, column = within;
      if (matrix == 'b') row = by_columns ? i : within, column = (by_columns ? within : i) + half;
      if (type.bits == 32) row = lane % 2 + (i & 2) + half, column = (i & 4) + (lane & 2) + i % 2;
      const unsigned index = lane % 16 / 4 * size + row * columns + column, part = per_register(type);
      made.push_back({static_cast<std::uint16_t>(index), static_cast<std::uint8_t>(lane),
                      static_cast<std::uint8_t>(i / part), static_cast<std::uint8_t>(i % part)});
    }
  return made;
}

}  // namespace

Fragment make_fragment(FragmentLayout layout, char matrix, const MatrixShape &shape, const MatrixType &type,
                       unsigned registers) {
  if (layout == FragmentLayout::quads_by_rows || layout == FragmentLayout::quads_by_columns)
    return quad_fragment(matrix, layout == FragmentLayout::quads_by_columns, shape, type);
  const unsigned rows = matrix == 'b' ? shape.k : shape.m, columns = matrix == 'a' ? shape.k : shape.n;
  const unsigned needed = std::max(1u, rows * columns / (32 * per_register(type)));
  Fragment made;
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned column = 0; column < columns; ++column) {
      const Place place = layout == FragmentLayout::wmma ? wmma_place(matrix, shape, type, row, column)
                                                         : mma_place(matrix, shape.m, type, row, column);
      for (unsigned copy = 0; copy < std::max(1u, registers / needed); ++copy)
        made.push_back(
            {static_cast<std::uint16_t>(row * columns + column), static_cast<std::uint8_t>(place.lane),
             static_cast<std::uint8_t>(place.reg + copy * needed), static_cast<std::uint8_t>(place.part)});
    }
  return made;
}

}  // namespace cushim::ptx::execute
