// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>

#include "execute/convert.hpp"
#include "execute/machine.hpp"
#include "execute/matrix.hpp"

// mma.sync, ldmatrix, stmatrix. All lanes of the warp participate, as .aligned requires.
namespace cushim::ptx::execute {
namespace {

struct Element {
  unsigned lane, index;  // register of the fragment
  unsigned part;         // element of the register
};

unsigned per_register(const MatrixType &type) { return type.bits >= 32 ? 1 : 32 / type.bits; }
unsigned register_bytes(const MatrixType &type) { return type.bits == 64 ? 8 : 4; }

// The location of each element in the fragments: PTX ISA, "Matrix Fragments for mma".
Element place_a(const MatrixType &type, unsigned m, unsigned row, unsigned column) {
  const unsigned e = per_register(type), block = column / (4 * e), within = column % (4 * e);
  const unsigned lane = row % 8 * 4 + within / e;
  return {lane, m == 16 ? block * 2 + row / 8 : block, within % e};
}
Element place_b(const MatrixType &type, unsigned row, unsigned column) {
  const unsigned e = per_register(type), within = row % (4 * e);
  return {column * 4 + within / e, row / (4 * e), within % e};
}
Element place_c(const MatrixType &type, unsigned row, unsigned column) {
  const unsigned lane = row % 8 * 4 + column / 2;
  if (type.bits == 16) return {lane, row / 8, column % 2};
  return {lane, row / 8 * 2 + column % 2, 0};
}

std::uint64_t bits_at(const std::byte *frame, const std::uint32_t *registers, const MatrixType &type,
                      Element at) {
  std::uint64_t word = 0;
  const unsigned bytes = register_bytes(type);
  std::memcpy(&word, frame + registers[at.index] + at.lane * bytes, bytes);
  return type.bits == 64 ? word : word >> (at.part * type.bits) & ((std::uint64_t{1} << type.bits) - 1);
}
double float_at(const std::byte *frame, const std::uint32_t *registers, const MatrixType &type, Element at) {
  const std::uint64_t bits = bits_at(frame, registers, type, at);
  // The tensor cores ignore the low bits of tf32.
  return value_of(type.kind == Kind::tf32 ? Kind::f32 : type.kind,
                  type.kind == Kind::tf32 ? bits & ~0x1fffull : bits);
}
std::int64_t integer_at(const std::byte *frame, const std::uint32_t *registers, const MatrixType &type,
                        Element at) {
  const std::uint64_t bits = bits_at(frame, registers, type, at);
  if (!type.is_signed || (bits >> (type.bits - 1) & 1) == 0) return static_cast<std::int64_t>(bits);
  return static_cast<std::int64_t>(bits | ~std::uint64_t{0} << type.bits);
}

}  // namespace

const Op *multiply_matrices(Warp &w, const Op *op) {
  const auto &matrix = *static_cast<const MatrixProduct *>(op->data);
  // The destination may be the accumulator, so the results are written at the end.
  std::uint64_t results[16][32];
  for (unsigned row = 0; row < matrix.m; ++row)
    for (unsigned column = 0; column < matrix.n; ++column) {
      const Element at = place_c(matrix.c, row, column);
      if (matrix.a.kind == Kind::integer) {
        std::int64_t sum = integer_at(w.frame, matrix.registers_c, matrix.c, at);
        for (unsigned k = 0; k < matrix.k; ++k)
          sum += integer_at(w.frame, matrix.registers_a, matrix.a, place_a(matrix.a, matrix.m, row, k)) *
                 integer_at(w.frame, matrix.registers_b, matrix.b, place_b(matrix.b, k, column));
        if (matrix.finite) sum = std::min<std::int64_t>(std::max<std::int64_t>(sum, INT32_MIN), INT32_MAX);
        results[row][column] = static_cast<std::uint32_t>(sum);
        continue;
      }
      double sum = float_at(w.frame, matrix.registers_c, matrix.c, at);
      for (unsigned k = 0; k < matrix.k; ++k) {
        const double a = float_at(w.frame, matrix.registers_a, matrix.a, place_a(matrix.a, matrix.m, row, k));
        const double b = float_at(w.frame, matrix.registers_b, matrix.b, place_b(matrix.b, k, column));
        sum = matrix.a.bits == 64 ? std::fma(a, b, sum) : sum + a * b;
      }
      results[row][column] = bits_of(matrix.d.kind, sum);
    }
  for (unsigned row = 0; row < matrix.m; ++row)
    for (unsigned column = 0; column < matrix.n; ++column) {
      const Element at = place_c(matrix.d, row, column);
      const unsigned bytes = matrix.d.bits / 8;
      std::memcpy(
          w.frame + matrix.registers_d[at.index] + at.lane * register_bytes(matrix.d) + at.part * bytes,
          &results[row][column], bytes);
    }
  return op + 1;
}

// a: 64-bit addresses in shared memory; extra: matrix count | transposed << 8 | store << 9 | generic << 10
const Op *move_matrices(Warp &w, const Op *op) {
  const auto *const registers = static_cast<const std::uint32_t *>(op->data);
  const unsigned count = op->extra & 0xff;
  const bool transposed = (op->extra >> 8 & 1) != 0, store = (op->extra >> 9 & 1) != 0;
  const auto *const address = reinterpret_cast<const std::uint64_t *>(w.frame + op->a);
  for (unsigned matrix = 0; matrix < count; ++matrix)
    for (unsigned row = 0; row < 8; ++row) {
      const unsigned from = matrix * 8 + row;
      std::uint64_t at = address[from] + static_cast<std::uint64_t>(op->immediate);
      if (at >= shared_window) at -= shared_window;
      if ((at & 15) != 0) return fault(w, op, FaultKind::misaligned_address, from, at);
      if (at >= w.shared_bytes || w.shared_bytes - at < 16)
        return fault(w, op, FaultKind::illegal_address, from, at);
      for (unsigned column = 0; column < 8; ++column) {
        const unsigned lane = transposed ? column * 4 + row / 2 : row * 4 + column / 2;
        const unsigned part = transposed ? row % 2 : column % 2;
        std::byte *const in_register = w.frame + registers[matrix] + lane * 4 + part * 2;
        std::byte *const in_memory = w.shared + at + column * 2;
        std::memcpy(store ? in_memory : in_register, store ? in_register : in_memory, 2);
      }
    }
  return op + 1;
}

}  // namespace cushim::ptx::execute
