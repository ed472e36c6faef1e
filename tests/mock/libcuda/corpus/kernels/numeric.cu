// SPDX-License-Identifier: Apache-2.0
// Numerical methods: decompositions, pairs of floats, quadrature, roots, transforms.
#include "corpus.cuh"

// Matrices of 6 x 6 to triangles by rotations.
// run numeric_rotations 1 32 0 1152
KERNEL(numeric_rotations) {
  float a[6][6];
  for (unsigned k = 0; k < 36; ++k) a[k / 6][k % 6] = between(in[threadIdx.x * 36 + k], -1, 1);
  for (unsigned column = 0; column < 5; ++column)
    for (unsigned row = column + 1; row < 6; ++row) {
      const float x = a[column][column], y = a[row][column], r = hypotf(x, y);
      const float c = r == 0 ? 1 : x / r, s = r == 0 ? 0 : y / r;
      for (unsigned k = 0; k < 6; ++k) {
        const float up = a[column][k], down = a[row][k];
        a[column][k] = c * up + s * down;
        a[row][k] = c * down - s * up;
      }
    }
  for (unsigned k = 0; k < 36; ++k) out[k * 32 + threadIdx.x] = __float_as_uint(a[k / 6][k % 6]);
}
// Singular values by one-sided rotations of Jacobi.
// run numeric_singular 1 32 0 256
KERNEL(numeric_singular) {
  double a[4][4];
  for (unsigned k = 0; k < 16; ++k)
    a[k / 4][k % 4] = unit(in[threadIdx.x * 32 + 2 * k], in[threadIdx.x * 32 + 2 * k + 1]) - 0.5;
  for (unsigned sweep = 0; sweep < 6; ++sweep)
    for (unsigned p = 0; p < 3; ++p)
      for (unsigned q = p + 1; q < 4; ++q) {
        double alpha = 0, beta = 0, gamma = 0;
        for (unsigned k = 0; k < 4; ++k) {
          alpha += a[k][p] * a[k][p];
          beta += a[k][q] * a[k][q];
          gamma += a[k][p] * a[k][q];
        }
        if (fabs(gamma) < 1e-14 * sqrt(alpha * beta)) continue;
        const double zeta = (beta - alpha) / (2 * gamma);
        const double t = copysign(1 / (fabs(zeta) + sqrt(1 + zeta * zeta)), zeta);
        const double c = rsqrt(1 + t * t), s = c * t;
        for (unsigned k = 0; k < 4; ++k) {
          const double x = a[k][p], y = a[k][q];
          a[k][p] = c * x - s * y;
          a[k][q] = s * x + c * y;
        }
      }
  for (unsigned p = 0; p < 4; ++p) {
    double sum = 0;
    for (unsigned k = 0; k < 4; ++k) sum = fma(a[k][p], a[k][p], sum);
    put(out, p * 32 + threadIdx.x, sqrt(sum));
  }
}
struct Pair {
  float high, low;
};
__device__ Pair product(Pair a, Pair b) {
  const float p = __fmul_rn(a.high, b.high), e = fmaf(a.high, b.high, -p);
  const float low = __fadd_rn(e, fmaf(a.high, b.low, __fmul_rn(a.low, b.high)));
  const float high = __fadd_rn(p, low);
  return {high, __fsub_rn(low, __fsub_rn(high, p))};
}
__device__ Pair sum(Pair a, Pair b) {
  const float s = __fadd_rn(a.high, b.high), v = __fsub_rn(s, a.high);
  const float e =
      __fadd_rn(__fadd_rn(__fsub_rn(a.high, __fsub_rn(s, v)), __fsub_rn(b.high, v)), __fadd_rn(a.low, b.low));
  const float high = __fadd_rn(s, e);
  return {high, __fsub_rn(e, __fsub_rn(high, s))};
}
// The set of Mandelbrot in pairs of floats.
// run numeric_pairs 4 64 0 768
KERNEL(numeric_pairs) {
  const unsigned i = index_in_grid();
  const Pair x{-0.7436f + static_cast<float>(i % 16) * 1e-5f, 1.1e-9f * unit(in[i])},
      y{0.1318f + static_cast<float>(i / 16) * 1e-5f, -0.7e-9f * unit(in[i + 256])};
  Pair a = x, b = y;
  unsigned turns = 0;
  for (; turns < 200; ++turns) {
    const Pair aa = product(a, a), bb = product(b, b), ab = product(a, b);
    if (aa.high + bb.high > 4) break;
    a = sum(sum(aa, {-bb.high, -bb.low}), x);
    b = sum({2 * ab.high, 2 * ab.low}, y);
  }
  out[i] = turns;
  out[256 + i] = __float_as_uint(a.high);
  out[512 + i] = __float_as_uint(a.low);
}
// All roots of polynomials at once.
// run numeric_roots 1 64 0 640
KERNEL(numeric_roots) {
  float c[6], x[5], y[5];
  for (unsigned k = 0; k < 6; ++k) c[k] = between(in[threadIdx.x * 6 + k], -2, 2);
  c[5] = 1;
  for (unsigned k = 0; k < 5; ++k) sincospif(0.4f * static_cast<float>(k) + 0.2f, &y[k], &x[k]);
  for (unsigned turn = 0; turn < 20; ++turn)
    for (unsigned k = 0; k < 5; ++k) {
      float pr = c[5], pi = 0, qr = 1, qi = 0;
      for (int j = 4; j >= 0; --j) {
        const float kept = pr * x[k] - pi * y[k] + c[j];
        pi = pr * y[k] + pi * x[k];
        pr = kept;
      }
      for (unsigned j = 0; j < 5; ++j) {
        if (j == k) continue;
        const float dx = x[k] - x[j], dy = y[k] - y[j], kept = qr * dx - qi * dy;
        qi = qr * dy + qi * dx;
        qr = kept;
      }
      const float square = fmaxf(qr * qr + qi * qi, 1e-12f);
      x[k] -= (pr * qr + pi * qi) / square;
      y[k] -= (pi * qr - pr * qi) / square;
    }
  for (unsigned k = 0; k < 5; ++k) {
    out[k * 128 + threadIdx.x] = __float_as_uint(x[k]);
    out[k * 128 + 64 + threadIdx.x] = __float_as_uint(y[k]);
  }
}
// Transforms of 64 points in registers of a warp pair, radix 4, with twiddles of the special function unit.
// run numeric_fft4 2 16 0 256
KERNEL(numeric_fft4) {
  __shared__ float2 line[64];
  const unsigned t = threadIdx.x;
  float2 v[4];
  for (unsigned k = 0; k < 4; ++k)
    v[k] = make_float2(unit(in[blockIdx.x * 128 + t + 16 * k]), unit(in[blockIdx.x * 128 + 64 + t + 16 * k]));
  for (unsigned stride = 1; stride < 64; stride *= 4) {
    const unsigned within = t % stride;
    for (unsigned k = 1; k < 4; ++k) {
      float s, c;
      __sincosf(-6.2831853f * static_cast<float>(within * k) / static_cast<float>(stride * 4), &s, &c);
      v[k] = make_float2(v[k].x * c - v[k].y * s, v[k].x * s + v[k].y * c);
    }
    const float2 a = make_float2(v[0].x + v[2].x, v[0].y + v[2].y),
                 b = make_float2(v[0].x - v[2].x, v[0].y - v[2].y);
    const float2 c = make_float2(v[1].x + v[3].x, v[1].y + v[3].y),
                 d = make_float2(v[1].y - v[3].y, v[3].x - v[1].x);
    const float2 made[4] = {make_float2(a.x + c.x, a.y + c.y), make_float2(b.x + d.x, b.y + d.y),
                            make_float2(a.x - c.x, a.y - c.y), make_float2(b.x - d.x, b.y - d.y)};
    __syncthreads();
    for (unsigned k = 0; k < 4; ++k) line[t / stride * stride * 4 + within + k * stride] = made[k];
    __syncthreads();
    for (unsigned k = 0; k < 4; ++k) v[k] = line[t + 16 * k];
  }
  for (unsigned k = 0; k < 4; ++k) {
    out[blockIdx.x * 128 + t + 16 * k] = __float_as_uint(v[k].x);
    out[blockIdx.x * 128 + 64 + t + 16 * k] = __float_as_uint(v[k].y);
  }
}
// Sparse products: one row a warp, and one element a thread with sums by segment.
// run numeric_segments 2 128 0 128
KERNEL(numeric_segments) {
  const unsigned i = index_in_grid(), lane = threadIdx.x % 32;
  const unsigned row = i / 4;
  float value = between(in[i], -1, 1) * between(in[2000 + in[i + 300] % 64], -1, 1);
  const unsigned before = __shfl_up_sync(~0u, row, 1);
  const bool starts = lane == 0 || before != row;
  const unsigned heads = __ballot_sync(~0u, starts), mine = heads & (2u << lane) - 1;
  const unsigned first = 31 - static_cast<unsigned>(__clz(static_cast<int>(mine)));
  for (unsigned offset = 1; offset < 32; offset *= 2) {
    const float other = __shfl_up_sync(~0u, value, offset);
    if (lane >= first + offset) value += other;
  }
  if (lane == 31 || (heads >> (lane + 1) & 1)) out[row] = __float_as_uint(value);
}
// Numbers of Sobol and Halton, and Kahan's sum of a function over them.
// run numeric_sequences 2 64 0 384
KERNEL(numeric_sequences) {
  const unsigned i = index_in_grid();
  float total = 0, lost = 0;
  unsigned last = 0;
  for (unsigned k = 0; k < 64; ++k) {
    const unsigned n = i * 64 + k, gray = n ^ n >> 1;
    unsigned sobol = 0;
    for (unsigned bit = 0; bit < 14; ++bit)
      if (gray >> bit & 1) sobol ^= __brev(1u << bit ^ (bit > 1 ? 1u << (bit - 1) : 0));
    float halton = 0, part = 1.f / 3;
    for (unsigned rest = n; rest != 0; rest /= 3, part /= 3) halton += static_cast<float>(rest % 3) * part;
    const float term = expf(-unit(sobol) * halton) - lost, next = total + term;
    lost = (next - total) - term;
    total = next;
    last = sobol;
  }
  out[i] = __float_as_uint(total);
  out[128 + i] = __float_as_uint(lost);
  out[256 + i] = last;
}
