// SPDX-License-Identifier: Apache-2.0
// Kernels of the execution tests. kernels.ptx is compiled from it: nvcc -ptx -arch=sm_80 kernels.cu
#include <cstdio>
#include <cuda_fp16.h>

extern "C" {

__global__ void multiply(const float *a, const float *b, float *c, int n) {
  __shared__ float tile_a[16][16], tile_b[16][16];
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  float sum = 0;
  for (int t = 0; t < n / 16; ++t) {
    tile_a[threadIdx.y][threadIdx.x] = a[y * n + t * 16 + threadIdx.x];
    tile_b[threadIdx.y][threadIdx.x] = b[(t * 16 + threadIdx.y) * n + x];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
    __syncthreads();
  }
  c[y * n + x] = sum;
}

__global__ void reduce(const int *in, int *out, int n) {
  __shared__ int partial[32];
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
    if (threadIdx.x == 0) atomicAdd(out, sum);
  }
}

__global__ void scan(const unsigned *in, unsigned *out) {
  extern __shared__ unsigned values[];
  const int i = threadIdx.x;
  values[i] = in[i];
  __syncthreads();
  for (int step = 1; step < blockDim.x; step *= 2) {
    const unsigned left = i >= step ? values[i - step] : 0;
    __syncthreads();
    values[i] += left;
    __syncthreads();
  }
  out[i] = values[i];
}

__global__ void histogram(const unsigned char *in, unsigned *out, int n) {
  __shared__ unsigned counts[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) counts[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&counts[in[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (counts[i] != 0) atomicAdd(&out[i], counts[i]);
}

__global__ void sort(unsigned *values) {
  extern __shared__ unsigned shared[];
  const unsigned i = threadIdx.x;
  shared[i] = values[i];
  for (unsigned size = 2; size <= blockDim.x; size *= 2)
    for (unsigned stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      const unsigned other = i ^ stride;
      if (other > i) {
        const bool up = (i & size) == 0;
        if ((shared[i] > shared[other]) == up) {
          const unsigned kept = shared[i];
          shared[i] = shared[other];
          shared[other] = kept;
        }
      }
    }
  __syncthreads();
  values[i] = shared[i];
}

__device__ __noinline__ int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}
__global__ void recurse(int *out) { out[threadIdx.x] = ackermann(threadIdx.x % 3, threadIdx.x / 8); }

typedef double (*Function)(double);
__device__ double cubed(double x) { return x * x * x; }
__device__ double halved(double x) { return x / 2; }
__device__ double rooted(double x) { return sqrt(x); }
__device__ Function functions[] = {cubed, halved, rooted};
__global__ void point(double *values) { values[threadIdx.x] = functions[threadIdx.x % 3](values[threadIdx.x]); }

__global__ void print(float x) {
  printf("thread %d of %s: %5.2f %lld\n", threadIdx.x, "two", x * threadIdx.x, 1ll << 40);
}

// Every block waits for all others, twice.
__device__ unsigned arrived, generation;
__device__ void grid_barrier() {
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned mine = *(volatile unsigned *)&generation;
    __threadfence();
    if (atomicAdd(&arrived, 1) == gridDim.x - 1) {
      arrived = 0;
      __threadfence();
      atomicAdd(&generation, 1);
    } else {
      while (*(volatile unsigned *)&generation == mine) {}
    }
    __threadfence();
  }
  __syncthreads();
}
__global__ void rotate(unsigned *values, unsigned *out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  values[i] = i * i;
  grid_barrier();
  const unsigned next = values[(i + 100) % n];
  grid_barrier();
  values[i] = next + 1;
  out[i] = next;
}

// A lock that every thread acquires, including the lanes of one warp.
__device__ int lock;
__global__ void count(volatile int *counter) {
  bool done = false;
  while (!done) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      __threadfence();
      *counter = *counter + 1;
      __threadfence();
      atomicExch(&lock, 0);
      done = true;
    }
  }
}

__global__ void halves(const __half *in, __half *out) {
  const int i = threadIdx.x;
  out[i] = __hmul(__hfma(in[i], in[i], __float2half(0.5f)), __float2half(0.3333f));
}

}  // extern "C"
