// SPDX-License-Identifier: Apache-2.0
// Kernels that test the model of kernel_time.cpp, and the patterns of loads of tests/mock/ptx/data/shared_loads.tsv.
// The parameters are those of fitted.cu. Compiled by: nvcc -ptx -arch=compute_90 held_out.cu
typedef unsigned int u32;
typedef unsigned long long u64;
#define KERNEL(name) extern "C" __global__ void name(float *a, float *b, float *c, int n, int p)
KERNEL(spin) {
  u64 begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - begin < u64(p) * 1000);
}
KERNEL(empty) {}
KERNEL(fill_hash) {
  for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < u32(n); i += gridDim.x * blockDim.x)
    reinterpret_cast<u32 *>(b)[i] = i * 2654435761u;
}
KERNEL(fill_chain) {
  for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < u32(n); i += gridDim.x * blockDim.x)
    reinterpret_cast<u32 *>(b)[i] = (i + u32(p)) % u32(n);
}
KERNEL(fma_parallel) {
  float x = threadIdx.x, y = 1, z = 2;
#pragma unroll 1
  for (int i = 0; i < n; ++i) x = x * y + z, y = y * 0.9f + z, z = z * 0.5f + 1;
  if (x + y + z == 1.5f) c[0] = x;
}
KERNEL(clocks) {
  reinterpret_cast<long long *>(c)[0] = clock64();
}
KERNEL(chase_cached) {  // p dependent loads
  u32 at = threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < p; ++i) at = reinterpret_cast<u32 *>(b)[at];
  c[threadIdx.x] = at;
}
template <class T, int bytes>
__device__ inline void pattern(float *a, float *b, float *c, int n, int p, bool shared, bool l2) {
  __shared__ __align__(16) char words[49152 - 64];
  for (int i = threadIdx.x; i < 12000; i += blockDim.x) reinterpret_cast<u32 *>(words)[i] = 0;
  const u32 offset = reinterpret_cast<u32 *>(b)[threadIdx.x % 32];
  u32 address = u32(__cvta_generic_to_shared(words)) + offset;
  const char *at = reinterpret_cast<const char *>(a) + offset;
  u64 sum = 0;
  for (int i = 0; i < 65536; i += 128) sum += a[i / 4 + (threadIdx.x & 31)] != 0;
  __syncthreads();
  const long long begin = clock64();
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
#pragma unroll
    for (int r = 0; r < 8; ++r) {
      u32 x = 0;
      u64 y = 0, z = 0;
      if (shared) {
        if constexpr (bytes == 4) asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(x) : "r"(address));
        if constexpr (bytes == 8) asm volatile("ld.volatile.shared.u64 %0, [%1];" : "=l"(y) : "r"(address));
        if constexpr (bytes == 16) asm volatile("ld.volatile.shared.v2.u64 {%0, %1}, [%2];" : "=l"(y), "=l"(z) : "r"(address));
      } else if (l2) {
        if constexpr (bytes == 4) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(x) : "l"(at + r * 4096));
      } else {
        if constexpr (bytes == 4) asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(x) : "l"(at + r * 4096));
        if constexpr (bytes == 8) asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(y) : "l"(at + r * 4096));
        if constexpr (bytes == 16) asm volatile("ld.global.ca.v2.u64 {%0, %1}, [%2];" : "=l"(y), "=l"(z) : "l"(at + r * 4096));
      }
      sum ^= x ^ y ^ z;
    }
    at += p;
    address += p;
  }
  __syncthreads();
  const long long end = clock64();
  if (threadIdx.x == 0) reinterpret_cast<long long *>(c)[blockIdx.x] = end - begin;
  reinterpret_cast<u64 *>(c)[64 + threadIdx.x] = sum;
}
KERNEL(shared_read_4) { pattern<u32, 4>(a, b, c, n, p, true, false); }
KERNEL(shared_read_8) { pattern<u32, 8>(a, b, c, n, p, true, false); }
KERNEL(shared_read_16) { pattern<u32, 16>(a, b, c, n, p, true, false); }
KERNEL(global_read_4) { pattern<u32, 4>(a, b, c, n, p, false, false); }
KERNEL(global_read_8) { pattern<u32, 8>(a, b, c, n, p, false, false); }
KERNEL(global_read_16) { pattern<u32, 16>(a, b, c, n, p, false, false); }
KERNEL(global_l2_4) { pattern<u32, 4>(a, b, c, n, p, false, true); }
// ---- kernels that test the model and were not used to fit it
KERNEL(saxpy) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = 2.5f * a[i] + c[i];
}
KERNEL(dot_rows) {  // a warp for each row of p numbers
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= n) return;
  float sum = 0;
  for (int i = lane; i < p; i += 32) sum += a[row * p + i] * b[i];
  for (int far = 16; far > 0; far >>= 1) sum += __shfl_down_sync(~0u, sum, far);
  if (lane == 0) c[row] = sum;
}
KERNEL(mandelbrot) {  // n by n, at most p iterations
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n || y >= n) return;
  const float cx = -2.0f + 3.0f * x / n, cy = -1.5f + 3.0f * y / n;
  float zx = 0, zy = 0;
  int i = 0;
