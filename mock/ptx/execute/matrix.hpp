// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "execute/convert.hpp"
#include "execute/warp.hpp"

namespace cushim::ptx::execute {

// The type of the elements of a matrix.
struct MatrixType {
  Kind kind = Kind::f32;
  std::uint8_t bits = 32;
  bool is_signed = false;
};

// Where a lane keeps an element of a matrix.
struct FragmentElement {
  std::uint16_t index;     // row * columns + column
  std::uint8_t lane, reg;  // the register of the fragment
  std::uint8_t part;       // the element of the register
};

// How the fragments of an instruction distribute the elements of a matrix to the lanes.
enum class FragmentLayout : std::uint8_t {
  mma,
  wmma,
  // mma.m8n8k4 on f16: four independent products, one for each quad (lanes 4 * q to 4 * q + 3 and the same
  // lanes + 16). The two layouts are those of row-major and column-major `a` and `b`.
  quads_by_rows,
  quads_by_columns
};

inline constexpr unsigned quads = 4;

// The elements of the fragments of a warp. An element may be in several places.
using Fragment = std::vector<FragmentElement>;

inline constexpr unsigned most_matrix_registers = 8;

// A fragment as an operand: the frame offsets of its registers, and its elements.
struct FragmentOperand {
  std::uint32_t registers[most_matrix_registers];
  MatrixType type;
  const Fragment *elements;
};

// The sizes of a product: a is m x k, b is k x n.
struct MatrixShape {
  std::uint32_t m, n, k;
};

// d = a * b + c
struct MatrixProduct : MatrixShape {
  // A sparse `a` stores half of the columns of each group, so b has 2 * k rows. The metadata of the lanes
  // that `selector` names tell which columns are stored.
  bool is_sparse;
  std::uint32_t selector;
  FragmentOperand a, b, c, d;
  bool finite;        // .satfinite: integer results saturate
  bool exclusive_or;  // .xor on bits: the product of two elements is a ^ b
  // The products of 8-bit numbers are computed on f16: mma has no tensor cores for them, so that the compiler
  // converts them and adds c at the end.
  bool through_f16;
  // wgmma on 8-bit floats: terms and f32 results keep 13 fraction bits.
  bool is_short;
  // wmma on tf32, with k of 8: ptxas 13.0 makes two products with k of 4 (HMMA.1684).
  bool in_steps_of_four;
  // mma.m8n8k4 on f16: each matrix is four matrices, one after the other.
  bool in_quads;
};

// wmma.load and wmma.store. Op::a: address in each lane; Op::b: elements between lines
struct MatrixMove {
  FragmentOperand fragment;
  std::uint32_t rows, columns;
  bool by_columns;  // a line in memory is a column
  bool store, shared;
};

// Copies the elements of a fragment from the registers of the warp's frame, and to them.
void gather(const Warp &, const FragmentOperand &, std::uint64_t *to);
void scatter(Warp &, const FragmentOperand &, const std::uint64_t *from);

// Returns how many lanes of each four have the metadata of a sparse product.
unsigned metadata_lanes(const MatrixProduct &);

// Finds the row of b for each element of a sparse matrix `a` by the metadata in a register.
void find_columns(const Warp &, const MatrixProduct &, std::uint32_t metadata, std::uint16_t *columns);

// Computes the bits of d from those of a, b and c, all in rows. `columns`: null if `a` is not sparse.
void multiply(const MatrixProduct &, const std::uint64_t *a, const std::uint64_t *b, const std::uint64_t *c,
              std::uint64_t *d, const std::uint16_t *columns);

// Returns the elements of a fragment of `registers` registers. `matrix`: a, b, c or d. That of mma is defined
// by the PTX ISA, "Matrix Fragments for mma". That of wmma is undefined there, and is measured on an H200:
// programs that access single elements give the same results. Where wmma has more registers than needed, it
// repeats the elements.
Fragment make_fragment(FragmentLayout, char matrix, const MatrixShape &, const MatrixType &,
                       unsigned registers);

const Op *multiply_matrices(Warp &, const Op *);
const Op *move_matrices(Warp &, const Op *);
const Op *transpose_matrix(Warp &, const Op *);  // movmatrix
const Op *move_fragment(Warp &, const Op *);     // data: MatrixMove

}  // namespace cushim::ptx::execute
