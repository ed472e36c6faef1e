// SPDX-License-Identifier: Apache-2.0
// Kernels that call functions of f64.
#include "corpus.cuh"

using u64 = unsigned long long;

// Decimal text of f32 that reads back to the same bits: the shortest of nine digits, with 128-bit products.
// run double_decimals 1 64 0 256
KERNEL(double_decimals) {
  const float value = spread(in[threadIdx.x], 30);
  const double wide = fabs(static_cast<double>(value));
  int exponent = static_cast<int>(floor(log10(wide)));
  unsigned digits = 0, used = 0;
  for (used = 1; used <= 9; ++used) {
    const double scaled = wide * pow(10.0, static_cast<double>(static_cast<int>(used) - 1 - exponent));
    digits = static_cast<unsigned>(llrint(scaled));
    const double back = digits * pow(10.0, static_cast<double>(exponent - static_cast<int>(used) + 1));
    if (static_cast<float>(back) == fabsf(value)) break;
  }
  out[threadIdx.x] = digits;
  out[64 + threadIdx.x] = static_cast<unsigned>(exponent) * 16 + used;
  const unsigned __int128 product = static_cast<unsigned __int128>(0xcccccccccccccccdull) *
                                    (static_cast<u64>(digits) << 20 | in[threadIdx.x]);
  put(out, 64 + threadIdx.x, static_cast<u64>(product >> 67));
}
// An option's price by a tree of 128 steps.
// run double_tree_prices 2 129 0 4
KERNEL(double_tree_prices) {
  __shared__ double values[130];
  const double strike = 80 + 40 * unit(in[blockIdx.x], in[blockIdx.x + 5]);
  const double step = 1.0 / 128, up = exp(0.3 * sqrt(step)), down = 1 / up;
  const double growth = exp(0.05 * step), p = (growth - down) / (up - down);
  const unsigned t = threadIdx.x;
  values[t] = fmax(strike - 100 * pow(up, 2.0 * t - 128), 0.0);
  for (unsigned level = 128; level > 0; --level) {
    __syncthreads();
    const double value = t < level ? (p * values[t + 1] + (1 - p) * values[t]) / growth : 0;
    __syncthreads();
    if (t < level) values[t] = fmax(value, strike - 100 * pow(up, 2.0 * t - (level - 1)));
  }
  __syncthreads();
  if (t == 0) put(out, blockIdx.x, values[0]);
}
// Maxwell's equations on a line, with an absorbing end.
// run double_fields 1 128 0 512
KERNEL(double_fields) {
  __shared__ double e[129], h[129];
  const unsigned t = threadIdx.x;
  e[t] = h[t] = 0;
  if (t == 0) e[128] = h[128] = 0;
  const double epsilon = 1 + 3 * unit(in[t], in[t + 1]);
  for (unsigned step = 0; step < 100; ++step) {
    __syncthreads();
    h[t] += 0.5 * (e[t + 1] - e[t]);
    __syncthreads();
    if (t > 0) e[t] += 0.5 / epsilon * (h[t] - h[t - 1]);
    if (t == 40) e[t] += exp(-0.5 * (step - 30.0) * (step - 30.0) / 64);
  }
  __syncthreads();
  put(out, t, e[t]);
  put(out, 128 + t, h[t]);
}
__device__ double bent(double x, double p) { return exp(-x * x * p) * cos(3 * x) + 1 / (1 + p * x * x); }
__device__ double area(double a, double b, double fa, double fm, double fb, double whole, double p,
                       int depth) {
  const double m = 0.5 * (a + b), l = bent(0.5 * (a + m), p), r = bent(0.5 * (m + b), p);
  const double left = (m - a) / 6 * (fa + 4 * l + fm), right = (b - m) / 6 * (fm + 4 * r + fb);
  if (depth == 0 || fabs(left + right - whole) < 1e-9) return left + right + (left + right - whole) / 15;
  return area(a, m, fa, l, fm, left, p, depth - 1) + area(m, b, fm, r, fb, right, p, depth - 1);
}
// Quadrature that adapts, by recursion.
// run double_quadrature 1 64 0 128
KERNEL(double_quadrature) {
  const double p = 0.5 + 4 * unit(in[threadIdx.x], in[threadIdx.x + 64]);
  const double a = bent(-2, p), m = bent(0.25, p), b = bent(2.5, p);
  put(out, threadIdx.x, area(-2, 2.5, a, m, b, 4.5 / 6 * (a + 4 * m + b), p, 10));
}