#pragma unroll 1
  for (; i < p && zx * zx + zy * zy < 4; ++i) {
    const float next = zx * zx - zy * zy + cx;
    zy = 2 * zx * zy + cy;
    zx = next;
  }
  c[y * n + x] = float(i);
}
KERNEL(prefix_sum) {  // of each block of 256
  __shared__ float part[256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  part[threadIdx.x] = a[i];
  __syncthreads();
  for (int far = 1; far < 256; far <<= 1) {
    const float left = int(threadIdx.x) >= far ? part[threadIdx.x - far] : 0;
    __syncthreads();
    part[threadIdx.x] += left;
    __syncthreads();
  }
  c[i] = part[threadIdx.x];
}
KERNEL(black_scholes) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float s = a[i] * 100, k = 90 + b[i], t = 0.5f;
  const float root = sqrtf(t), d1 = (logf(s / k) + (0.02f + 0.5f * 0.09f) * t) / (0.3f * root), d2 = d1 - 0.3f * root;
  const float n1 = 0.5f * erfcf(-d1 * 0.70710678f), n2 = 0.5f * erfcf(-d2 * 0.70710678f);
  c[i] = s * n1 - k * expf(-0.02f * t) * n2;
}
KERNEL(stencil_3d) {  // 7 points, n^3
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
  for (int z = 1; z < n - 1; ++z) {
    const float *m = a + (z * n + y) * n + x;
    c[(z * n + y) * n + x] = m[0] + m[1] + m[-1] + m[n] + m[-n] + m[n * n] + m[-n * n];
  }
}
KERNEL(softmax_rows) {  // a block of 256 for each row of n numbers
  __shared__ float part[8];
  const float *row = a + blockIdx.x * n;
  float most = -1e30f, sum = 0;
  for (int i = threadIdx.x; i < n; i += 256) most = fmaxf(most, row[i]);
  for (int far = 16; far > 0; far >>= 1) most = fmaxf(most, __shfl_xor_sync(~0u, most, far));
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = most;
  __syncthreads();
  for (int i = 0; i < 8; ++i) most = fmaxf(most, part[i]);
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += 256) sum += __expf(row[i] - most);
  for (int far = 16; far > 0; far >>= 1) sum += __shfl_xor_sync(~0u, sum, far);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int i = 0; i < 8; ++i) sum += part[i];
  for (int i = threadIdx.x; i < n; i += 256) c[blockIdx.x * n + i] = __expf(row[i] - most) / sum;
}
KERNEL(bitonic_step) {  // blocks of 256
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ u32(p);
  u32 *const words = reinterpret_cast<u32 *>(b);
  if (other > i && words[i] > words[other]) {
    const u32 left = words[i];
    words[i] = words[other];
    words[other] = left;
  }
}
