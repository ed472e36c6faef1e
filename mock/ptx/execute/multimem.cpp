// SPDX-License-Identifier: Apache-2.0
// Multimem instructions: accesses to all memory that is bound to a multicast object. From the PTX manual; not
// compared with a GPU.
#include <cstring>
#include <iterator>
#include <span>
#include <vector>

#include "execute/atomics.hpp"
#include "execute/convert.hpp"
#include "execute/lane_values.hpp"
#include "execute/machine.hpp"

namespace cushim::ptx::execute {
namespace {

// The parts of Op::extra, from the lowest bit: operation and type (8 bits each), whether f16 and bf16 are
// summed in f32, alignment (from bit 24).
struct Multimem {
  explicit Multimem(const Op &op)
      : operation(op.extra & 0xff),
        type(op.extra >> 8 & 0xff),
        sums_in_f32((op.extra >> 16 & 1) != 0),
        alignment(op.extra >> 24) {}
  u32 operation, type;
  bool sums_in_f32;
  u32 alignment;
};

// Calls visit(lane, copies) for each active lane with the bytes in all memories.
template <class Visit>
const Op *for_each_lane(Warp &warp, const Op *op, Access access, Visit visit) {
  WarpState &w = state(warp);
  w.waits = true;
  const Multimem how(*op);
  const u64 *const address = reg<u64>(w, op->a);
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const unsigned i = static_cast<unsigned>(__builtin_ctz(rest));
    const u64 at = address[i] + static_cast<u64>(op->immediate);
    if ((at & (how.alignment - 1)) != 0) return fault(w, op, FaultKind::misaligned_address, i, at);
    const std::vector<std::byte *> copies =
        w.worker->launch->memory->multicast(at, atomic_bytes(how.type), access);
    if (copies.empty()) return fault(w, op, FaultKind::illegal_address, i, at);
    visit(w, i, how, copies);
  }
  return op + 1;
}

// Sums the halves of 32 or 16 bits in f32, and rounds each sum once.
u64 sum_in_f32(const Multimem &how, const std::vector<std::byte *> &copies) {
  const bool is_bf16 = atomic_kind("bf16") == how.type || atomic_kind("bf16x2") == how.type;
  const Kind kind = is_bf16 ? Kind::bf16 : Kind::f16;
  u64 result = 0;
  for (unsigned half = 0; half < atomic_bytes(how.type) / 2; ++half) {
    f32 sum = 0;
    for (const std::byte *const copy : copies) {
      u16 bits = 0;
      std::memcpy(&bits, copy + 2 * half, sizeof bits);
      sum += static_cast<f32>(value_of(kind, bits));
    }
    const u64 bits = sum != sum ? 0x7fff : bits_of(kind, static_cast<f64>(sum));
    result |= (bits & 0xffff) << 16 * half;
  }
  return result;
}

u64 reduce(const Multimem &how, const std::vector<std::byte *> &copies) {
  if (how.sums_in_f32) return sum_in_f32(how, copies);
  const unsigned bytes = atomic_bytes(how.type);
  alignas(8) std::byte value[8] = {};
  std::memcpy(value, copies.front(), bytes);
  for (const std::byte *const copy : std::span(copies).subspan(1))
    update_atomically(value, how.operation, how.type, load_lane(copy, 0, bytes), 0, true);
  return load_lane(value, 0, bytes);
}

const Op *load(Warp &warp, const Op *op) {
  return for_each_lane(
      warp, op, Access::read,
      [op](WarpState &w, unsigned lane, const Multimem &how, const std::vector<std::byte *> &copies) {
        store_lane(w.frame + op->d, lane, atomic_bytes(how.type), reduce(how, copies));
      });
}

// Reductions, and stores, which are exchanges whose old value is not used.
const Op *update(Warp &warp, const Op *op) {
  return for_each_lane(
      warp, op, Access::atomic,
      [op](WarpState &w, unsigned lane, const Multimem &how, const std::vector<std::byte *> &copies) {
        const u64 value = load_lane(w.frame + op->b, lane, atomic_bytes(how.type));
        for (std::byte *const copy : copies) update_atomically(copy, how.operation, how.type, value, 0, true);
      });
}

}  // namespace

constinit const LaneTable multimem_operations = {
    {"multimem.load", load, ""},
    {"multimem.update", update, ""},
};

}  // namespace cushim::ptx::execute
