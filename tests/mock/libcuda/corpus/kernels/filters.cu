// SPDX-License-Identifier: Apache-2.0
// Filters, transforms and measures of images.
#include <cuda_fp16.h>

#include "corpus.cuh"

__device__ float pixel(const unsigned *in, int x, int y) {
  return static_cast<float>(reinterpret_cast<const unsigned char *>(in)[(y & 31) * 32 + (x & 31)]);
}
// Edges: gradients, suppression of those that are not maxima, and hysteresis until nothing changes.
// run filter_canny 1 1024 0 2048
KERNEL(filter_canny) {
  __shared__ float strength[32][33];
  __shared__ unsigned char state[32][33];
  const int x = threadIdx.x % 32, y = threadIdx.x / 32;
  const auto at = [&](int dx, int dy) { return pixel(in, x + dx, y + dy); };
  const float gx = at(1, -1) + 2 * at(1, 0) + at(1, 1) - at(-1, -1) - 2 * at(-1, 0) - at(-1, 1);
  const float gy = at(-1, 1) + 2 * at(0, 1) + at(1, 1) - at(-1, -1) - 2 * at(0, -1) - at(1, -1);
  const float mine = strength[y][x] = hypotf(gx, gy);
  const float angle = atan2f(gy, gx);
  __syncthreads();
  const int sector = static_cast<int>(rintf(angle * (4 / 3.14159265f))) & 3;
  const int dx = sector == 2 ? 0 : 1, dy = sector == 0 ? 0 : sector == 3 ? -1 : 1;
  const auto other = [&](int k) { return strength[(y + k * dy) & 31][(x + k * dx) & 31]; };
  const bool is_most = mine >= other(1) && mine >= other(-1);
  state[y][x] = is_most ? mine > 450 ? 2 : mine > 250 ? 1 : 0 : 0;
  unsigned rounds = 0;
  for (bool changes = true; __syncthreads_or(changes); ++rounds) {
    changes = false;
    if (state[y][x] == 1)
      for (int k = 0; k < 9 && !changes; ++k)
        changes = reinterpret_cast<volatile unsigned char &>(
                      state[(y + k / 3 - 1) & 31][(x + k % 3 - 1) & 31]) == 2;
    __syncthreads();
    if (changes) state[y][x] = 2;
  }
  out[threadIdx.x] = state[y][x];
  out[1024 + threadIdx.x] = __float_as_uint(mine);
}
// Sums over rectangles: scans of rows, then of columns.
// run filter_box 1 1024 0 1024
KERNEL(filter_box) {
  __shared__ unsigned sums[33][33];
  const int x = threadIdx.x % 32, y = threadIdx.x / 32;
  if (threadIdx.x < 33) sums[0][threadIdx.x] = sums[threadIdx.x][0] = 0;
  unsigned value = static_cast<unsigned>(pixel(in, x, y));
  for (int offset = 1; offset < 32; offset *= 2) {
    const unsigned other = __shfl_up_sync(~0u, value, offset);
    if (x >= offset) value += other;
  }
  sums[y + 1][x + 1] = value;
  __syncthreads();
  value = sums[x + 1][y + 1];
  for (int offset = 1; offset < 32; offset *= 2) {
    const unsigned other = __shfl_up_sync(~0u, value, offset);
    if (x >= offset) value += other;
  }
  __syncthreads();
  sums[x + 1][y + 1] = value;
  __syncthreads();
  const int x0 = max(x - 3, 0), x1 = min(x + 4, 32), y0 = max(y - 2, 0), y1 = min(y + 3, 32);
  const unsigned sum = sums[y1][x1] - sums[y0][x1] - sums[y1][x0] + sums[y0][x0];
  out[threadIdx.x] = sum / static_cast<unsigned>((x1 - x0) * (y1 - y0)) + (sum << 8);
}
// run filter_lanczos 4 256 0 1024
KERNEL(filter_lanczos) {
  const unsigned i = index_in_grid();
  const float x = (static_cast<float>(i % 32) + 0.5f) * 0.71f - 0.5f,
              y = (static_cast<float>(i / 32) + 0.5f) * 0.71f - 0.5f;
  const auto window = [](float t) {
    t = fabsf(t);
    if (t < 1e-5f) return 1.f;
    if (t >= 3) return 0.f;
    const float u = 3.14159265f * t;
    return 3 * sinf(u) * sinf(u / 3) / (u * u);
  };
  float sum = 0, weights = 0;
  for (int dy = -2; dy <= 3; ++dy)
    for (int dx = -2; dx <= 3; ++dx) {
      const float px = floorf(x) + static_cast<float>(dx), py = floorf(y) + static_cast<float>(dy);
      const float weight = window(x - px) * window(y - py);
      sum += weight * pixel(in, static_cast<int>(px), static_cast<int>(py));
      weights += weight;
    }
  out[i] = __float_as_uint(fminf(fmaxf(sum / weights, 0), 255));
}
// Colors: NV12 to packed bytes, with saturating conversions.
// run filter_nv12 4 64 0 256
KERNEL(filter_nv12) {
  const unsigned i = index_in_grid();
  const auto *const bytes = reinterpret_cast<const unsigned char *>(in);
  const float luma = 1.164f * (static_cast<float>(bytes[i]) - 16);
  const float u = static_cast<float>(bytes[4096 + i / 2 * 2]) - 128,
              v = static_cast<float>(bytes[4097 + i / 2 * 2]) - 128;
  const auto clamped = [](float value) {
    unsigned made;
    asm("cvt.rni.u8.f32 %0, %1;" : "=r"(made) : "f"(value));
    return made & 0xff;
  };
  const unsigned r = clamped(luma + 1.596f * v), g = clamped(luma - 0.392f * u - 0.813f * v),
                 b = clamped(luma + 2.017f * u);
  out[i] = __byte_perm(__byte_perm(r, g, 0x0040), b, 0x7410) | 0xff000000;
}
// Erosion and dilation by bytes in words.
// run filter_morphology 1 256 0 512
KERNEL(filter_morphology) {
  __shared__ unsigned rows[32][8];
  const unsigned x = threadIdx.x % 8, y = threadIdx.x / 8;
  const unsigned before = in[y * 8 + (x + 7) % 8], here = in[y * 8 + x], after = in[y * 8 + (x + 1) % 8];
  rows[y][x] = __vminu4(__vminu4(__byte_perm(before, here, 0x6543), here), __byte_perm(here, after, 0x4321));
  __syncthreads();
  const unsigned eroded = __vminu4(__vminu4(rows[(y + 31) % 32][x], rows[y][x]), rows[(y + 1) % 32][x]);
  out[threadIdx.x] = eroded;
  out[256 + threadIdx.x] = __vabsdiffu4(here, eroded) ^ __vavgu4(here, before) ^ __vsadu4(here, after) ^
                           __vcmpgtu4(here, before) ^ __vaddus4(here, after) ^ __vsubss4(here, before);
}
// Gradient noise in three octaves.
// run filter_noise 4 256 0 1024
KERNEL(filter_noise) {
  const unsigned i = index_in_grid();
  float sum = 0, scale = 1;
  float x = static_cast<float>(i % 32) * 0.173f, y = static_cast<float>(i / 32) * 0.173f;
  for (unsigned octave = 0; octave < 3; ++octave, scale *= 0.5f, x *= 2.03f, y *= 1.97f) {
    const float fx = floorf(x), fy = floorf(y), dx = x - fx, dy = y - fy;
    const auto corner = [&](int cx, int cy) {
      const unsigned h = in[(static_cast<int>(fx) + cx + (static_cast<int>(fy) + cy) * 57) & 0xffff];
      float s, c;
      __sincosf(unit(h) * 6.2831853f, &s, &c);
      return c * (dx - static_cast<float>(cx)) + s * (dy - static_cast<float>(cy));
    };
    const float u = dx * dx * dx * (dx * (dx * 6 - 15) + 10), v = dy * dy * dy * (dy * (dy * 6 - 15) + 10);
    const float top = corner(0, 0) + u * (corner(1, 0) - corner(0, 0)),
                bottom = corner(0, 1) + u * (corner(1, 1) - corner(0, 1));
    sum += scale * (top + v * (bottom - top));
  }
  out[i] = __float_as_uint(sum);
}
// A distance field, marched.
// run filter_march 4 64 0 512
KERNEL(filter_march) {
  const unsigned i = index_in_grid();
  float3 at = make_float3(0, 0, -4);
  const float a = (static_cast<float>(i % 16) - 7.5f) / 12, b = (static_cast<float>(i / 16) - 7.5f) / 12;
  const float scale = rsqrtf(a * a + b * b + 1);
  const float3 direction = make_float3(a * scale, b * scale, scale);
  float travelled = 0;
  int step = 0;
  for (; step < 64; ++step) {
    const float qx = sqrtf(at.x * at.x + at.z * at.z) - 1.2f;
    const float torus = sqrtf(qx * qx + at.y * at.y) - 0.4f;
    const float ball = norm3df(at.x - 0.5f, at.y - 0.3f, at.z) - 0.8f;
    const float h = fminf(fmaxf(0.5f + 0.5f * (ball - torus) / 0.3f, 0), 1);
    const float distance = ball + (torus - ball) * h - 0.3f * h * (1 - h);
    if (distance < 1e-3f || travelled > 10) break;
    travelled += distance;
    at = make_float3(at.x + direction.x * distance, at.y + direction.y * distance,
                     at.z + direction.z * distance);
  }
  out[i] = __float_as_uint(travelled);
  out[256 + i] = static_cast<unsigned>(step);
}
// Similarity of structure over windows, on pairs of halves.
// run filter_similarity 2 64 0 256
KERNEL(filter_similarity) {
  const unsigned i = index_in_grid();
  __half2 sums = __float2half2_rn(0), squares = sums, products = sums;
  for (unsigned k = 0; k < 16; ++k) {
    const __half2 pair = __floats2half2_rn(unit(in[i * 16 + k]), unit(in[i * 16 + k + 7]));
    sums = __hadd2(sums, pair);
    squares = __hfma2(pair, pair, squares);
    products = __hfma2(pair, __lowhigh2highlow(pair), products);
  }
  const __half2 mean = __hmul2(sums, __float2half2_rn(0.0625f));
  const __half2 variance = __hsub2(__hmul2(squares, __float2half2_rn(0.0625f)), __hmul2(mean, mean));
  const __half covariance = __hsub(__hmul(__low2half(products), __float2half(0.0625f)),
                                   __hmul(__low2half(mean), __high2half(mean)));
  const __half first =
      __hfma(__hmul(__low2half(mean), __high2half(mean)), __float2half(2), __float2half(0.01f));
  const __half second = __hfma(covariance, __float2half(2), __float2half(0.03f));
  const __half below =
      __hmul(__hadd(__hfma(__low2half(mean), __low2half(mean), __hmul(__high2half(mean), __high2half(mean))),
                    __float2half(0.01f)),
             __hadd(__hadd(__low2half(variance), __high2half(variance)), __float2half(0.03f)));
  out[i] = __half_as_ushort(__hdiv(__hmul(first, second), below));
  out[128 + i] = reinterpret_cast<const unsigned &>(variance);
}
