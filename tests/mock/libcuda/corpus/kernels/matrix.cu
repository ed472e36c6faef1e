// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "corpus.cuh"

// run product_f32 16 256 0 4096
KERNEL(product_f32) {
  __shared__ float a[16][17], b[16][17];
  const unsigned tx = threadIdx.x % 16, ty = threadIdx.x / 16, x = blockIdx.x % 4 * 16 + tx,
                 y = blockIdx.x / 4 * 16 + ty;
  float sum = 0;
  for (unsigned t = 0; t < 4; ++t) {
    a[ty][tx] = between(in[y * 64 + t * 16 + tx], -1, 1);
    b[ty][tx] = between(in[4096 + (t * 16 + ty) * 64 + x], -1, 1);
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < 16; ++k) sum += a[ty][k] * b[k][tx];
    __syncthreads();
  }
  out[y * 64 + x] = __float_as_uint(sum);
}

// Each thread computes 4 by 4 elements, with vector loads.
// run product_blocked 1 256 0 4096
KERNEL(product_blocked) {
  __shared__ __align__(16) float a[8][64], b[8][64];
  const float *const from = reinterpret_cast<const float *>(in);
  const unsigned t = threadIdx.x, tx = t % 16, ty = t / 16;
  float c[4][4] = {};
  for (unsigned k0 = 0; k0 < 64; k0 += 8) {
    for (unsigned i = t; i < 512; i += 256) {
      a[i % 8][i / 8] = unit(__float_as_uint(from[i / 8 * 64 + k0 + i % 8]));
      b[i / 64][i % 64] = unit(__float_as_uint(from[4096 + (k0 + i / 64) * 64 + i % 64]));
    }
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) {
      const float4 va = *reinterpret_cast<const float4 *>(&a[k][ty * 4]),
                   vb = *reinterpret_cast<const float4 *>(&b[k][tx * 4]);
      const float ra[] = {va.x, va.y, va.z, va.w}, rb[] = {vb.x, vb.y, vb.z, vb.w};
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) c[i][j] = fmaf(ra[i], rb[j], c[i][j]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    reinterpret_cast<float4 *>(out)[((ty * 4 + i) * 64 + tx * 4) / 4] =
        make_float4(c[i][0], c[i][1], c[i][2], c[i][3]);
}

// run product_f64 4 256 0 2048
KERNEL(product_f64) {
  const unsigned x = threadIdx.x % 32, y = blockIdx.x * 8 + threadIdx.x / 32;
  double sum = 0;
  for (unsigned k = 0; k < 32; ++k)
    sum += unit(in[2 * (y * 32 + k)], in[2 * (y * 32 + k) + 1]) * (unit(in[4096 + k * 32 + x], 0) - 0.5);
  put(out, y * 32 + x, sum);
}

// run product_half2 2 256 0 512
KERNEL(product_half2) {
  const unsigned x = threadIdx.x % 16, y = blockIdx.x * 16 + threadIdx.x / 16;
  __half2 sum = __float2half2_rn(0);
  for (unsigned k = 0; k < 32; ++k) {
    const __half2 a = __half2half2(__float2half(between(in[y * 32 + k], -2, 2)));
    const __half2 b = __floats2half2_rn(unit(in[2048 + k * 32 + 2 * x]), unit(in[2048 + k * 32 + 2 * x + 1]));
    sum = __hfma2(a, b, sum);
  }
  out[y * 16 + x] = *reinterpret_cast<unsigned *>(&sum);
}

// run product_dp4a 4 256 0 1024
KERNEL(product_dp4a) {
  const unsigned x = threadIdx.x % 32, y = blockIdx.x * 8 + threadIdx.x / 32;
  int sum = 0;
  for (unsigned k = 0; k < 16; ++k)
    sum = __dp4a(static_cast<int>(in[y * 16 + k]), static_cast<int>(in[1024 + x * 16 + k]), sum);
  sum = __dp2a_lo(static_cast<int>(in[y]), static_cast<int>(in[x]), sum);
  out[y * 32 + x] = static_cast<unsigned>(sum) + __dp2a_hi(in[y], in[x], 5u) + __dp4a(in[x], in[y], 7u);
}

namespace wmma = nvcuda::wmma;
// run product_wmma_f16 2 64 4096 1024
KERNEL(product_wmma_f16) {
  __shared__ __align__(32) __half a[2][256], b[2][256];
  const unsigned w = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (unsigned i = lane; i < 256; i += 32) {
    a[w][i] = __float2half(between(in[blockIdx.x * 2048 + w * 256 + i], -1, 1));
    b[w][i] = __float2half(between(in[1024 + w * 256 + i], -4, 4));
  }
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.25f);
  wmma::load_matrix_sync(fa, a[w], 16);
  wmma::load_matrix_sync(fb, b[w], 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::mma_sync(fc, fa, fb, fc);
  for (int i = 0; i < fc.num_elements; ++i) fc.x[i] = fc.x[i] * 2 + 1;
  wmma::store_matrix_sync(reinterpret_cast<float *>(out) + blockIdx.x * 512 + w * 256, fc, 16,
                          wmma::mem_row_major);
}
// run product_wmma_half_sums 1 32 0 128
KERNEL(product_wmma_half_sums) {
  __shared__ __align__(32) __half a[128], b[512];
  for (unsigned i = threadIdx.x; i < 512; i += 32) {
    if (i < 128) a[i] = __float2half(between(in[i], -1, 1));
    b[i] = __float2half(between(in[700 + i], -1, 1));
  }
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 8, 32, 16, __half, wmma::col_major> fa;
  wmma::fragment<wmma::matrix_b, 8, 32, 16, __half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 8, 32, 16, __half> fc;
  wmma::fill_fragment(fc, __float2half(0.5f));
  wmma::load_matrix_sync(fa, a, 8);
  wmma::load_matrix_sync(fb, b, 32);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(reinterpret_cast<__half *>(out), fc, 32, wmma::mem_row_major);
}
// run product_wmma_int8 2 32 0 512
KERNEL(product_wmma_int8) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, int> fc;
  wmma::fill_fragment(fc, -3);
  const auto *const bytes = reinterpret_cast<const signed char *>(in) + blockIdx.x * 1024;
  for (int k = 0; k < 2; ++k) {
    wmma::load_matrix_sync(fa, bytes + k * 16, 32);
    wmma::load_matrix_sync(fb, bytes + 512 + k * 16, 32);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  wmma::store_matrix_sync(reinterpret_cast<int *>(out) + blockIdx.x * 256, fc, 16, wmma::mem_col_major);
}
#if __CUDA_ARCH__ >= 800
// run product_wmma_bf16 1 32 0 256 from=80
KERNEL(product_wmma_bf16) {
  __shared__ __align__(32) __nv_bfloat16 a[256], b[256];
  for (unsigned i = threadIdx.x; i < 256; i += 32) {
    a[i] = __float2bfloat16(spread(in[i], 6));
    b[i] = __float2bfloat16(spread(in[256 + i], 6));
  }
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::col_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(reinterpret_cast<float *>(out), fc, 16, wmma::mem_col_major);
}
// run product_wmma_tf32 1 32 0 256 from=80
KERNEL(product_wmma_tf32) {
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> fc;
  __shared__ __align__(32) float a[128], b[128];
  for (unsigned i = threadIdx.x; i < 128; i += 32) {
    a[i] = spread(in[i], 4);
    b[i] = spread(in[999 + i], 4);
  }
  __syncwarp();
  wmma::load_matrix_sync(fa, a, 8);
  wmma::load_matrix_sync(fb, b, 16);
  for (int i = 0; i < fa.num_elements; ++i) fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
  for (int i = 0; i < fb.num_elements; ++i) fb.x[i] = wmma::__float_to_tf32(fb.x[i]);
  wmma::fill_fragment(fc, 1.0f);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(reinterpret_cast<float *>(out), fc, 16, wmma::mem_row_major);
}
// run product_wmma_f64 1 32 0 128 from=80
KERNEL(product_wmma_f64) {
  __shared__ __align__(32) double a[32], b[32];
  a[threadIdx.x] = unit(in[threadIdx.x], in[100 + threadIdx.x]) - 0.5;
  b[threadIdx.x] = unit(in[200 + threadIdx.x], in[300 + threadIdx.x]);
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 8, 8, 4, double> fc;
  wmma::fill_fragment(fc, 0.1);
  wmma::load_matrix_sync(fa, a, 4);
  wmma::load_matrix_sync(fb, b, 4);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(reinterpret_cast<double *>(out), fc, 8, wmma::mem_row_major);
}
// ldmatrix, and mma with f16 inputs and f32 sums.
// run product_ldmatrix 2 32 0 1024 from=80
KERNEL(product_ldmatrix) {
  __shared__ __align__(16) __half a[16][24], b[16][24];
  for (unsigned i = threadIdx.x; i < 256; i += 32) {
    a[i / 16][i % 16] = __float2half(between(in[blockIdx.x * 512 + i], -3, 3));
    b[i / 16][i % 16] = __float2half(between(in[blockIdx.x * 512 + 256 + i], -3, 3));
  }
  __syncwarp();
  unsigned ra[4], rb[4];
  const unsigned at_a =
      static_cast<unsigned>(__cvta_generic_to_shared(&a[threadIdx.x % 16][threadIdx.x / 16 * 8]));
  const unsigned at_b =
      static_cast<unsigned>(__cvta_generic_to_shared(&b[threadIdx.x % 16][threadIdx.x / 16 * 8]));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3])
               : "r"(at_a));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(rb[0]), "=r"(rb[1]), "=r"(rb[2]), "=r"(rb[3])
               : "r"(at_b));
  for (int half = 0; half < 2; ++half) {
    float c[4] = {1, 2, 3, 4};
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[2 * half]), "r"(rb[2 * half + 1]));
    for (int i = 0; i < 4; ++i)
      out[blockIdx.x * 256 + half * 128 + threadIdx.x * 4 + i] = __float_as_uint(c[i]);
    unsigned h[2] = {0, 0};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
                 : "+r"(h[0]), "+r"(h[1])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[2 * half]), "r"(rb[2 * half + 1]));
    out[512 + blockIdx.x * 256 + half * 64 + threadIdx.x * 2] = h[0];
    out[512 + blockIdx.x * 256 + half * 64 + threadIdx.x * 2 + 1] = h[1];
  }
}
// run product_mma_int 1 32 0 512 from=80
KERNEL(product_mma_int) {
  const unsigned l = threadIdx.x;
  int c[4] = {0, 1, 2, 3};
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(in[l]), "r"(in[32 + l]), "r"(in[64 + l]), "r"(in[96 + l]), "r"(in[128 + l]), "r"(in[160 + l]));
  for (int i = 0; i < 4; ++i) out[l * 4 + i] = static_cast<unsigned>(c[i]);
  asm volatile(
      "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(in[l]), "r"(in[32 + l]), "r"(in[64 + l]), "r"(in[96 + l]), "r"(in[128 + l]), "r"(in[160 + l]));
  for (int i = 0; i < 4; ++i) out[128 + l * 4 + i] = static_cast<unsigned>(c[i]);
  asm volatile(
      "mma.sync.aligned.m16n8k64.row.col.s32.u4.s4.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(in[l]), "r"(in[32 + l]), "r"(in[64 + l]), "r"(in[96 + l]), "r"(in[128 + l]), "r"(in[160 + l]));
  for (int i = 0; i < 4; ++i) out[256 + l * 4 + i] = static_cast<unsigned>(c[i]);
  unsigned moved;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(moved) : "r"(in[l]));
  out[384 + l] = moved;
}
#endif

// run transpose_tiles 4 256 0 4096
KERNEL(transpose_tiles) {
  __shared__ unsigned tile[32][33];
  const unsigned bx = blockIdx.x % 2 * 32, by = blockIdx.x / 2 * 32;
  for (unsigned r = threadIdx.x / 32; r < 32; r += 8)
    tile[r][threadIdx.x % 32] = in[(by + r) * 64 + bx + threadIdx.x % 32];
  __syncthreads();
  for (unsigned r = threadIdx.x / 32; r < 32; r += 8)
    out[(bx + r) * 64 + by + threadIdx.x % 32] = tile[threadIdx.x % 32][r];
}
