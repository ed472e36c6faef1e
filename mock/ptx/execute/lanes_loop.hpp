// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "execute/warp.hpp"

// Loops over lanes, and arithmetic on one lane. Everything is in an unnamed namespace, so that each
// instruction set has its own functions.
namespace cushim::ptx::execute {
namespace {

#if defined(__clang__)
#define CUSHIM_PTX_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define CUSHIM_PTX_LANES _Pragma("GCC ivdep")
#endif

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
using f32 = float;
using f64 = double;
__extension__ typedef __int128 s128;
__extension__ typedef unsigned __int128 u128;

template <class T>
T *reg(Warp &w, u32 offset) {
  return reinterpret_cast<T *>(w.frame + offset);
}
inline u32 &predicate(Warp &w, u32 offset) { return *reinterpret_cast<u32 *>(w.frame + offset); }

// Stores result(i) in the destination of each active lane i.
template <class D, class F>
inline const Op *for_lanes(Warp &w, const Op *op, F &&result) {
  D *const d = reg<D>(w, op->d);
  if (!w.partial) {
    CUSHIM_PTX_LANES
    for (u32 i = 0; i < lanes; ++i) d[i] = result(i);
  } else {
    const u32 mask = w.mask;
    CUSHIM_PTX_LANES
    for (u32 i = 0; i < lanes; ++i) {
      const D value = result(i);
      d[i] = (mask >> i & 1) != 0 ? value : d[i];
    }
  }
  return op + 1;
}

template <class F>
inline const Op *for_mask(Warp &w, const Op *op, F &&result) {
  u32 bits = 0;
  CUSHIM_PTX_LANES
  for (u32 i = 0; i < lanes; ++i) bits |= result(i) ? 1u << i : 0u;
  u32 &d = predicate(w, op->d);
  d = (d & ~w.mask) | (bits & w.mask);
  return op + 1;
}

template <class D, class A, class F>
const Op *unary(Warp &w, const Op *op) {
  const A *const a = reg<A>(w, op->a);
  return for_lanes<D>(w, op, [=](u32 i) { return F::of(a[i]); });
}
template <class D, class A, class B, class F>
const Op *binary(Warp &w, const Op *op) {
  const A *const a = reg<A>(w, op->a);
  const B *const b = reg<B>(w, op->b);
  return for_lanes<D>(w, op, [=](u32 i) { return F::of(a[i], b[i]); });
}
template <class D, class A, class B, class C, class F>
const Op *ternary(Warp &w, const Op *op) {
  const A *const a = reg<A>(w, op->a);
  const B *const b = reg<B>(w, op->b);
  const C *const c = reg<C>(w, op->c);
  return for_lanes<D>(w, op, [=](u32 i) { return F::of(a[i], b[i], c[i]); });
}

template <class To, class From>
inline To bits_as(From from) {
  return __builtin_bit_cast(To, from);
}

// Replaces any NaN by the NaN that arithmetic returns.
inline f32 canonical(f32 r) { return r != r ? bits_as<f32>(0x7fffffffu) : r; }
inline f64 canonical(f64 r) { return r != r ? bits_as<f64>(0xfff8000000000000ull) : r; }
// In f64 arithmetic returns a NaN operand, made quiet: the second operand's, else the third's or the first's.
inline f64 quiet(f64 a) { return bits_as<f64>(bits_as<u64>(a) | 1ull << 51); }
inline f32 chosen_nan(f32 r, f32) { return canonical(r); }
inline f32 chosen_nan(f32 r, f32, f32) { return canonical(r); }
inline f32 chosen_nan(f32 r, f32, f32, f32) { return canonical(r); }
inline f64 chosen_nan(f64 r, f64 a) { return a != a ? quiet(a) : canonical(r); }
inline f64 chosen_nan(f64 r, f64 a, f64 b) { return b != b ? quiet(b) : chosen_nan(r, a); }
inline f64 chosen_nan(f64 r, f64 a, f64 b, f64 c) {
  return b != b ? quiet(b) : c != c ? quiet(c) : chosen_nan(r, a);
}

inline f32 flushed(f32 r) {
  const u32 bits = bits_as<u32>(r);
  return (bits & 0x7f800000u) == 0 ? bits_as<f32>(bits & 0x80000000u) : r;
}
template <bool Ftz>
inline f32 flush(f32 r) {
  return Ftz ? flushed(r) : r;
}
template <bool Ftz>
inline f64 flush(f64 r) {
  return r;
}
// A NaN becomes +0 when saturated.
template <bool Sat, class T>
inline T saturate(T r) {
  return !Sat ? r : r > T(0) ? (r < T(1) ? r : T(1)) : T(0);
}

}  // namespace
}  // namespace cushim::ptx::execute
