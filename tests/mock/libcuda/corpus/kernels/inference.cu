// SPDX-License-Identifier: Apache-2.0
// Kernels of quantized and fused networks.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "corpus.cuh"

__device__ __half2 half2_of(unsigned word) { return reinterpret_cast<const __half2 &>(word); }
__device__ unsigned word_of(__half2 value) { return reinterpret_cast<const unsigned &>(value); }

// Blocks of 32 weights of 4 bits with a scale, times a vector of 8 bits with a scale, by dp4a.
// run quantized_q4 4 128 0 16
KERNEL(quantized_q4) {
  const unsigned warp = index_in_grid() / 32, lane = threadIdx.x % 32;
  float sum = 0;
  for (unsigned block = lane; block < 64; block += 32) {
    const unsigned *const weights = in + warp * 512 + block * 5, *const values = in + 20000 + block * 9;
    const float scale = __half2float(__ushort_as_half(static_cast<unsigned short>(weights[0] & 0x3bff)));
    int products = 0, total = 0;
    for (unsigned k = 0; k < 4; ++k) {
      const int low = static_cast<int>(weights[1 + k] & 0x0f0f0f0f),
                high = static_cast<int>(weights[1 + k] >> 4 & 0x0f0f0f0f);
      products = __dp4a(low, static_cast<int>(values[1 + k]), products);
      products = __dp4a(high, static_cast<int>(values[5 + k]), products);
      total = __dp4a(0x01010101, static_cast<int>(values[1 + k]), total);
      total = __dp4a(0x01010101, static_cast<int>(values[5 + k]), total);
    }
    sum += scale * between(values[0], -1, 1) * static_cast<float>(products - 8 * total);
  }
  for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(~0u, sum, offset);
  if (lane == 0) out[warp] = __float_as_uint(sum);
}
// Eight integers of 4 bits to halves without conversions: lop3 puts them into the fraction of 1024.
// run quantized_lop3 2 64 0 512
KERNEL(quantized_lop3) {
  const unsigned i = index_in_grid(), word = in[i];
  __half2 sum = __floats2half2_rn(0, 0);
  for (unsigned k = 0; k < 2; ++k) {
    unsigned low, high;
    asm("lop3.b32 %0, %1, 0x000f000f, 0x64006400, 0xea;" : "=r"(low) : "r"(word >> 8 * k));
    asm("lop3.b32 %0, %1, 0x00f000f0, 0x64006400, 0xea;" : "=r"(high) : "r"(word >> 8 * k));
    const __half2 first = __hsub2(half2_of(low), half2_of(0x64086408));
    const __half2 second = __hfma2(half2_of(high), half2_of(0x2c002c00), half2_of(0xd480d480));
    out[128 + 2 * i] = word_of(first);
    sum = __hfma2(first, __floats2half2_rn(0.5f, -1.25f), sum);
    sum = __hfma2(second, __floats2half2_rn(0.125f, 3.f), sum);
    if (k) out[129 + 2 * i] = word_of(second);
  }
  out[i] = word_of(sum);
}
// Attention with a running maximum, by mma on halves: each warp has 16 queries of 16 values.
// run fused_attention 2 64 0 1024 from=80
KERNEL(fused_attention) {
  __shared__ __align__(16) __half keys[64][16], values[64][16], queries[32][16];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (unsigned i = threadIdx.x; i < 1024; i += 64) {
    keys[i / 16][i % 16] = __float2half(between(in[i], -2, 2));
    values[i / 16][i % 16] = __float2half(between(in[1024 + i], -1, 1));
    if (i < 512) queries[i / 16][i % 16] = __float2half(between(in[2048 + blockIdx.x * 512 + i], -2, 2));
  }
  __syncthreads();
  const auto address = [](const void *pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
  };
  unsigned q[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(q[0]), "=r"(q[1]), "=r"(q[2]), "=r"(q[3])
               : "r"(address(&queries[warp * 16 + lane % 16][lane / 16 * 8])));
  float sums[2][4] = {}, top[2] = {-INFINITY, -INFINITY}, total[2] = {};
  for (unsigned from = 0; from < 64; from += 16) {
    float s[2][4] = {};
    for (unsigned part = 0; part < 2; ++part) {
      unsigned k[2];
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                   : "=r"(k[0]), "=r"(k[1])
                   : "r"(address(&keys[from + part * 8 + lane % 8][lane / 8 % 2 * 8])));
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
          "{%0, %1, %2, %3};"
          : "+f"(s[part][0]), "+f"(s[part][1]), "+f"(s[part][2]), "+f"(s[part][3])
          : "r"(q[0]), "r"(q[1]), "r"(q[2]), "r"(q[3]), "r"(k[0]), "r"(k[1]));
    }
    unsigned p[4];
    for (unsigned row = 0; row < 2; ++row) {
      float most = fmaxf(fmaxf(s[0][2 * row], s[0][2 * row + 1]), fmaxf(s[1][2 * row], s[1][2 * row + 1]));
      most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
      most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
      most = fmaxf(most, top[row]);
      const float factor = exp2f((top[row] - most) * 0.36f);
      top[row] = most;
      float sum = 0;
      for (unsigned part = 0; part < 2; ++part)
        for (unsigned k = 0; k < 2; ++k)
          sum += s[part][2 * row + k] = exp2f((s[part][2 * row + k] - most) * 0.36f);
      total[row] = total[row] * factor + sum;
      for (unsigned part = 0; part < 2; ++part) {
        sums[part][2 * row] *= factor;
        sums[part][2 * row + 1] *= factor;
        const __half2 pair = __floats2half2_rn(s[part][2 * row], s[part][2 * row + 1]);
        p[2 * part + row] = word_of(pair);
      }
    }
    for (unsigned part = 0; part < 2; ++part) {
      unsigned v[2];
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                   : "=r"(v[0]), "=r"(v[1])
                   : "r"(address(&values[from + lane % 16][part * 8])));
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
          "{%0, %1, %2, %3};"
          : "+f"(sums[part][0]), "+f"(sums[part][1]), "+f"(sums[part][2]), "+f"(sums[part][3])
          : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "r"(v[0]), "r"(v[1]));
    }
  }
  for (unsigned row = 0; row < 2; ++row) {
    float all = total[row] + __shfl_xor_sync(~0u, total[row], 1);
    all += __shfl_xor_sync(~0u, all, 2);
    for (unsigned part = 0; part < 2; ++part)
      for (unsigned k = 0; k < 2; ++k)
        out[blockIdx.x * 512 + (warp * 16 + row * 8 + lane / 4) * 16 + part * 8 + lane % 4 * 2 + k] =
            __float_as_uint(sums[part][2 * row + k] / all);
  }
}
// Root mean square over rows, in vectors of eight bf16.
// run fused_rms_norm 4 64 0 1024 from=80
KERNEL(fused_rms_norm) {
  __shared__ float of_warps[2];
  const uint4 raw = reinterpret_cast<const uint4 *>(in)[blockIdx.x * 64 + threadIdx.x];
  float values[8], sum = 0;
  const unsigned words[4] = {raw.x, raw.y, raw.z, raw.w};
  for (unsigned k = 0; k < 8; ++k) {
    values[k] = __uint_as_float((k % 2 ? words[k / 2] >> 16 : words[k / 2] & 0xffff) << 16 & 0xbfff0000);
    values[k] = values[k] < 1e-10f && values[k] > -1e-10f ? 0.5f : values[k];
    sum += values[k] * values[k];
  }
  for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_down_sync(~0u, sum, offset);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
  __syncthreads();
  const float scale = rsqrtf((of_warps[0] + of_warps[1]) / 512 + 1e-6f);
  unsigned made[4];
  for (unsigned k = 0; k < 4; ++k) {
    const __nv_bfloat162 pair =
        __floats2bfloat162_rn(values[2 * k] * scale, values[2 * k + 1] * scale * 1.5f);
    made[k] = reinterpret_cast<const unsigned &>(pair);
  }
  reinterpret_cast<uint4 *>(out)[blockIdx.x * 64 + threadIdx.x] =
      make_uint4(made[0], made[1], made[2], made[3]);
}
// run fused_adam 2 128 0 1024
KERNEL(fused_adam) {
  const unsigned i = index_in_grid();
  float weight = between(in[i], -1, 1), first = 0, second = 0;
  for (unsigned step = 1; step <= 12; ++step) {
    const float gradient = between(in[i + 256 * step], -0.1f, 0.1f) + 0.01f * weight;
    first = 0.9f * first + 0.1f * gradient;
    second = 0.999f * second + 0.001f * gradient * gradient;
    const float corrected = first / (1 - powf(0.9f, static_cast<float>(step)));
    const float variance = second / (1 - powf(0.999f, static_cast<float>(step)));
    weight -= 0.01f * corrected / (sqrtf(variance) + 1e-8f);
  }
  out[i] = __float_as_uint(weight);
  out[256 + i] = __float_as_uint(first);
  out[512 + i] = __float_as_uint(second);
  out[768 + i] = __half_as_ushort(__float2half_rn(weight));
}
// Cross entropy: the logarithm of sums, forward and backward.
// run fused_cross_entropy 4 64 0 520
KERNEL(fused_cross_entropy) {
  __shared__ float of_warps[2][2];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float logits[2];
  for (unsigned k = 0; k < 2; ++k) logits[k] = between(in[blockIdx.x * 128 + k * 64 + threadIdx.x], -8, 8);
  float most = fmaxf(logits[0], logits[1]);
  for (int offset = 16; offset > 0; offset >>= 1) most = fmaxf(most, __shfl_xor_sync(~0u, most, offset));
  if (lane == 0) of_warps[0][warp] = most;
  __syncthreads();
  most = fmaxf(of_warps[0][0], of_warps[0][1]);
  float sum = expf(logits[0] - most) + expf(logits[1] - most);
  for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(~0u, sum, offset);
  if (lane == 0) of_warps[1][warp] = sum;
  __syncthreads();
  const float all = logf(of_warps[1][0] + of_warps[1][1]) + most;
  const unsigned label = in[5000 + blockIdx.x] % 128;
  for (unsigned k = 0; k < 2; ++k) {
    const unsigned at = k * 64 + threadIdx.x;
    out[blockIdx.x * 128 + at] = __float_as_uint(expf(logits[k] - all) - (at == label ? 1.f : 0.f));
    if (at == label) out[512 + blockIdx.x] = __float_as_uint(all - logits[k]);
  }
}
// Means and variances of groups in one pass, combined pairwise.
// run fused_welford 4 64 0 12
KERNEL(fused_welford) {
  float mean = 0, squares = 0, count = 0;
  for (unsigned i = threadIdx.x; i < 500; i += 64) {
    const float value = spread(in[blockIdx.x * 500 + i], 3), delta = value - mean;
    count += 1;
    mean += delta / count;
    squares += delta * (value - mean);
  }
  __shared__ float means[64], all_squares[64], counts[64];
  means[threadIdx.x] = mean, all_squares[threadIdx.x] = squares, counts[threadIdx.x] = count;
  for (unsigned half = 32; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    const unsigned other = threadIdx.x + half;
    const float n = counts[threadIdx.x] + counts[other], delta = means[other] - means[threadIdx.x];
    means[threadIdx.x] += delta * counts[other] / n;
    all_squares[threadIdx.x] += all_squares[other] + delta * delta * counts[threadIdx.x] * counts[other] / n;
    counts[threadIdx.x] = n;
  }
  if (threadIdx.x != 0) return;
  out[blockIdx.x * 3] = __float_as_uint(means[0]);
  out[blockIdx.x * 3 + 1] = __float_as_uint(all_squares[0]);
  out[blockIdx.x * 3 + 2] = __float_as_uint(counts[0]);
}
// A product in a ring of cp.async stages with a swizzle, by mma on tf32.
// run staged_product 1 128 0 1024 from=80
KERNEL(staged_product) {
  __shared__ __align__(16) float a[3][32][16], b[3][32][16];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = threadIdx.x / 4,
                 part = threadIdx.x % 4;
  const auto *const from = reinterpret_cast<const float *>(in);
  const auto copy = [&](unsigned stage) {
    const unsigned place = (part ^ row / 2 % 4) * 4;
    const auto address = [](const void *pointer) {
      return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
    };
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(&a[stage % 3][row][place])),
                 "l"(from + row * 128 + stage * 16 + part * 4));
    asm volatile(
        "cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(address(&b[stage % 3][row][place])),
        "l"(from + 8192 + row * 128 + stage * 16 + part * 4));
    asm volatile("cp.async.commit_group;");
  };
  copy(0), copy(1);
  float sums[2][4] = {};
  for (unsigned stage = 0; stage < 8; ++stage) {
    asm volatile("cp.async.wait_group 1;");
    __syncthreads();
    if (stage + 2 < 8)
      copy(stage + 2);
    else
      asm volatile("cp.async.commit_group;");
    const auto value = [&](const float(&matrix)[32][16], unsigned r, unsigned c) {
      const unsigned bits = __float_as_uint(matrix[r][(c / 4 ^ r / 2 % 4) * 4 + c % 4]);
      unsigned made;
      asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(made) : "f"(__uint_as_float((bits & 0x83ffffff) | 0x3c000000)));
      return made;
    };
    for (unsigned k = 0; k < 16; k += 8)
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned r = warp % 2 * 16 + lane / 4, c = k + lane % 4,
                       column = warp / 2 * 16 + half * 8 + lane / 4;
        asm volatile(
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
            "%9}, {%0, "
            "%1, %2, %3};"
            : "+f"(sums[half][0]), "+f"(sums[half][1]), "+f"(sums[half][2]), "+f"(sums[half][3])
            : "r"(value(a[stage % 3], r, c)), "r"(value(a[stage % 3], r + 8, c)),
              "r"(value(a[stage % 3], r, c + 4)), "r"(value(a[stage % 3], r + 8, c + 4)),
              "r"(value(b[stage % 3], column, c)), "r"(value(b[stage % 3], column, c + 4)));
      }
  }
  for (unsigned half = 0; half < 2; ++half)
    for (unsigned k = 0; k < 4; ++k)
      out[(warp % 2 * 16 + lane / 4 + k / 2 * 8) * 32 + warp / 2 * 16 + half * 8 + lane % 4 * 2 + k % 2] =
          __float_as_uint(sums[half][k]);
}
// A convolution of 3 x 3 by Winograd's transform of 4 x 4 tiles.
// run winograd 2 32 0 256
KERNEL(winograd) {
  const unsigned tile = index_in_grid();
  float sums[4][4] = {};
  for (unsigned channel = 0; channel < 4; ++channel) {
    float d[4][4], t[4][4], g[3][3], u[4][3], v[4][4];
    for (unsigned i = 0; i < 16; ++i) d[i / 4][i % 4] = between(in[tile * 64 + channel * 16 + i], -1, 1);
    for (unsigned i = 0; i < 9; ++i) g[i / 3][i % 3] = between(in[9000 + channel * 9 + i], -1, 1);
    for (unsigned i = 0; i < 4; ++i) {
      t[0][i] = d[0][i] - d[2][i];
      t[1][i] = d[1][i] + d[2][i];
      t[2][i] = d[2][i] - d[1][i];
      t[3][i] = d[1][i] - d[3][i];
    }
    for (unsigned i = 0; i < 3; ++i) {
      u[0][i] = g[0][i];
      u[1][i] = 0.5f * (g[0][i] + g[1][i] + g[2][i]);
      u[2][i] = 0.5f * (g[0][i] - g[1][i] + g[2][i]);
      u[3][i] = g[2][i];
    }
    for (unsigned i = 0; i < 4; ++i) {
      v[i][0] = u[i][0];
      v[i][1] = 0.5f * (u[i][0] + u[i][1] + u[i][2]);
      v[i][2] = 0.5f * (u[i][0] - u[i][1] + u[i][2]);
      v[i][3] = u[i][2];
      const float row[4] = {t[i][0] - t[i][2], t[i][1] + t[i][2], t[i][2] - t[i][1], t[i][1] - t[i][3]};
      for (unsigned k = 0; k < 4; ++k) sums[i][k] += row[k] * v[i][k];
    }
  }
  float half[2][4];
  for (unsigned k = 0; k < 4; ++k) {
    half[0][k] = sums[0][k] + sums[1][k] + sums[2][k];
    half[1][k] = sums[1][k] - sums[2][k] - sums[3][k];
  }
  for (unsigned i = 0; i < 2; ++i) {
    out[tile * 4 + 2 * i] = __float_as_uint(half[i][0] + half[i][1] + half[i][2]);
    out[tile * 4 + 2 * i + 1] = __float_as_uint(half[i][1] - half[i][2] - half[i][3]);
  }
}
