// SPDX-License-Identifier: Apache-2.0
// The factors of approximate quotients, which ptxas computes as the product of a dividend and a reciprocal.
// Without .ftz, both operands are scaled by 2^24 if the divisor is subnormal. div.full scales them by 1/4 if
// the divisor is large, because its reciprocal would be flushed.
#include <iterator>

#include "execute/lane_values.hpp"
#include "execute/machine.hpp"
#include "execute/special_functions.hpp"

namespace cushim::ptx::execute {
namespace {

template <bool Ftz>
f32 scaled(f32 value, f32 factor) {
  return factor == 1 ? value : canonical(flush<Ftz>(flush<Ftz>(value) * factor));
}

template <bool Ftz, bool Full>
struct Factors {
  static f32 scale(f32 divisor) { return division_scale(divisor, Ftz, Full); }
  static f32 dividend(f32 a, f32 b) { return scaled<Ftz>(a, scale(b)); }
  static f32 inverse(f32 b) { return reciprocal(scaled<Ftz>(b, scale(b))); }
};

template <class F>
const Op *dividend(Warp &w, const Op *op) {
  const f32 *const a = reg<f32>(w, op->a), *const b = reg<f32>(w, op->b);
  f32 *const d = reg<f32>(w, op->d);
  each(w.mask, [&](unsigned i) { d[i] = F::dividend(a[i], b[i]); });
  return op + 1;
}

template <class F>
const Op *inverse(Warp &w, const Op *op) {
  const f32 *const a = reg<f32>(w, op->a);
  f32 *const d = reg<f32>(w, op->d);
  each(w.mask, [&](unsigned i) { d[i] = F::inverse(a[i]); });
  return op + 1;
}

#define DIVISION(name, F) \
  {"dividend." name ".f32", dividend<F>, "444"}, { "reciprocal." name ".f32", inverse<F>, "44" }

using Approximate = Factors<false, false>;
using ApproximateFlushed = Factors<true, false>;
using Full = Factors<false, true>;
using FullFlushed = Factors<true, true>;

const LaneOperation table[] = {DIVISION("approx", Approximate), DIVISION("approx.ftz", ApproximateFlushed),
                               DIVISION("full", Full), DIVISION("full.ftz", FullFlushed)};

}  // namespace

float division_scale(float divisor, bool flushes, bool is_full) {
  const float magnitude = divisor < 0 ? -divisor : divisor;
  if (!flushes && magnitude < 0x1p-126f) return 0x1p24f;
  return is_full && magnitude > 0x1p126f ? 0x1p-2f : 1;
}

LaneTable division_operations() { return {table, table + std::size(table)}; }

}  // namespace cushim::ptx::execute
