// SPDX-License-Identifier: Apache-2.0
// Operations on integers. Included by lanes.hpp only.
#pragma once

#include "execute/lanes_loop.hpp"

namespace cushim::ptx::execute {
namespace {

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

}  // namespace
}  // namespace cushim::ptx::execute
