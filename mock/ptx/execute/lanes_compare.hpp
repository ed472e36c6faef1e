// SPDX-License-Identifier: Apache-2.0
// Comparison and selection. Included by lanes.hpp only.
#pragma once

#include "execute/half.hpp"
#include "execute/lanes_loop.hpp"

namespace cushim::ptx::execute {
namespace {

enum : u32 { combine_and = 1, combine_or = 2, combine_xor = 3, combine_negated = 4, combine_second = 8 };

// Stores the result of a comparison in a predicate. A setp with two predicates stores the negated result in
// the second. Both are combined with a third predicate first, if the instruction has one.
inline const Op *store_compared(Warp &w, const Op *op, u32 bits) {
  const u32 mask = w.mask;
  if (op->extra != 0) [[unlikely]] {
    u32 other = ~bits;
    const u32 kind = op->extra & 3;
    if (kind != 0) {
      const u32 c = predicate(w, op->c) ^ ((op->extra & combine_negated) != 0 ? ~0u : 0);
      bits = kind == combine_and ? bits & c : kind == combine_or ? bits | c : bits ^ c;
      other = kind == combine_and ? other & c : kind == combine_or ? other | c : other ^ c;
    }
    if ((op->extra & combine_second) != 0) {
      u32 &second = predicate(w, u32(op->immediate));
      second = (second & ~mask) | (other & mask);
    }
  }
  u32 &d = predicate(w, op->d);
  d = (d & ~mask) | (bits & mask);
  return op + 1;
}

template <class T, class F>
const Op *compare(Warp &w, const Op *op) {
  const T *const a = reg<T>(w, op->a), *const b = reg<T>(w, op->b);
  u32 bits = 0;
  CUSHIM_PTX_LANES
  for (u32 i = 0; i < lanes; ++i) bits |= F::of(a[i], b[i]) ? 1u << i : 0u;
  return store_compared(w, op, bits);
}

#define CUSHIM_PTX_COMPARISON(name, ...) \
  struct name {                          \
    template <class T>                   \
    static bool of(T a, T b) {           \
      return __VA_ARGS__;                \
    }                                    \
  };
CUSHIM_PTX_COMPARISON(Eq, a == b)
CUSHIM_PTX_COMPARISON(Ne, a != b)
CUSHIM_PTX_COMPARISON(Lt, a < b)
CUSHIM_PTX_COMPARISON(Le, a <= b)
CUSHIM_PTX_COMPARISON(Gt, a > b)
CUSHIM_PTX_COMPARISON(Ge, a >= b)
CUSHIM_PTX_COMPARISON(OrderedNe, a<b || a> b)
CUSHIM_PTX_COMPARISON(Equ, !(a < b || a > b))
CUSHIM_PTX_COMPARISON(Ltu, !(a >= b))
CUSHIM_PTX_COMPARISON(Leu, !(a > b))
CUSHIM_PTX_COMPARISON(Gtu, !(a <= b))
CUSHIM_PTX_COMPARISON(Geu, !(a < b))
CUSHIM_PTX_COMPARISON(Num, a == a && b == b)
CUSHIM_PTX_COMPARISON(Nan, a != a || b != b)

template <class F>
const Op *compare_flushed(Warp &w, const Op *op) {
  const f32 *const a = reg<f32>(w, op->a), *const b = reg<f32>(w, op->b);
  u32 bits = 0;
  CUSHIM_PTX_LANES
  for (u32 i = 0; i < lanes; ++i) bits |= F::of(flushed(a[i]), flushed(b[i])) ? 1u << i : 0u;
  return store_compared(w, op, bits);
}
template <class H, class F, bool Ftz>
const Op *compare_half(Warp &w, const Op *op) {
  const u16 *const a = reg<u16>(w, op->a), *const b = reg<u16>(w, op->b);
  const auto in = [](u16 half) { return H::in(flush_half<Ftz, H>(half)); };
  u32 bits = 0;
  for (u32 i = 0; i < lanes; ++i) bits |= F::of(in(a[i]), in(b[i])) ? 1u << i : 0u;
  return store_compared(w, op, bits);
}

template <class T>
const Op *selp(Warp &w, const Op *op) {
  const T *const a = reg<T>(w, op->a), *const b = reg<T>(w, op->b);
  const u32 p = predicate(w, op->c) ^ op->extra;
  return for_lanes<T>(w, op, [=](u32 i) { return (p >> i & 1) != 0 ? a[i] : b[i]; });
}
template <class T>
struct Slct {
  static T of(T a, T b, s32 c) { return c >= 0 ? a : b; }
};
template <class T>
struct SlctFloat {
  static T of(T a, T b, f32 c) { return c >= 0 ? a : b; }
};
template <class T>
struct SlctFlushed {
  static T of(T a, T b, f32 c) { return flushed(c) >= 0 ? a : b; }
};

}  // namespace
}  // namespace cushim::ptx::execute
