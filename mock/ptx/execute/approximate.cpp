// SPDX-License-Identifier: Apache-2.0
// Approximations: the functions of the special function units.
#include <cmath>
#include <iterator>

#include "execute/convert.hpp"
#include "execute/lane_values.hpp"
#include "execute/machine.hpp"
#include "execute/special_functions.hpp"

namespace cushim::ptx::execute {
namespace {

// The functions without .ftz scale arguments and results that are or may be subnormal, as the compiler does.
inline bool is_subnormal(f32 a) { return __builtin_fabsf(a) < 0x1p-126f; }
template <bool Ftz>
struct Rcp {
  static f32 of(f32 a) {
    if (!Ftz && is_subnormal(a)) return reciprocal(a * 0x1p24f) * 0x1p24f;
    if (!Ftz && __builtin_fabsf(a) >= 0x1p126f) return reciprocal(a * 0x1p-2f) * 0x1p-2f;
    return reciprocal(a);
  }
};
template <bool Ftz>
struct Rsqrt {
  static f32 of(f32 a) {
    return !Ftz && is_subnormal(a) ? inverse_square_root(a * 0x1p24f) * 0x1p12f : inverse_square_root(a);
  }
};
template <bool Ftz>
struct Sqrt {
  static f32 of(f32 a) {
    return !Ftz && is_subnormal(a) ? square_root(a * 0x1p24f) * 0x1p-12f : square_root(a);
  }
};
template <bool Ftz>
struct Ex2 {
  static f32 of(f32 a) {
    if (Ftz || !(a < -126)) return exponential(a);
    const f32 root = exponential(a * 0.5f);
    return root * root;
  }
};
template <bool Ftz>
struct Lg2 {
  static f32 of(f32 a) { return !Ftz && is_subnormal(a) ? logarithm(a * 0x1p24f) - 24 : logarithm(a); }
};
template <bool>
struct Sin {
  static f32 of(f32 a) { return sine(a); }
};
template <bool>
struct Cos {
  static f32 of(f32 a) { return cosine(a); }
};
struct Tanh {
  static f32 of(f32 a) { return hyperbolic_tangent(a); }
};
// Returns a function of an f16 or bf16. Measured: the result of f32 is cut off.
template <class F, bool Brain>
u64 of_half(u64 bits) {
  constexpr Kind kind = Brain ? Kind::bf16 : Kind::f16;
  const f32 result = F::of(f32(value_of(kind, bits)));
  const bool overflows = !Brain && result >= 0x1p16f;
  return bits_of(kind, result, overflows ? Rounding::nearest : Rounding::zero);
}
template <class F, bool Brain>
const Op *approximate_half(Warp &w, const Op *op) {
  const u16 *const a = reg<u16>(w, op->a);
  u16 *const d = reg<u16>(w, op->d);
  each(w.mask, [&](unsigned i) { d[i] = u16(of_half<F, Brain>(a[i])); });
  return op + 1;
}
template <class F, bool Brain>
const Op *approximate_halves(Warp &w, const Op *op) {
  const u32 *const a = reg<u32>(w, op->a);
  u32 *const d = reg<u32>(w, op->d);
  each(w.mask, [&](unsigned i) {
    const u64 low = of_half<F, Brain>(a[i] & 0xffff);
    const u64 up = of_half<F, Brain>(a[i] >> 16);
    d[i] = u32(up << 16 | low);
  });
  return op + 1;
}
// Returns the approximation of a normal number, not negative with `Root`, as MUFU.RCP64H and MUFU.RSQ64H
// compute it on an H200: that of f32 for its upper 20 fraction bits, cut off to as many bits.
template <bool Root>
f64 approximate_upper(u64 bits) {
  const int exponent = int(bits >> 52 & 0x7ff) - 1023, odd = Root ? exponent & 1 : 0;
  const f32 significand = bits_as<f32>(u32(127 + odd) << 23 | u32(bits >> 32 & 0xfffff) << 3);
  const f32 r = Root ? inverse_square_root(significand) : reciprocal(significand);
  const f64 scaled = std::ldexp(f64(r), Root ? (odd - exponent) / 2 : -exponent);
  return bits_as<f64>((bits_as<u64>(scaled) & 0xffffffff00000000ull) | (bits & 1ull << 63));
}
template <bool Root>
const Op *approximate_f64(Warp &w, const Op *op) {
  const f64 *const a = reg<f64>(w, op->a);
  f64 *const d = reg<f64>(w, op->d);
  each(w.mask, [&](unsigned i) {
    const u64 in = bits_as<u64>(a[i]) & 0xffffffff00000000ull;
    f64 x = bits_as<f64>(in);
    if ((in & 0x7ff0000000000000ull) == 0) x = std::copysign(0.0, x);
    const bool is_normal = std::isnormal(x) && !(Root && x < 0);
    const f64 r = is_normal ? approximate_upper<Root>(in) : Root ? 1 / std::sqrt(x) : 1 / x;
    u64 out = bits_as<u64>(r) & 0xffffffff00000000ull;
    if ((out & 0x7ff0000000000000ull) == 0) out &= 1ull << 63;
    d[i] = r != r ? bits_as<f64>(0x7fffffff00000000ull) : bits_as<f64>(out);
  });
  return op + 1;
}
// rsqrt.approx.f64: the approximation, and one step that improves it.
const Op *inverse_square_root_f64(Warp &w, const Op *op) {
  const f64 *const a = reg<f64>(w, op->a);
  f64 *const d = reg<f64>(w, op->d);
  each(w.mask, [&](unsigned i) {
    if (!(a[i] > 0) || std::isinf(a[i])) {
      d[i] = chosen_nan(1 / std::sqrt(a[i]), a[i]);
      return;
    }
    const bool is_subnormal = !std::isnormal(a[i]);
    const f64 x = is_subnormal ? a[i] * 0x1p54 : a[i], y = approximate_upper<true>(bits_as<u64>(x));
    const f64 rest = std::fma(x, -(y * y), 1.0);
    const f64 r = std::fma(std::fma(rest, 0.375, 0.5), y * rest, y);
    d[i] = is_subnormal ? r * 0x1p27 : r;
  });
  return op + 1;
}

#define APPROXIMATE(name, F) \
  {name ".f32", map_active<F<false>::of>, "44"}, { name ".ftz.f32", map_active<F<true>::of>, "44" }

}  // namespace

constinit const LaneTable approximate_operations = {
    APPROXIMATE("rcp_approx", Rcp),
    APPROXIMATE("rsqrt.approx", Rsqrt),
    APPROXIMATE("sqrt_approx", Sqrt),
    APPROXIMATE("sin.approx", Sin),
    APPROXIMATE("cos.approx", Cos),
    APPROXIMATE("lg2.approx", Lg2),
    APPROXIMATE("ex2.approx", Ex2),
    {"tanh.approx.f32", map_active<Tanh::of>, "44"},
    {"tanh.approx.f16", approximate_half<Tanh, false>, "22"},
    {"tanh.approx.bf16", approximate_half<Tanh, true>, "22"},
    {"tanh.approx.f16x2", approximate_halves<Tanh, false>, "44"},
    {"tanh.approx.bf16x2", approximate_halves<Tanh, true>, "44"},
    {"ex2.approx.f16", approximate_half<Ex2<true>, false>, "22"},
    {"ex2.approx.ftz.bf16", approximate_half<Ex2<true>, true>, "22"},
    {"ex2.approx.f16x2", approximate_halves<Ex2<true>, false>, "44"},
    {"ex2.approx.ftz.bf16x2", approximate_halves<Ex2<true>, true>, "44"},
    {"rcp_approx.ftz.f64", approximate_f64<false>, "88"},
    {"rsqrt.approx.ftz.f64", approximate_f64<true>, "88"},
    {"rsqrt.approx.f64", inverse_square_root_f64, "88"},
};

}  // namespace cushim::ptx::execute
