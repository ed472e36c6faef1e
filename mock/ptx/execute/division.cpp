// SPDX-License-Identifier: Apache-2.0
// Approximate quotients and their factors: ptxas computes the product of a dividend and a reciprocal.
// Without .ftz, both operands are scaled by 2^24 if the divisor is subnormal. div.full scales them by 1/4 if
// the divisor is large, because its reciprocal would be flushed.
#include <iterator>

#include "execute/lane_values.hpp"
#include "execute/machine.hpp"
#include "execute/special_functions.hpp"

namespace cushim::ptx::execute {
namespace {

template <bool Ftz>
f32 product(f32 a, f32 b) {
  const f32 x = flush<Ftz>(a), y = flush<Ftz>(b);
  const bool tiny = __builtin_fabs(f64(x) * f64(y)) < 0x1p-126;  // before rounding
  return Ftz && tiny ? x * y * 0 : canonical(x * y);
}

template <bool Ftz, bool Full>
struct Factors {
  static f32 scaled(f32 value, f32 divisor) {
    const f32 factor = division_scale(divisor, Ftz, Full);
    return factor == 1 ? value : product<Ftz>(value, factor);
  }
  static f32 dividend(f32 a, f32 b) { return scaled(a, b); }
  static f32 inverse(f32 b) { return reciprocal(scaled(b, b)); }
  static f32 quotient(f32 a, f32 b) { return product<Ftz>(inverse(b), dividend(a, b)); }
};

template <f32 (*Function)(f32, f32)>
const Op *divide(Warp &w, const Op *op) {
  const f32 *const a = reg<f32>(w, op->a), *const b = reg<f32>(w, op->b);
  f32 *const d = reg<f32>(w, op->d);
  each(w.mask, [&](unsigned i) { d[i] = Function(a[i], b[i]); });
  return op + 1;
}

#define DIVISION(name, F)                                                                                    \
  {"div_" name ".f32", divide<F::quotient>, "444"}, {"dividend." name ".f32", divide<F::dividend>, "444"}, { \
    "reciprocal." name ".f32", map_active<F::inverse>, "44"                                                  \
  }

using Approximate = Factors<false, false>;
using ApproximateFlushed = Factors<true, false>;
using Full = Factors<false, true>;
using FullFlushed = Factors<true, true>;

}  // namespace

constinit const LaneTable division_operations = {DIVISION("approx", Approximate),
                                                 DIVISION("approx.ftz", ApproximateFlushed),
                                                 DIVISION("full", Full), DIVISION("full.ftz", FullFlushed)};

}  // namespace cushim::ptx::execute
