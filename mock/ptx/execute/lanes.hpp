// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "execute/half.hpp"
#include "execute/lanes_compare.hpp"
#include "execute/lanes_float.hpp"
#include "execute/lanes_integer.hpp"
#include "execute/lanes_loop.hpp"

// The operations that vectorize. Each file that includes this header is compiled for one
// instruction set and defines one of the functions of warp.hpp.
namespace cushim::ptx::execute {
namespace {

// ---- frequent conversions; convert.cpp has all of them

template <class D, class A>
struct Convert {
  static D of(A a) { return D(a); }
};
// A NaN becomes 0. convert.cpp handles the manual's exceptions: from f64, and to 64 bits.
template <class D, class A>
struct Truncate {
  static D of(A a) {
    constexpr A low = std::is_signed_v<D> ? A(-0x1p31) : A(0),
                end = std::is_signed_v<D> ? A(0x1p31) : A(0x1p32);
    if (!(a == a)) return 0;
    if (a >= end) return D(~D(0)) < 0 ? D(0x7fffffff) : D(~D(0));
    if (a <= low) return std::is_signed_v<D> ? D(-0x7fffffff - 1) : D(0);
    return D(s64(a));
  }
};
struct F32OfF64 {
  static f32 of(f64 a) { return f32(a); }
};
struct F64OfF32 {
  static f64 of(f32 a) { return f64(a); }
};
struct F32OfF16 {
  static f32 of(u16 a) { return canonical(f32_of_f16(a)); }
};
struct F32OfBF16 {
  static f32 of(u16 a) { return f32_of_bf16(a); }
};
struct F16OfF32 {
  static u16 of(f32 a) { return f16_of_f32(a); }
};
struct BF16OfF32 {
  static u16 of(f32 a) { return bf16_of_f32(a); }
};

// ---- packing and unpacking: mov with a vector; data: the offsets of the parts (~0: no part)

struct Parts {
  u32 count;
  u32 at[8];
};
template <class Whole, class Part>
const Op *pack(Warp &w, const Op *op) {
  const auto &parts = *static_cast<const Parts *>(op->data);
  Whole value[lanes] = {};
  for (u32 p = 0; p < parts.count; ++p) {
    const Part *const from = reg<Part>(w, parts.at[p]);
    for (u32 i = 0; i < lanes; ++i) value[i] |= Whole(from[i]) << (8 * sizeof(Part) * p);
  }
  const Whole *const v = value;
  return for_lanes<Whole>(w, op, [=](u32 i) { return v[i]; });
}
template <class Whole, class Part>
const Op *unpack(Warp &w, const Op *op) {
  const auto &parts = *static_cast<const Parts *>(op->data);
  Whole value[lanes];
  __builtin_memcpy(value, reg<Whole>(w, op->a), sizeof value);
  for (u32 p = 0; p < parts.count; ++p) {
    if (parts.at[p] == ~0u) continue;
    Part *const to = reg<Part>(w, parts.at[p]);
    const u32 mask = w.mask, partial = w.partial;
    for (u32 i = 0; i < lanes; ++i) {
      const Part part = Part(value[i] >> (8 * sizeof(Part) * p));
      to[i] = !partial || (mask >> i & 1) != 0 ? part : to[i];
    }
  }
  return op + 1;
}

const Op *predicate_and(Warp &w, const Op *op) {
  u32 &d = predicate(w, op->d);
  d = (d & ~w.mask) | (predicate(w, op->a) & predicate(w, op->b) & w.mask);
  return op + 1;
}
const Op *predicate_or(Warp &w, const Op *op) {
  u32 &d = predicate(w, op->d);
  d = (d & ~w.mask) | ((predicate(w, op->a) | predicate(w, op->b)) & w.mask);
  return op + 1;
}
const Op *predicate_xor(Warp &w, const Op *op) {
  u32 &d = predicate(w, op->d);
  d = (d & ~w.mask) | ((predicate(w, op->a) ^ predicate(w, op->b)) & w.mask);
  return op + 1;
}
const Op *predicate_not(Warp &w, const Op *op) {
  u32 &d = predicate(w, op->d);
  d = (d & ~w.mask) | (~predicate(w, op->a) & w.mask);
  return op + 1;
}
const Op *predicate_mov(Warp &w, const Op *op) {
  u32 &d = predicate(w, op->d);
  d = (d & ~w.mask) | (predicate(w, op->a) & w.mask);
  return op + 1;
}

}  // namespace
}  // namespace cushim::ptx::execute
