// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "corpus.cuh"

template <class Operation>
__device__ float over_warp(float value, Operation operation) {
  for (int step = 16; step; step /= 2) value = operation(value, __shfl_xor_sync(~0u, value, step));
  return value;
}
// run network_softmax 4 64 0 1024
KERNEL(network_softmax) {
  const unsigned row = index_in_grid() / 32, lane = threadIdx.x % 32;
  float values[4], most = -INFINITY, sum = 0;
  for (int k = 0; k < 4; ++k) {
    values[k] = between(in[row * 128 + k * 32 + lane], -8, 8);
    most = fmaxf(most, values[k]);
  }
  most = over_warp(most, [](float a, float b) { return fmaxf(a, b); });
  for (float &one : values) sum += one = expf(one - most);
  sum = over_warp(sum, [](float a, float b) { return a + b; });
  for (int k = 0; k < 4; ++k) out[row * 128 + k * 32 + lane] = __float_as_uint(values[k] / sum);
}
// Running maximum and sum in one pass, as flash attention.
// run network_attention 2 64 16384 2048
KERNEL(network_attention) {
  extern __shared__ float keys[];  // 64 keys, 64 values, of 16 numbers
  float *const values = keys + 1024;
  for (unsigned i = threadIdx.x; i < 1024; i += 64) {
    keys[i] = between(in[i], -1, 1);
    values[i] = between(in[1024 + i], -2, 2);
  }
  __syncthreads();
  float query[16], sums[16] = {}, most = -INFINITY, total = 0;
  for (int d = 0; d < 16; ++d) query[d] = between(in[2048 + index_in_grid() * 16 + d], -1, 1);
  for (unsigned k = 0; k <= threadIdx.x; ++k) {
    float score = 0;
#pragma unroll
    for (int d = 0; d < 16; ++d) score += query[d] * keys[k * 16 + d];
    score *= 0.25f;
    const float next = fmaxf(most, score), scale = __expf(most - next), weight = __expf(score - next);
    total = total * scale + weight;
#pragma unroll
    for (int d = 0; d < 16; ++d) sums[d] = sums[d] * scale + weight * values[k * 16 + d];
    most = next;
  }
  for (int d = 0; d < 16; ++d) out[index_in_grid() * 16 + d] = __float_as_uint(sums[d] / total);
}
// run network_layer_norm 4 128 0 512
KERNEL(network_layer_norm) {
  __shared__ float2 partial[4];
  const float x = between(in[index_in_grid()], -3, 5);
  float sum = over_warp(x, [](float a, float b) { return a + b; }),
        squares = over_warp(x * x, [](float a, float b) { return a + b; });
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = make_float2(sum, squares);
  __syncthreads();
  sum = squares = 0;
  for (const float2 one : partial) {
    sum += one.x;
    squares += one.y;
  }
  const float mean = sum / 128, variance = squares / 128 - mean * mean;
  out[index_in_grid()] =
      __float_as_uint((x - mean) * rsqrtf(variance + 1e-5f) * unit(in[threadIdx.x]) + 0.1f);
}
// run network_activations 1 256 0 2048
KERNEL(network_activations) {
  const unsigned t = threadIdx.x;
  const float x = between(in[t], -6, 6);
  out[t] = __float_as_uint(0.5f * x * (1 + erff(x * 0.70710678f)));
  out[256 + t] = __float_as_uint(0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x))));
  out[512 + t] = __float_as_uint(x / (1 + expf(-x)));
  out[768 + t] = __float_as_uint(fmaxf(x, 0) + log1pf(expf(-fabsf(x))));
  out[1024 + t] = __float_as_uint(x > 0 ? x : expm1f(x));
  out[1280 + t] = __float_as_uint(1 / (1 + __expf(-x)));
  const __half h = __float2half(x);
  out[1536 + t] = __half_as_ushort(__hmul(h, hrcp(__hadd(__float2half(1), hexp(__hneg(h))))));
  const __nv_bfloat16 b = __float2bfloat16(x);
  out[1792 + t] =
      __bfloat16_as_ushort(__float2bfloat16(fmaxf(__bfloat162float(b), 0.01f * __bfloat162float(b))));
}
// run network_rotary 2 64 0 256
KERNEL(network_rotary) {
  const unsigned i = index_in_grid(), pair = i % 32, position = i / 32 * 1000 + 3;
  const float frequency = powf(10000, -2.0f * static_cast<float>(pair) / 64),
              angle = static_cast<float>(position) * frequency;
  float s, c;
  sincosf(angle, &s, &c);
  const float a = between(in[2 * i], -1, 1), b = between(in[2 * i + 1], -1, 1);
  out[2 * i] = __float_as_uint(a * c - b * s);
  out[2 * i + 1] = __float_as_uint(a * s + b * c);
}
// run network_quantize 2 128 0 256
KERNEL(network_quantize) {
  const float x = spread(in[index_in_grid()], 3);
  const float most = over_warp(fabsf(x), [](float a, float b) { return fmaxf(a, b); }), scale = most / 127;
  const int q = min(max(__float2int_rn(x / scale), -127), 127);
  const int packed = q & 255, other = __shfl_down_sync(~0u, packed, 1);
  out[index_in_grid()] =
      static_cast<unsigned>(packed | other << 8) ^ __float_as_uint(static_cast<float>(q) * scale);
}
// run network_top_k 2 64 0 64
KERNEL(network_top_k) {
  __shared__ unsigned keys[64];
  const unsigned word = in[index_in_grid()];
  const float value = spread(word, 5);
  const unsigned ordered =
      __float_as_uint(value) ^
      (static_cast<unsigned>(static_cast<int>(__float_as_uint(value)) >> 31) | 0x80000000u);
  keys[threadIdx.x] = ordered;
  for (unsigned k = 0; k < 32; ++k) {
    __syncthreads();
    unsigned best = 0, at = 0;
    if (threadIdx.x < 32) {
      best = max(keys[threadIdx.x], keys[threadIdx.x + 32]);
      at = keys[threadIdx.x] == best ? threadIdx.x : threadIdx.x + 32;
      for (int step = 16; step; step /= 2) {
        const unsigned other = __shfl_xor_sync(~0u, best, step), other_at = __shfl_xor_sync(~0u, at, step);
        if (other > best || (other == best && other_at < at)) {
          best = other;
          at = other_at;
        }
      }
    }
    if (threadIdx.x == 0) {
      keys[at] = 0;
      out[blockIdx.x * 32 + k] = best ^ at;
    }
  }
}
// run network_convolution 2 128 0 512
KERNEL(network_convolution) {
  // 2 channels out of 3 in, 16 by 16, with steps of 2: by rows of columns.
  __half2 sum[2] = {__float2half2_rn(0), __float2half2_rn(0)};
  const unsigned x = threadIdx.x % 8, y = threadIdx.x / 16;
  for (unsigned c = 0; c < 3; ++c)
    for (unsigned k = 0; k < 9; ++k) {
      const unsigned px = min(2 * x + k % 3, 15u), py = min(2 * y + k / 3, 15u);
      const __half one = __float2half(between(in[c * 256 + py * 16 + px], -1, 1));
      for (unsigned o = 0; o < 2; ++o)
        sum[o] = __hfma2(__half2half2(one),
                         __floats2half2_rn(unit(in[900 + (o * 3 + c) * 9 + k]), between(in[1000 + k], -1, 1)),
                         sum[o]);
    }
  for (unsigned o = 0; o < 2; ++o) out[o * 256 + index_in_grid()] = *reinterpret_cast<unsigned *>(&sum[o]);
}
