// SPDX-License-Identifier: Apache-2.0
#include "execute/warpgroup.hpp"

#include <cstring>

#include "execute/machine.hpp"

namespace cushim::ptx::execute {

SharedMatrix::SharedMatrix(std::uint64_t descriptor) {
  const auto field = [descriptor](unsigned at) { return (descriptor >> at & 0x3fff) << 4; };
  start = field(0);
  leading = field(16);
  stride = field(32);
  base_offset = descriptor >> 49 & 7;
  constexpr unsigned modes[] = {0, 128, 64, 32};
  swizzle = modes[descriptor >> 62];
}

std::uint64_t SharedMatrix::address(unsigned row, unsigned k, unsigned bits, bool transposed) const {
  const std::uint64_t pitch = swizzle == 0 ? 16 : swizzle;  // between lines of a core matrix
  std::uint64_t at = start;
  if (!transposed) {
    const std::uint64_t chunk = std::uint64_t{k} * bits / 128, chunks = pitch / 16;
    at += row % 8 * pitch + row / 8 * stride + chunk % chunks * 16 + chunk / chunks * leading;
  } else if (swizzle == 0) {
    at += row / 8 * stride + k % 8 * pitch + k / 8 * leading;
  } else {
    const std::uint64_t chunk = row / 8, chunks = swizzle / 16;
    at += chunk % chunks * 16 + chunk / chunks * leading + k % 8 * pitch + k / 8 * stride;
  }
  if (swizzle != 0) at ^= (((at >> 7) - base_offset) & (swizzle / 16 - 1)) << 4;
  return at;
}

namespace {

// Copies rows of a matrix in shared memory to `to`, where the element `k` of a row is at
// row * row_step + k * k_step. Returns false after a fault.
bool load(Warp &w, const Op *op, const SharedMatrix &matrix, unsigned first_row, unsigned rows,
          unsigned depth, unsigned bits, bool transposed, std::uint64_t *to, unsigned row_step,
          unsigned k_step) {
  const unsigned per_chunk = 128 / bits;
  const std::uint64_t ones = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  for (unsigned line = 0; line < (transposed ? depth : rows); ++line)
    for (unsigned chunk = 0; chunk < (transposed ? rows : depth); chunk += per_chunk) {
      const unsigned row = transposed ? chunk : line, k = transposed ? line : chunk;
      const std::byte *const host =
          resolve_shared(w, op, 0, matrix.address(first_row + row, k, bits, transposed), 16, Access::read);
      if (host == nullptr) return false;
      for (unsigned i = 0; i < per_chunk; ++i) {
        const unsigned bit = i * bits;
        std::uint32_t word = 0;
        std::memcpy(&word, host + bit / 32 * 4, 4);
        to[(transposed ? row + i : row) * row_step + (transposed ? k : k + i) * k_step] =
            word >> bit % 32 & ones;
      }
    }
  return true;
}

void negate(std::vector<std::uint64_t> &values, unsigned bits) {
  for (std::uint64_t &value : values) value ^= std::uint64_t{1} << (bits - 1);
}

template <class T>
T first_lane(const Warp &w, std::uint32_t at) {
  T value;
  std::memcpy(&value, w.frame + at, sizeof value);
  return value;
}

// Computes the products of the warps of a group, whose frames are those at the operation.
bool multiply_group(WarpState *const *group, const Op *op) {
  const auto &data = *static_cast<const WarpgroupProduct *>(op->data);
  const MatrixProduct &product = data.product;
  Warp &leader = *group[0];
  const unsigned depth = product.k, bits = product.a.type.bits;
  const SharedMatrix in_b(first_lane<std::uint64_t>(leader, op->b));
  const SharedMatrix in_a(data.a_in_registers ? 0 : first_lane<std::uint64_t>(leader, op->a));
  // The blocks of columns of B, each in rows.
  const unsigned b_depth = product.is_sparse ? 2 * depth : depth;
  std::vector<std::uint64_t> b(std::size_t{data.blocks} * 8 * b_depth), a(std::size_t{16} * depth);
  std::vector<std::uint16_t> columns(product.is_sparse ? a.size() : 0);
  for (unsigned block = 0; block < data.blocks; ++block)
    if (!load(leader, op, in_b, block * 8, 8, b_depth, bits, data.b_transposed,
              &b[std::size_t{block} * 8 * b_depth], 1, 8))
      return false;
  if (data.b_negated) negate(b, bits);
  for (unsigned warp = 0; warp < warps_of_group; ++warp) {
    WarpState &w = *group[warp];
    if (data.a_in_registers)
      gather(w, product.a, a.data());
    else if (!load(w, op, in_a, warp * 16, 16, depth, bits, data.a_transposed, a.data(), depth, 1))
      return false;
    if (data.a_negated) negate(a, bits);
    if (product.is_sparse) find_columns(w, product, op->d, columns.data());
    const bool adds = (first_lane<std::uint32_t>(w, op->c) & 1) != 0;
    for (unsigned block = 0; block < data.blocks; ++block) {
      std::uint64_t c[16 * 8] = {}, d[16 * 8];
      if (adds) gather(w, data.d[block], c);
      multiply(product, a.data(), &b[std::size_t{block} * 8 * b_depth], c, d,
               product.is_sparse ? columns.data() : nullptr);
      scatter(w, data.d[block], d);
    }
  }
  return true;
}

}  // namespace

const Op *multiply_warpgroup(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  Path &own = w.paths[w.current];
  own.pc = op;
  own.state = PathState::warpgroup;
  const auto &warps = w.block->warps;
  const std::size_t first = w.index / warps_of_group * warps_of_group;
  if (first + warps_of_group > warps.size())
    return fault(w, op, FaultKind::illegal_instruction, 0, 0, "the warpgroup has fewer than 4 warps");
  WarpState *group[warps_of_group];
  for (std::size_t i = 0; i < warps_of_group; ++i) {
    group[i] = warps[first + i].get();
    std::uint32_t arrived = 0;
    for (const Path &path : group[i]->paths)
      if (path.state == PathState::warpgroup) arrived |= path.mask;
    if (arrived != ~0u) return next_path(w);
  }
  for (WarpState *const one : group) {
    const Frame *frame = nullptr;
    for (const Path &path : one->paths) {
      if (path.state != PathState::warpgroup) continue;
      if (path.pc != op || (frame != nullptr && path.frame != frame))
        return fault(w, op, FaultKind::illegal_instruction, 0, 0,
                     "the warps of the warpgroup execute different instructions");
      frame = path.frame;
    }
    one->frame = frame->registers;
  }
  if (!multiply_group(group, op)) return nullptr;
  for (WarpState *const one : group)
    for (Path &path : one->paths)
      if (path.state == PathState::warpgroup) {
        path.state = PathState::ready;
        ++path.pc;
      }
  return next_path(w);
}

}  // namespace cushim::ptx::execute
