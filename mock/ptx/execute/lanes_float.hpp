// SPDX-License-Identifier: Apache-2.0
// Operations on f32, f64, f16, bf16 and pairs of halves. Included by lanes.hpp only.
#pragma once

#include "execute/half.hpp"
#include "execute/lanes_loop.hpp"

namespace cushim::ptx::execute {
namespace {

#define CUSHIM_PTX_FLOAT(name, parameters, ...) \
  template <class T, bool Ftz, bool Sat>        \
  struct name {                                 \
    static T of parameters { __VA_ARGS__; }     \
  };
template <bool Ftz, bool Sat, class T, class... Operands>
inline T finish(T r, Operands... operands) {
  return chosen_nan(saturate<Sat>(flush<Ftz>(r)), operands...);
}
inline f32 fused(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
inline f64 fused(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
inline f32 root(f32 a) { return __builtin_sqrtf(a); }
inline f64 root(f64 a) { return __builtin_sqrt(a); }

CUSHIM_PTX_FLOAT(FAdd, (T a, T b), return finish<Ftz, Sat>(flush<Ftz>(a) + flush<Ftz>(b), a, b))
CUSHIM_PTX_FLOAT(FSub, (T a, T b), return finish<Ftz, Sat>(flush<Ftz>(a) - flush<Ftz>(b), a, b))
// b - a, as ptxas computes it if a is defined first.
CUSHIM_PTX_FLOAT(FReversedSub, (T a, T b), return finish<Ftz, Sat>(flush<Ftz>(b) - flush<Ftz>(a), a, b))
// A product that is flushed must be tiny before rounding.
template <bool Ftz>
inline bool tiny_product(f32 a, f32 b) {
  const f64 exact = f64(a) * f64(b);
  return Ftz && exact < 0x1p-126 && exact > -0x1p-126;
}
template <bool Ftz>
inline bool tiny_product(f64, f64) {
  return false;
}
CUSHIM_PTX_FLOAT(FMul, (T a, T b), const T x = flush<Ftz>(a); const T y = flush<Ftz>(b); const T r = x * y;
                 return tiny_product<Ftz>(x, y) ? saturate<Sat>(r * 0) : finish<Ftz, Sat>(r, a, b))
// So must a quotient and a sum that are rounded to the smallest normal number. Measured: the sum is not
// flushed if the addend has this magnitude. The differences are exact.
template <bool Ftz>
inline f32 flush_quotient(f32 r, f32 a, f32 b) {
  const bool tiny = __builtin_fabs(f64(a)) < 0x1p-126 * __builtin_fabs(f64(b));
  return Ftz && __builtin_fabsf(r) == 0x1p-126f && tiny ? r * 0 : r;
}
template <bool Ftz>
inline f32 flush_fused(f32 r, f32 a, f32 b, f32 c) {
  const f64 product = f64(a) * f64(b);
  const bool tiny =
      (r == 0x1p-126f && product < 0x1p-126 - f64(c)) || (r == -0x1p-126f && product > -0x1p-126 - f64(c));
  return Ftz && tiny && __builtin_fabsf(c) != 0x1p-126f ? r * 0 : r;
}
template <bool Ftz>
inline f64 flush_quotient(f64 r, f64, f64) {
  return r;
}
template <bool Ftz>
inline f64 flush_fused(f64 r, f64, f64, f64) {
  return r;
}
// A NaN dividend takes precedence over a NaN divisor.
CUSHIM_PTX_FLOAT(FDiv, (T a, T b), const T x = flush<Ftz>(a); const T y = flush<Ftz>(b);
                 return finish<Ftz, Sat>(flush_quotient<Ftz>(x / y, x, y), b, a))
CUSHIM_PTX_FLOAT(FFma, (T a, T b, T c), const T x = flush<Ftz>(a); const T y = flush<Ftz>(b);
                 const T z = flush<Ftz>(c);
                 return finish<Ftz, Sat>(flush_fused<Ftz>(fused(x, y, z), x, y, z), a, b, c))
CUSHIM_PTX_FLOAT(FRcp, (T a), return FDiv<T, Ftz, Sat>::of(T(1), a))
CUSHIM_PTX_FLOAT(FSqrt, (T a), return finish<Ftz, Sat>(root(flush<Ftz>(a)), a))

template <class T>
struct SignBit;
template <>
struct SignBit<f32> {
  using Bits = u32;
  static constexpr u32 value = 0x80000000u;
};
template <>
struct SignBit<f64> {
  using Bits = u64;
  static constexpr u64 value = 1ull << 63;
};
template <class T>
using BitsOf = typename SignBit<T>::Bits;

// Returns the magnitude of any operand, including NaN.
inline f32 magnitude(f32 a) { return bits_as<f32>(bits_as<u32>(a) & ~SignBit<f32>::value); }
inline f64 magnitude(f64 a) { return bits_as<f64>(bits_as<u64>(a) & ~SignBit<f64>::value); }
CUSHIM_PTX_FLOAT(FAbs, (T a), return chosen_nan(a != a ? a : magnitude(flush<Ftz>(a)), a))
CUSHIM_PTX_FLOAT(FNeg, (T a),
                 return chosen_nan(a != a ? a
                                          : bits_as<T>(bits_as<BitsOf<T>>(flush<Ftz>(a)) ^ SignBit<T>::value),
                                   a))
// The result has the sign of the first operand.
CUSHIM_PTX_FLOAT(FCopysign, (T a, T b),
                 return bits_as<T>((bits_as<BitsOf<T>>(b) & ~SignBit<T>::value) |
                                   (bits_as<BitsOf<T>>(a) & SignBit<T>::value)))

// -0 is less than +0. A single NaN is ignored unless `Nan` is set.
template <class T, bool Ftz, bool Nan, bool Absolute, bool Max>
struct FExtreme {
  static T of(T x, T y) {
    const T a = flush<Ftz>(x), b = flush<Ftz>(y);
    const T l = Absolute ? magnitude(a) : a, r = Absolute ? magnitude(b) : b;
    const bool first_negative = (bits_as<BitsOf<T>>(l) & SignBit<T>::value) != 0;
    T result = Max ? (l > r            ? a
                      : l < r          ? b
                      : first_negative ? b
                                       : a)
                   : (l < r            ? a
                      : l > r          ? b
                      : first_negative ? a
                                       : b);
    result = a != a ? (Nan ? a : b) : b != b ? (Nan ? b : a) : result;
    if (Absolute) result = magnitude(result);
    return a != a && b != b ? chosen_nan(result, b) : chosen_nan(result, result);
  }
};
// The sign of the result is the exclusive or of the operands' signs.
template <class T, bool Ftz, bool Nan, bool Max>
struct FXorsign {
  static T of(T a, T b) {
    const T r = FExtreme<T, Ftz, Nan, true, Max>::of(a, b);
    const auto sign = (bits_as<BitsOf<T>>(a) ^ bits_as<BitsOf<T>>(b)) & SignBit<T>::value;
    return r != r ? r : bits_as<T>(bits_as<BitsOf<T>>(r) | sign);
  }
};
#define CUSHIM_PTX_TESTP(name, ...)                                    \
  template <class T>                                                   \
  const Op *name(Warp &w, const Op *op) {                              \
    const T *const p = reg<T>(w, op->a);                               \
    return for_mask(w, op, [=](u32 i) {                                \
      const T a = p[i];                                                \
      constexpr T least = sizeof(T) == 4 ? T(0x1p-126) : T(0x1p-1022); \
      const T m = magnitude(a);                                        \
      (void)least, (void)m;                                            \
      return __VA_ARGS__;                                              \
    });                                                                \
  }
CUSHIM_PTX_TESTP(testp_finite, m - m == 0)
CUSHIM_PTX_TESTP(testp_infinite, m == m && m - m != 0)
CUSHIM_PTX_TESTP(testp_number, a == a)
CUSHIM_PTX_TESTP(testp_notanumber, a != a)
CUSHIM_PTX_TESTP(testp_normal, (m >= least || m == 0) && m - m == 0)
CUSHIM_PTX_TESTP(testp_subnormal, m < least && m != 0)

// ---- f16, bf16 and pairs of them

#define CUSHIM_PTX_HALF(name, parameters, ...)                  \
  template <class H, bool Ftz, bool Sat, bool Relu>             \
  struct name {                                                 \
    static u16 in(u16 a) { return flush_half<Ftz, H>(a); }      \
    static u16 finish(u16 r) {                                  \
      r = flush_half<Ftz, H>(r);                                \
      const f32 v = H::in(r);                                   \
      if (Sat) return v > 0 ? (v < 1 ? r : H::out(1)) : u16(0); \
      if (v != v) return 0x7fff;                                \
      return Relu && (r & 0x8000) != 0 ? u16(0) : r;            \
    }                                                           \
    static u16 of parameters { __VA_ARGS__; }                   \
  };
CUSHIM_PTX_HALF(HAdd, (u16 a, u16 b), return finish(H::out(H::in(in(a)) + H::in(in(b)))))
CUSHIM_PTX_HALF(HSub, (u16 a, u16 b), return finish(H::out(H::in(in(a)) - H::in(in(b)))))
CUSHIM_PTX_HALF(HMul, (u16 a, u16 b), const f32 r = H::in(in(a)) * H::in(in(b));
                return finish(Ftz && magnitude(r) < H::in(H::smallest_normal) ? H::out(r * 0) : H::out(r)))
// Measured: the sum of the smallest normal number and a product is flushed only if it is smaller when rounded
// to 11 bits.
CUSHIM_PTX_HALF(HFma, (u16 a, u16 b, u16 c),
                const f32 r = fma_to_odd(H::in(in(a)), H::in(in(b)), H::in(in(c)));
                const f32 factor = (c & 0x7fff) == H::smallest_normal ? 1 - 0x1p-12f : 1.0f;
                const bool tiny = magnitude(r) < H::in(H::smallest_normal)*factor;
                return finish(H::out(Ftz && tiny ? r * 0 : r)))
// .oob: the result is 0 if a or b is the NaN with which tensor copies fill elements outside of a tensor, with
// either sign.
CUSHIM_PTX_HALF(HFmaOob, (u16 a, u16 b, u16 c),
                return (a & 0x7fff) == out_of_bounds_nan || (b & 0x7fff) == out_of_bounds_nan
                           ? u16(0)
                           : HFma<H, Ftz, Sat, Relu>::of(a, b, c))
CUSHIM_PTX_HALF(HNeg, (u16 a), return H::in(a) != H::in(a) ? u16(0x7fff) : u16(in(a) ^ 0x8000))
CUSHIM_PTX_HALF(HAbs, (u16 a), return H::in(a) != H::in(a) ? u16(0x7fff) : u16(in(a)&0x7fff))
// Here Sat means .NaN and Relu means .xorsign.abs.
CUSHIM_PTX_HALF(HMin, (u16 a, u16 b), const f32 x = H::in(in(a)); const f32 y = H::in(in(b));
                return H::out(Relu ? FXorsign<f32, false, Sat, false>::of(x, y)
                                   : FExtreme<f32, false, Sat, false, false>::of(x, y)))
CUSHIM_PTX_HALF(HMax, (u16 a, u16 b), const f32 x = H::in(in(a)); const f32 y = H::in(in(b));
                return H::out(Relu ? FXorsign<f32, false, Sat, true>::of(x, y)
                                   : FExtreme<f32, false, Sat, false, true>::of(x, y)))

template <class F>
struct Two {
  static u32 of(u32 a) { return u32(F::of(u16(a))) | u32(F::of(u16(a >> 16))) << 16; }
  static u32 of(u32 a, u32 b) {
    return u32(F::of(u16(a), u16(b))) | u32(F::of(u16(a >> 16), u16(b >> 16))) << 16;
  }
  static u32 of(u32 a, u32 b, u32 c) {
    return u32(F::of(u16(a), u16(b), u16(c))) | u32(F::of(u16(a >> 16), u16(b >> 16), u16(c >> 16))) << 16;
  }
};
template <class F>
struct TwoInts {
  static u32 of(u32 a, u32 b) {
    return u32(u16(F::of(decltype(F::of(0, 0))(a), decltype(F::of(0, 0))(b)))) |
           u32(u16(F::of(decltype(F::of(0, 0))(a >> 16), decltype(F::of(0, 0))(b >> 16)))) << 16;
  }
};

}  // namespace
}  // namespace cushim::ptx::execute
