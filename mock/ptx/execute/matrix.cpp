// SPDX-License-Identifier: Apache-2.0
// Matrix instructions. All lanes of the warp participate, as .aligned requires.
#include "execute/matrix.hpp"

#include <algorithm>
#include <cstring>

#include "execute/count.hpp"
#include "execute/machine.hpp"

namespace cushim::ptx::execute {
namespace {

constexpr unsigned most_elements = 16 * 256;  // of a matrix of wmma or mma

unsigned register_bytes(const MatrixType &type) { return type.bits == 64 ? 8 : 4; }

// Returns the frame offset of the register that holds an element.
std::uint32_t place(const FragmentOperand &operand, const FragmentElement &at) {
  return operand.registers[at.reg] + at.lane * register_bytes(operand.type);
}

}  // namespace

void gather(const Warp &w, const FragmentOperand &operand, std::uint64_t *to) {
  const MatrixType &type = operand.type;
  for (const FragmentElement &at : *operand.elements) {
    std::uint64_t word = 0;
    std::memcpy(&word, w.frame + place(operand, at), register_bytes(type));
    to[at.index] =
        type.bits == 64 ? word : word >> (at.part * type.bits) & ((std::uint64_t{1} << type.bits) - 1);
  }
}

namespace {

// Returns how many elements `a` keeps of each group of columns.
unsigned kept_elements(const MatrixType &type) { return type.bits == 32 ? 1 : type.bits == 4 ? 4 : 2; }

}  // namespace

unsigned metadata_lanes(const MatrixProduct &p) { return std::max(1u, p.k / kept_elements(p.a.type) / 4); }

// Each group of four columns (two of tf32, eight of 4 bits) has two indices of 2 bits. Measured on an H200.
void find_columns(const Warp &w, const MatrixProduct &p, std::uint32_t metadata, std::uint16_t *columns) {
  const unsigned bits = p.a.type.bits, kept = kept_elements(p.a.type), groups = p.k / kept,
                 words = metadata_lanes(p);
  for (unsigned row = 0; row < p.m; ++row)
    for (unsigned group = 0; group < groups; ++group) {
      const unsigned word = bits >= 16 ? group / 4 : row / 8 + group / 8 * 2;
      const unsigned nibble = bits >= 16 ? row / 8 * 4 + group % 4 : group % 8;
      const unsigned lane = row % 8 * 4 + p.selector * words + word;
      std::uint32_t indices = 0;
      std::memcpy(&indices, w.frame + metadata + lane * 4, 4);
      indices = indices >> nibble * 4;
      for (unsigned i = 0; i < kept; ++i) {
        const unsigned index = bits == 4    ? (indices >> i / 2 * 2 & 3) * 2 + i % 2
                               : bits == 32 ? (indices & 3) / 2
                                            : indices >> i * 2 & 3;
        columns[row * p.k + group * kept + i] = static_cast<std::uint16_t>(group * kept * 2 + index);
      }
    }
}

void scatter(Warp &w, const FragmentOperand &operand, const std::uint64_t *from) {
  const unsigned bits = operand.type.bits;
  for (const FragmentElement &at : *operand.elements) {
    std::byte *const to = w.frame + place(operand, at);
    if (bits >= 8) {
      std::memcpy(to + at.part * bits / 8, &from[at.index], bits / 8);
      continue;
    }
    std::uint32_t word = 0;
    std::memcpy(&word, to, 4);
    const std::uint32_t ones = ((1u << bits) - 1) << (at.part * bits);
    word = (word & ~ones) | (static_cast<std::uint32_t>(from[at.index]) << (at.part * bits) & ones);
    std::memcpy(to, &word, 4);
  }
}

// b: the register with metadata of a sparse product
const Op *multiply_matrices(Warp &w, const Op *op) {
  const auto &product = *static_cast<const MatrixProduct *>(op->data);
  std::uint64_t a[most_elements], b[most_elements], c[most_elements], d[most_elements];
  gather(w, product.a, a);
  gather(w, product.b, b);
  gather(w, product.c, c);
  std::uint16_t columns[most_elements];
  if (product.is_sparse) find_columns(w, product, op->b, columns);
  multiply(product, a, b, c, d, product.is_sparse ? columns : nullptr);
  scatter(w, product.d, d);
  return op + 1;
}

const Op *move_fragment(Warp &w, const Op *op) {
  const auto &move = *static_cast<const MatrixMove *>(op->data);
  const unsigned lane = static_cast<unsigned>(__builtin_ctz(w.mask));
  const unsigned bits = move.fragment.type.bits, bytes = bits < 8 ? 1 : bits / 8,
                 lines = move.by_columns ? move.columns : move.rows,
                 length = move.by_columns ? move.rows : move.columns;
  std::uint64_t address = 0;
  std::uint32_t stride = 0;
  std::memcpy(&address, w.frame + op->a + lane * 8, 8);
  std::memcpy(&stride, w.frame + op->b + lane * 4, 4);
  if ((address & (bytes - 1)) != 0) return fault(w, op, FaultKind::misaligned_address, lane, address);
  std::uint64_t values[most_elements];
  const Access access = move.store ? Access::write : Access::read;
  if (move.store) gather(w, move.fragment, values);
  for (unsigned line = 0; line < lines; ++line) {
    const std::uint64_t at = address + std::uint64_t{line} * stride * bits / 8;
    std::byte *const host = move.shared ? resolve_shared(w, op, lane, at, length * bits / 8, access)
                                        : resolve_generic(w, op, lane, at, length * bits / 8, access);
    if (host == nullptr) return nullptr;
    count_move(w, op, at, length * bits / 8, move.shared, move.store);
    for (unsigned i = 0; i < length; ++i) {
      std::uint64_t &value = values[move.by_columns ? i * move.columns + line : line * move.columns + i];
      if (bits < 8) {  // of matrices a and b, which are not stored
        value = std::to_integer<std::uint64_t>(host[i * bits / 8]) >> (i * bits % 8) & ((1u << bits) - 1);
        continue;
      }
      if (!move.store) value = 0;
      std::memcpy(move.store ? static_cast<void *>(host + i * bytes) : &value,
                  move.store ? static_cast<const void *>(&value) : host + i * bytes, bytes);
    }
  }
  if (!move.store) scatter(w, move.fragment, values);
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
      const std::uint64_t at = address[from] + static_cast<std::uint64_t>(op->immediate);
      if ((at & 15) != 0) return fault(w, op, FaultKind::misaligned_address, from, at);
      std::byte *const host = resolve_shared(w, op, from, at, 16, store ? Access::write : Access::read);
      if (host == nullptr) return nullptr;
      for (unsigned column = 0; column < 8; ++column) {
        const unsigned lane = transposed ? column * 4 + row / 2 : row * 4 + column / 2;
        const unsigned part = transposed ? row % 2 : column % 2;
        std::byte *const in_register = w.frame + registers[matrix] + lane * 4 + part * 2;
        std::byte *const in_memory = host + column * 2;
        std::memcpy(store ? in_memory : in_register, store ? in_register : in_memory, 2);
      }
    }
  return op + 1;
}

// a: source; d: destination
const Op *transpose_matrix(Warp &w, const Op *op) {
  std::uint16_t from[64], to[64];
  std::memcpy(from, w.frame + op->a, sizeof from);
  for (unsigned row = 0; row < 8; ++row)
    for (unsigned column = 0; column < 8; ++column) to[column * 8 + row] = from[row * 8 + column];
  std::memcpy(w.frame + op->d, to, sizeof to);
  return op + 1;
}

}  // namespace cushim::ptx::execute
