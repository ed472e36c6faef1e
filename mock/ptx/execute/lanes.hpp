// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "execute/half.hpp"
#include "execute/lanes_loop.hpp"

// The table of the operations that vectorize. Each file that includes this header is compiled for one
// instruction set and defines one of the functions of warp.hpp.
namespace cushim::ptx::execute {
namespace {

// ---- integers

template <class T>
using Unsigned = std::make_unsigned_t<T>;
template <class T>
using Wide =
    std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, s32, u32>,
                       std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, s64, u64>,
                                          std::conditional_t<std::is_signed_v<T>, s128, u128>>>;

#define CUSHIM_PTX_INTEGER(name, parameters, ...) \
  template <class T>                              \
  struct name {                                   \
    static T of parameters { __VA_ARGS__; }       \
  };

CUSHIM_PTX_INTEGER(Add, (T a, T b), return T(Unsigned<T>(a) + Unsigned<T>(b)))
CUSHIM_PTX_INTEGER(Sub, (T a, T b), return T(Unsigned<T>(a) - Unsigned<T>(b)))
CUSHIM_PTX_INTEGER(MulLo, (T a, T b), return T(u64(Unsigned<T>(a)) * Unsigned<T>(b)))
CUSHIM_PTX_INTEGER(MulHi, (T a, T b), return T((Wide<T>(a) * Wide<T>(b)) >> (8 * sizeof(T))))
CUSHIM_PTX_INTEGER(MadLo, (T a, T b, T c), return T(u64(Unsigned<T>(a)) * Unsigned<T>(b) + Unsigned<T>(c)))
CUSHIM_PTX_INTEGER(MadHi, (T a, T b, T c), return Add<T>::of(MulHi<T>::of(a, b), c))
// Division by zero returns all ones, for the remainder and for the quotient.
CUSHIM_PTX_INTEGER(Div, (T a, T b), if (b == 0) return T(-1);
                   if (std::is_signed_v<T> && b == T(-1)) return T(Unsigned<T>(0) - Unsigned<T>(a));
                   return T(a / b))
CUSHIM_PTX_INTEGER(Rem, (T a, T b), if (b == 0) return T(-1); if (std::is_signed_v<T> && b == T(-1)) return 0;
                   return T(a % b))
CUSHIM_PTX_INTEGER(Abs, (T a), return a < 0 ? T(Unsigned<T>(0) - Unsigned<T>(a)) : a)
CUSHIM_PTX_INTEGER(Neg, (T a), return T(Unsigned<T>(0) - Unsigned<T>(a)))
CUSHIM_PTX_INTEGER(Min, (T a, T b), return a < b ? a : b)
CUSHIM_PTX_INTEGER(Max, (T a, T b), return a > b ? a : b)
CUSHIM_PTX_INTEGER(MinRelu, (T a, T b), return Max<T>::of(Min<T>::of(a, b), 0))
CUSHIM_PTX_INTEGER(MaxRelu, (T a, T b), return Max<T>::of(Max<T>::of(a, b), 0))
CUSHIM_PTX_INTEGER(And, (T a, T b), return T(a & b))
CUSHIM_PTX_INTEGER(Or, (T a, T b), return T(a | b))
CUSHIM_PTX_INTEGER(Xor, (T a, T b), return T(a ^ b))
CUSHIM_PTX_INTEGER(Not, (T a), return T(~a))
CUSHIM_PTX_INTEGER(Cnot, (T a), return T(a == 0))
CUSHIM_PTX_INTEGER(Mov, (T a), return a)
CUSHIM_PTX_INTEGER(Shl, (T a, u32 b),
                   return b >= 8 * sizeof(T) ? T(0) : T(u64(a) << (b & (8 * sizeof(T) - 1))))
CUSHIM_PTX_INTEGER(Shr, (T a, u32 b), constexpr u32 last = 8 * sizeof(T) - 1;
                   if constexpr (std::is_signed_v<T>) return T(a >> (b > last ? last : b));
                   return b > last ? T(0) : T(a >> (b & last)))
CUSHIM_PTX_INTEGER(Sad, (T a, T b, T c),
                   return T(Unsigned<T>(c) +
                            (a < b ? Unsigned<T>(b) - Unsigned<T>(a) : Unsigned<T>(a) - Unsigned<T>(b))))

template <class T>
struct MulWide {
  static Wide<T> of(T a, T b) { return Wide<T>(a) * Wide<T>(b); }
};
template <class T>
struct MadWide {
  static Wide<T> of(T a, T b, Wide<T> c) {
    return Wide<T>(std::make_unsigned_t<Wide<T>>(Wide<T>(a) * Wide<T>(b)) + std::make_unsigned_t<Wide<T>>(c));
  }
};
struct AddSat {
  static s32 of(s32 a, s32 b) {
    const s64 r = s64(a) + b;
    return s32(r > 0x7fffffff ? 0x7fffffff : r < -s64(0x80000000) ? -s64(0x80000000) : r);
  }
};
struct SubSat {
  static s32 of(s32 a, s32 b) {
    const s64 r = s64(a) - b;
    return s32(r > 0x7fffffff ? 0x7fffffff : r < -s64(0x80000000) ? -s64(0x80000000) : r);
  }
};
template <class T>
struct Mul24 {
  static s64 product(T a, T b) {
    if constexpr (std::is_signed_v<T>) return s64(s32(u32(a) << 8) >> 8) * (s32(u32(b) << 8) >> 8);
    return s64(u64(a & 0xffffff) * (b & 0xffffff));
  }
  static T of(T a, T b) { return T(product(a, b)); }
};
template <class T>
struct Mul24Hi {
  static T of(T a, T b) { return T(Mul24<T>::product(a, b) >> 16); }
};
template <class T>
struct Mad24 {
  static T of(T a, T b, T c) { return Add<T>::of(Mul24<T>::of(a, b), c); }
};
template <class T>
struct Mad24Hi {
  static T of(T a, T b, T c) { return Add<T>::of(Mul24Hi<T>::of(a, b), c); }
};
template <bool Left>
struct ShfWrap {
  static u32 of(u32 a, u32 b, u32 c) {
    const u64 both = u64(b) << 32 | a;
    return Left ? u32((both << (c & 31)) >> 32) : u32(both >> (c & 31));
  }
};
template <bool Left>
struct ShfClamp {
  static u32 of(u32 a, u32 b, u32 c) {
    const u64 both = u64(b) << 32 | a;
    const u32 n = c > 32 ? 32 : c;
    return Left ? u32((both << n) >> 32) : u32(both >> n);
  }
};
template <class T>
struct Popc {
  static u32 of(T a) { return u32(sizeof(T) == 8 ? __builtin_popcountll(a) : __builtin_popcount(u32(a))); }
};
template <class T>
struct Clz {
  static u32 of(T a) {
    return a == 0 ? 8 * sizeof(T) : u32(sizeof(T) == 8 ? __builtin_clzll(a) : __builtin_clz(u32(a)));
  }
};
template <class T>
struct Brev {
  static T of(T a) {
    u64 v = a;
    v = (v >> 1 & 0x5555555555555555) | (v & 0x5555555555555555) << 1;
    v = (v >> 2 & 0x3333333333333333) | (v & 0x3333333333333333) << 2;
    v = (v >> 4 & 0x0f0f0f0f0f0f0f0f) | (v & 0x0f0f0f0f0f0f0f0f) << 4;
    return T(__builtin_bswap64(v) >> (64 - 8 * sizeof(T)));
  }
};
template <class T>
struct Bfe {
  static T of(T a, u32 b, u32 c) {
    constexpr u32 msb = 8 * sizeof(T) - 1;
    const u32 pos = sizeof(T) == 8 ? b : b & 0xff, len = sizeof(T) == 8 ? c : c & 0xff;
    const u64 field = pos > msb ? 0 : u64(Unsigned<T>(a)) >> pos;
    const u64 kept = len >= 64 ? field : field & ((1ull << len) - 1);
    if constexpr (std::is_signed_v<T>) {
      if (len == 0) return 0;
      const u64 end = u64(pos) + len - 1;
      const u32 sign_at = end > msb ? msb : u32(end);
      if ((u64(Unsigned<T>(a)) >> sign_at & 1) == 0) return T(kept);
      if (pos > msb) return T(-1);
      const u32 width = sign_at - pos + 1;
      return T(width >= 64 ? kept : kept | ~0ull << width);
    }
    return T(kept);
  }
};
template <class T>
struct Bfi {
  static T of(T a, T b, u32 c, u32 d) {
    constexpr u32 size = 8 * sizeof(T);
    const u32 pos = size == 64 ? c : c & 0xff, len = size == 64 ? d : d & 0xff;
    if (pos >= size || len == 0) return b;
    const u64 ones = (len >= 64 ? ~0ull : (1ull << len) - 1) << pos;
    return T((u64(b) & ~ones) | (u64(a) << pos & ones));
  }
};
template <class T>
struct Bfind {
  static u32 of(T a) {
    const Unsigned<T> v = std::is_signed_v<T> && a < 0 ? Unsigned<T>(~a) : Unsigned<T>(a);
    return v == 0 ? ~0u : 63 - u32(__builtin_clzll(u64(v)));
  }
};
template <class T>
struct BfindShift {
  static u32 of(T a) {
    const u32 at = Bfind<T>::of(a);
    return at == ~0u ? at : 8 * sizeof(T) - 1 - at;
  }
};
struct Prmt {
  static u32 of(u32 a, u32 b, u32 c) {
    const u64 both = u64(b) << 32 | a;
    u32 result = 0;
    for (u32 i = 0; i < 4; ++i) {
      const u32 selector = c >> 4 * i;
      u32 byte = u32(both >> 8 * (selector & 7)) & 0xff;
      byte = (selector & 8) != 0 ? ((byte & 0x80) != 0 ? 0xff : 0) : byte;
      result |= byte << 8 * i;
    }
    return result;
  }
};
// The other modes select bytes starting at position c & 3.
enum class PrmtMode { forward, backward, replicate, clamp_left, clamp_right, replicate16 };
template <PrmtMode Mode>
struct PrmtOf {
  static u32 of(u32 a, u32 b, u32 c) {
    const u64 both = u64(b) << 32 | a;
    const u32 n = c & 3;
    u32 result = 0;
    for (u32 i = 0; i < 4; ++i) {
      u32 at = 0;
      switch (Mode) {
        case PrmtMode::forward:
          at = n + i;
          break;
        case PrmtMode::backward:
          at = (n - i) & 7;
          break;
        case PrmtMode::replicate:
          at = n;
          break;
        case PrmtMode::clamp_left:
          at = i > n ? i : n;
          break;
        case PrmtMode::clamp_right:
          at = i < n ? i : n;
          break;
        case PrmtMode::replicate16:
          at = (n & 1) * 2 + (i & 1);
          break;
      }
      result |= (u32(both >> 8 * at) & 0xff) << 8 * i;
    }
    return result;
  }
};
struct MadHiSat {
  static s32 of(s32 a, s32 b, s32 c) { return AddSat::of(MulHi<s32>::of(a, b), c); }
};
struct Mad24HiSat {
  static s32 of(s32 a, s32 b, s32 c) { return AddSat::of(Mul24Hi<s32>::of(a, b), c); }
};
template <class A, class B>
struct Dp4a {
  static u32 of(u32 a, u32 b, u32 c) {
    for (u32 i = 0; i < 32; i += 8) c += u32(s32(A(a >> i)) * s32(B(b >> i)));
    return c;
  }
};
template <class A, class B, bool High>
struct Dp2a {
  using A16 = std::conditional_t<std::is_signed_v<A>, s16, u16>;
  static u32 of(u32 a, u32 b, u32 c) {
    b >>= High ? 16 : 0;
    return c + u32(s32(A16(a)) * s32(B(b))) + u32(s32(A16(a >> 16)) * s32(B(b >> 8)));
  }
};
template <bool Clamp>
struct Bmsk {
  static u32 of(u32 a, u32 b) {
    if (!Clamp) a &= 31, b &= 31;
    if (a > 31) return 0;
    const u64 ones = b > 31 ? ~0ull : (1ull << b) - 1;
    return u32(ones << a);
  }
};
template <class T, bool Clamp>
struct Szext {
  static T of(T a, u32 b) {
    if (!Clamp) b &= 31;
    if (b >= 32) return a;
    if (b == 0) return 0;
    return T(T(u32(a) << (32 - b)) >> (32 - b));
  }
};

// Evaluates lop3 as a sum of products over its truth table.
const Op *lop3(Warp &w, const Op *op) {
  const u32 *const a = reg<u32>(w, op->a), *const b = reg<u32>(w, op->b), *const c = reg<u32>(w, op->c);
  const u32 table = op->extra;
  u32 m[8];
  for (u32 k = 0; k < 8; ++k) m[k] = (table >> k & 1) != 0 ? ~0u : 0;
  return for_lanes<u32>(w, op, [=](u32 i) {
    const u32 x = a[i], y = b[i], z = c[i];
    const u32 zero = (m[0] & ~z) | (m[1] & z), one = (m[2] & ~z) | (m[3] & z);
    const u32 two = (m[4] & ~z) | (m[5] & z), three = (m[6] & ~z) | (m[7] & z);
    return (~x & ((~y & zero) | (y & one))) | (x & ((~y & two) | (y & three)));
  });
}

template <class T>
const Op *bfi(Warp &w, const Op *op) {
  const T *const a = reg<T>(w, op->a), *const b = reg<T>(w, op->b);
  const u32 *const c = reg<u32>(w, op->c), *const d = reg<u32>(w, op->extra);
  return for_lanes<T>(w, op, [=](u32 i) { return Bfi<T>::of(a[i], b[i], c[i], d[i]); });
}

// ---- comparison and selection

enum : u32 { combine_and = 1, combine_or = 2, combine_xor = 3, combine_negated = 4, combine_second = 8 };

// Stores the result of a comparison; setp with a second predicate stores both.
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

// ---- f32 and f64

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
CUSHIM_PTX_FLOAT(FRsqrt, (T a), return finish<Ftz, Sat>(T(1) / root(flush<Ftz>(a)), a))

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
CUSHIM_PTX_HALF(HFma, (u16 a, u16 b, u16 c),
                const f32 r = fma_to_odd(H::in(in(a)), H::in(in(b)), H::in(in(c)));
                return finish(Ftz && magnitude(r) < H::in(H::smallest_normal) ? H::out(r * 0) : H::out(r)))
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
