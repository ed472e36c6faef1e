// SPDX-License-Identifier: Apache-2.0
// Operations that vectorization does not speed up.
#include <atomic>
#include <iterator>

#include "check/kernel_checker.hpp"
#include "execute/convert.hpp"
#include "execute/lane_values.hpp"
#include "execute/machine.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <cfenv>
#endif

namespace cushim::ptx::execute {

// Executes an operation in a directed rounding mode of the host. extra: 1 toward zero, 2 down, 3 up.
const Op *rounded(Warp &w, const Op *op) {
#if defined(__x86_64__)
  static constexpr unsigned modes[] = {0, 0x6000, 0x2000, 0x4000};
  const unsigned before = _mm_getcsr();
  _mm_setcsr((before & ~0x6000u) | modes[op->extra]);
  const Op *const next = op->rounded(w, op);
  _mm_setcsr(before);
#else
  static constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  std::fesetround(modes[op->extra]);
  const Op *const next = op->rounded(w, op);
  std::fesetround(FE_TONEAREST);
#endif
  return next;
}

namespace {

// extra: size in bytes of the source a | size of the destination d << 8; data: Conversion
const Op *convert_lanes(Warp &w, const Op *op) {
  const auto &conversion = *static_cast<const Conversion *>(op->data);
  each(w.mask, [&](unsigned i) {
    store_lane(w.frame + op->d, i, op->extra >> 8,
               convert(conversion, load_lane(w.frame + op->a, i, op->extra & 0xff)));
  });
  return op + 1;
}
const Op *convert_pair(Warp &w, const Op *op) {
  const auto &conversion = *static_cast<const Conversion *>(op->data);
  each(w.mask, [&](unsigned i) {
    const u64 high = convert(conversion, load_lane(w.frame + op->a, i, 4));
    const u64 low = convert(conversion, load_lane(w.frame + op->b, i, 4));
    store_lane(w.frame + op->d, i, op->extra >> 8, high << conversion.to_part | low);
  });
  return op + 1;
}
const Op *convert_packed(Warp &w, const Op *op) {
  const auto &conversion = *static_cast<const Conversion *>(op->data);
  const u64 part = (u64{1} << conversion.from_part) - 1;
  each(w.mask, [&](unsigned i) {
    const u64 both = load_lane(w.frame + op->a, i, conversion.from_bytes);
    const u64 high = convert(conversion, both >> conversion.from_part & part);
    store_lane(w.frame + op->d, i, op->extra >> 8,
               high << conversion.to_part | convert(conversion, both & part));
  });
  return op + 1;
}

// cvt.pack: a and b saturate to elements of `extra & 0xff` bits, signed if bit 8 is set; c is above them.
const Op *convert_pack(Warp &w, const Op *op) {
  const s32 *const a = reg<s32>(w, op->a), *const b = reg<s32>(w, op->b);
  const u32 *const c = reg<u32>(w, op->c);
  const u32 size = op->extra & 0xff, ones = (1u << size) - 1;
  const bool is_signed = op->extra >> 8 != 0;
  const s32 high = s32(is_signed ? ones >> 1 : ones), low = is_signed ? -high - 1 : 0;
  const auto part = [=](s32 value) { return u32(value < low ? low : value > high ? high : value) & ones; };
  return for_lanes<u32>(w, op, [=](u32 i) {
    const u32 above = 2 * size >= 32 ? 0 : c[i] << 2 * size;
    return above | part(a[i]) << size | part(b[i]);
  });
}

// Finds the n-th set bit from a position on. a: mask; b: base; c: n, negative to search downward
const Op *fns(Warp &w, const Op *op) {
  const u32 *const mask = reg<u32>(w, op->a), *const base = reg<u32>(w, op->b);
  const s32 *const offset = reg<s32>(w, op->c);
  return for_lanes<u32>(w, op, [=](u32 i) {
    const s64 step = offset[i] < 0 ? -1 : 1;
    s64 left = offset[i] == 0 ? 0 : offset[i] * step - 1;
    for (s64 at = base[i]; at >= 0 && at < 32; at += step) {
      if ((mask[i] >> at & 1) != 0 && left-- == 0) return static_cast<u32>(at);
      if (offset[i] == 0) break;
    }
    return ~0u;
  });
}

// extra: 0 global, 1 shared, 2 local, 3 parameters, 4 constant; data: null, or the number of constant
// variables and the begin and the end of each
const Op *isspacep(Warp &w, const Op *op) {
  const u64 *const a = reg<u64>(w, op->a);
  const auto *const constants = static_cast<const u64 *>(op->data);
  const auto is_constant = [&](u64 address) {
    for (u64 i = 0; constants != nullptr && i < constants[0]; ++i)
      if (address >= constants[2 * i + 1] && address < constants[2 * i + 2]) return true;
    return false;
  };
  u32 bits = 0;
  for (unsigned i = 0; i < lanes; ++i) {
    const u32 space = a[i] < shared_window      ? (is_constant(a[i]) ? 4u : 0u)
                      : a[i] < local_window     ? 1u
                      : a[i] < parameter_window ? 2u
                                                : 3u;
    bits |= (space == op->extra ? 1u : 0u) << i;
  }
  u32 &d = predicate(w, op->d);
  d = (d & ~w.mask) | (bits & w.mask);
  return op + 1;
}

const Op *fence(Warp &w, const Op *op) {
  state(w).waits = true;
  if (w.checker != nullptr) w.checker->fence(w, op);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return op + 1;
}
const Op *nanosleep(Warp &w, const Op *op) {
  state(w).waits = true;
  w.budget = 0;  // yield at the next branch
  return op + 1;
}

// ---- extended precision: the carry flag of each lane

enum : u32 { carry_in = 1, carry_out = 2, subtracts = 4, high = 8 };

template <class T, u32 Flags>
const Op *add_carry(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  const T *const a = reg<T>(w, op->a), *const b = reg<T>(w, op->b);
  T *const d = reg<T>(w, op->d);
  u32 carries = 0;
  each(w.mask, [&](unsigned i) {
    const u32 in = (Flags & carry_in) != 0 ? w.carry >> i & 1 : (Flags & subtracts) != 0 ? 1 : 0;
    const T second = b[i];
    // A subtraction adds the complement; its carry is set if there is no borrow.
    const u128 r = u128(a[i]) + ((Flags & subtracts) != 0 ? T(~second) : second) + in;
    d[i] = T(r);
    carries |= (u32(r >> (8 * sizeof(T))) & 1) << i;
  });
  if ((Flags & carry_out) != 0) w.carry = (w.carry & ~w.mask) | carries;
  return op + 1;
}
template <class T, u32 Flags>
const Op *mad_carry(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  using Unsigned = std::make_unsigned_t<T>;
  using Big = std::conditional_t<std::is_signed_v<T>, s128, u128>;
  const T *const a = reg<T>(w, op->a), *const b = reg<T>(w, op->b), *const c = reg<T>(w, op->c);
  T *const d = reg<T>(w, op->d);
  u32 carries = 0;
  each(w.mask, [&](unsigned i) {
    const u32 in = (Flags & carry_in) != 0 ? w.carry >> i & 1 : 0;
    const Big product = Big(a[i]) * b[i];
    const Unsigned part = Unsigned((Flags & high) != 0 ? product >> (8 * sizeof(T)) : product);
    const u128 r = u128(part) + Unsigned(c[i]) + in;
    d[i] = T(r);
    carries |= (u32(r >> (8 * sizeof(T))) & 1) << i;
  });
  if ((Flags & carry_out) != 0) w.carry = (w.carry & ~w.mask) | carries;
  return op + 1;
}

// clang-format off
#define CARRY(name, flags)                                                                     \
  {name ".u32", add_carry<u32, flags>, "444"}, {name ".s32", add_carry<u32, flags>, "444"},    \
  {name ".u64", add_carry<u64, flags>, "888"}, {name ".s64", add_carry<u64, flags>, "888"},
#define MAD(name, flags)                                                                       \
  {name ".u32", mad_carry<u32, flags>, "4444"}, {name ".s32", mad_carry<s32, flags>, "4444"},  \
  {name ".u64", mad_carry<u64, flags>, "8888"}, {name ".s64", mad_carry<s64, flags>, "8888"},
}  // namespace

constinit const LaneTable scalar_operations = {
    CARRY("add.cc", carry_out)
    CARRY("addc", carry_in)
    CARRY("addc.cc", carry_in | carry_out)
    CARRY("sub.cc", carry_out | subtracts)
    CARRY("subc", carry_in | subtracts)
    CARRY("subc.cc", carry_in | carry_out | subtracts)
    MAD("mad.lo.cc", carry_out)
    MAD("mad.hi.cc", carry_out | high)
    MAD("madc.lo", carry_in)
    MAD("madc.hi", carry_in | high)
    MAD("madc.lo.cc", carry_in | carry_out)
    MAD("madc.hi.cc", carry_in | carry_out | high)
    {"convert", convert_lanes, ""},
    {"convert_pack", convert_pack, ""},
    {"convert_packed", convert_packed, ""},
    {"fns.b32", fns, "4444"},
    {"convert_pair", convert_pair, ""},
    {"isspacep", isspacep, ""},
    {"fence", fence, ""},
    {"nanosleep.u32", nanosleep, ""},
};
// clang-format on

}  // namespace cushim::ptx::execute
