// SPDX-License-Identifier: Apache-2.0
#include "corpus.cuh"

// run signal_fft 2 128 0 1024
KERNEL(signal_fft) {
  __shared__ float2 values[256];
  const unsigned t = threadIdx.x;
  for (unsigned i = t; i < 256; i += 128) {
    const unsigned word = in[blockIdx.x * 256 + i];
    values[__brev(i) >> 24] = make_float2(between(word, -1, 1), between(word * 77, -1, 1));
  }
  for (unsigned size = 2; size <= 256; size *= 2) {
    __syncthreads();
    const unsigned half = size / 2, at = t % half, first = t / half * size + at;
    float s, c;
    sincospif(-static_cast<float>(at) / static_cast<float>(half), &s, &c);
    const float2 a = values[first], b = values[first + half];
    const float2 turned = make_float2(b.x * c - b.y * s, b.x * s + b.y * c);
    values[first] = make_float2(a.x + turned.x, a.y + turned.y);
    values[first + half] = make_float2(a.x - turned.x, a.y - turned.y);
  }
  __syncthreads();
  for (unsigned i = t; i < 256; i += 128) reinterpret_cast<float2 *>(out)[blockIdx.x * 256 + i] = values[i];
}
// Number theoretic transform modulo 998244353.
__device__ unsigned power(unsigned base, unsigned exponent) {
  unsigned long long result = 1, square = base;
  for (; exponent; exponent >>= 1, square = square * square % 998244353)
    if (exponent & 1) result = result * square % 998244353;
  return static_cast<unsigned>(result);
}
// run signal_ntt 1 128 0 256
KERNEL(signal_ntt) {
  __shared__ unsigned values[256];
  for (unsigned i = threadIdx.x; i < 256; i += 128) values[__brev(i) >> 24] = in[i] % 998244353;
  for (unsigned size = 2; size <= 256; size *= 2) {
    __syncthreads();
    const unsigned half = size / 2, at = threadIdx.x % half, first = threadIdx.x / half * size + at;
    const unsigned root = power(power(3, 998244352 / size), at);
    const unsigned b = static_cast<unsigned>(static_cast<unsigned long long>(values[first + half]) * root %
                                             998244353),
                   a = values[first];
    values[first] = (a + b) % 998244353;
    values[first + half] = (a + 998244353 - b) % 998244353;
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 256; i += 128) out[i] = values[i];
}
// run signal_bodies 2 64 0 384
KERNEL(signal_bodies) {
  __shared__ float4 tile[64];
  const unsigned i = index_in_grid();
  const float3 mine =
      make_float3(between(in[3 * i], -1, 1), between(in[3 * i + 1], -1, 1), between(in[3 * i + 2], -1, 1));
  float3 force = make_float3(0, 0, 0);
  for (unsigned t = 0; t < 4; ++t) {
    const unsigned j = t * 64 + threadIdx.x;
    tile[threadIdx.x] = make_float4(between(in[3 * j], -1, 1), between(in[3 * j + 1], -1, 1),
                                    between(in[3 * j + 2], -1, 1), unit(in[j + 999]));
    __syncthreads();
#pragma unroll 8
    for (unsigned k = 0; k < 64; ++k) {
      const float4 other = tile[k];
      const float x = other.x - mine.x, y = other.y - mine.y, z = other.z - mine.z;
      const float inverse = rsqrtf(x * x + y * y + z * z + 0.01f),
                  scale = other.w * inverse * inverse * inverse;
      force.x += x * scale;
      force.y += y * scale;
      force.z += z * scale;
    }
    __syncthreads();
  }
  reinterpret_cast<float3 *>(out)[i] = force;
}
__constant__ float filter[9] = {0.0625f, 0.125f, 0.0625f, 0.125f, 0.25f, 0.125f, 0.0625f, 0.125f, 0.0625f};
// run signal_convolution 4 256 0 1024
KERNEL(signal_convolution) {
  __shared__ float tile[18][18];
  const int x0 = static_cast<int>(blockIdx.x % 2) * 16, y0 = static_cast<int>(blockIdx.x / 2) * 16;
  for (unsigned i = threadIdx.x; i < 324; i += 256) {
    const int x = x0 + static_cast<int>(i % 18) - 1, y = y0 + static_cast<int>(i / 18) - 1;
    tile[i / 18][i % 18] = x < 0 || y < 0 || x > 31 || y > 31 ? 0 : unit(in[y * 32 + x]);
  }
  __syncthreads();
  const unsigned tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  float sum = 0;
  for (unsigned dy = 0; dy < 3; ++dy)
    for (unsigned dx = 0; dx < 3; ++dx) sum += filter[dy * 3 + dx] * tile[ty + dy][tx + dx];
  out[(y0 + ty) * 32 + x0 + tx] = __float_as_uint(sum);
}
// run signal_cosines 1 64 0 128
KERNEL(signal_cosines) {
  const unsigned k = threadIdx.x;
  double sum = 0;
  for (unsigned i = 0; i < 64; ++i)
    sum += (unit(in[i], in[i + 64]) - 0.5) * cos(3.14159265358979323846 / 64 * (i + 0.5) * k);
  put(out, k, sum * (k == 0 ? sqrt(1.0 / 64) : sqrt(2.0 / 64)));
}
// run signal_walsh 2 128 1024 512
KERNEL(signal_walsh) {
  extern __shared__ int values[];
  for (unsigned i = threadIdx.x; i < 256; i += 128)
    values[i] = static_cast<int>(in[blockIdx.x * 256 + i]) >> 12;
  for (unsigned stride = 128; stride > 0; stride >>= 1) {
    __syncthreads();
    const unsigned low = threadIdx.x & (stride - 1), first = 2 * threadIdx.x - low;
    const int a = values[first], b = values[first + stride];
    values[first] = a + b;
    values[first + stride] = a - b;
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 256; i += 128)
    out[blockIdx.x * 256 + i] = static_cast<unsigned>(values[i]);
}
// A recursive filter on each channel.
// run signal_recursive 1 32 0 1024
KERNEL(signal_recursive) {
  float y1 = 0, y2 = 0, x1 = 0, x2 = 0;
  for (unsigned i = 0; i < 32; ++i) {
    const float x = between(in[i * 32 + threadIdx.x], -1, 1);
    const float y = 0.2f * x + 0.4f * x1 + 0.2f * x2 + 0.3f * y1 - 0.1f * y2;
    x2 = x1;
    x1 = x;
    y2 = y1;
    y1 = y;
    out[i * 32 + threadIdx.x] = __float_as_uint(y);
  }
}
