// SPDX-License-Identifier: Apache-2.0
// Kernels whose PTX covers much of nvcc's output. kernels.ptx in this folder is compiled from this file:
//   nvcc -arch=sm_90 -ptx kernels.cu -o kernels.ptx
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <cstdio>
namespace cg = cooperative_groups;
__constant__ float table[4] = {1, 2, 3, 4};
__device__ int counter = 5;
__managed__ int man = 3;
__device__ float f1(float x) { return x + 1; }
__device__ float f2(float x) { return x * 2; }
typedef float (*FP)(float);
__device__ FP fps[2] = {f1, f2};
struct P {
  int a;
  double b;
  char c[3];
};
extern "C" __global__ void __launch_bounds__(128, 2) vadd(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
__global__ void vec(float4 *a, P p) {
  extern __shared__ float4 sm[];
  sm[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  float4 v = sm[threadIdx.x ^ 1];
  v.x += p.b + p.c[1];
  a[threadIdx.x] = v;
}
__global__ void at(int *a, float *f, __half2 *h) {
  atomicAdd(a, 1);
  atomicAdd(f, 1.f);
  atomicCAS(a, 1, 2);
  atomicAdd(h, *h);
  int v = __shfl_down_sync(~0u, *a, 1);
  a[v] = __ballot_sync(~0u, v > 3);
  atomicMax(&counter, v);
}
__global__ void fp(float *a, int i) {
  a[0] = fps[i](a[1]) * table[i];
  printf("hi %d\n", i);
}
__global__ void tx(cudaTextureObject_t t, float *o) { o[0] = tex2D<float>(t, 0.5f, .5f); }
__global__ void sf(cudaSurfaceObject_t t, float *o) {
  o[0] = surf2Dread<float>(t, 4, 5);
  surf2Dwrite(o[1], t, 4, 6);
}
__global__ void mm(half *a, half *b, float *c) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, half, col_major> fb;
  fragment<accumulator, 16, 16, 16, float> fc;
  fill_fragment(fc, 0.f);
  load_matrix_sync(fa, a, 16);
  load_matrix_sync(fb, b, 16);
  mma_sync(fc, fa, fb, fc);
  store_matrix_sync(c, fc, 16, mem_row_major);
}
__global__ void sw(int *a, int k) {
  switch (k) {
    case 0:
      a[0] = 3;
      break;
    case 1:
      a[1] = atomicAdd(a, 2);
      break;
    case 2:
      a[2] = 9;
      __syncthreads();
      break;
    case 3:
      a[3] = a[5];
      break;
    case 4:
      a[2] = clock();
      break;
    case 5:
      a[7] = clock64();
      break;
    case 6:
      a[1] = __popc(k);
      break;
  }
}
__global__ void cgk(int *a) {
  auto g = cg::this_grid();
  g.sync();
  auto t = cg::tiled_partition<16>(cg::this_thread_block());
  a[0] = cg::reduce(t, a[1], cg::plus<int>());
}
__global__ void ia(int *a) {
  int r;
  asm volatile("{ .reg .pred p; setp.lt.s32 p, %1, 5; @!p add.s32 %0, %1, %1; @p mov.b32 %0, 7; }"
               : "=r"(r)
               : "r"(a[1]));
  a[0] = r;
}
__global__ void __cluster_dims__(2, 1, 1) cl(int *a) {
  auto c = cg::this_cluster();
  c.sync();
  __shared__ int s;
  s = a[0];
  int *p = c.map_shared_rank(&s, 1);
  c.sync();
  a[0] = *p;
}
__global__ void db(double *a, int n) {
  double l[20];
  for (int i = 0; i < 20; i++) l[i] = a[i] / n;
  a[0] = l[n] + sqrt(a[2]);
}
__global__ void halves(__half *a, __half2 *b) {
  a[0] = __hfma(a[1], a[2], a[3]);
  b[0] = __hadd2(b[1], h2exp2(b[2]));
}
__global__ void jump(int *a, int k) {
  switch (k) {
    case 0:
      a[0] = __popc(a[9]);
      break;
    case 1:
      a[1] = __clz(a[8]);
      break;
    case 2:
      a[2] = __brev(a[7]);
      break;
    case 3:
      a[3] = __ffs(a[6]);
      break;
    case 4:
      a[4] = __byte_perm(a[5], a[4], 0x3210);
      break;
    case 5:
      a[5] = __sad(a[4], a[3], 2);
      break;
    case 6:
      a[6] = __dp4a(a[3], a[2], 1);
      break;
    case 7:
      a[7] = __funnelshift_l(a[2], a[1], 3);
      break;
    case 8:
      atomicAdd(a + 8, 1);
      break;
    case 9:
      __syncwarp();
      a[9] = __match_any_sync(~0u, a[0]);
      break;
    default:
      __trap();
  }
}
__device__ int recursive(int n) { return n < 2 ? n : recursive(n - 1) + recursive(n - 2); }
__global__ void recursion(int *a) { a[0] = recursive(a[1]); }
__global__ void allocations(int **a) {
  a[0] = static_cast<int *>(malloc(40));
  free(a[1]);
}
