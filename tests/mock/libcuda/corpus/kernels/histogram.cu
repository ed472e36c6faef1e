// SPDX-License-Identifier: Apache-2.0
#include "corpus.cuh"

// run histogram_shared 6 256 0 256
KERNEL(histogram_shared) {
  __shared__ unsigned counts[256];
  counts[threadIdx.x] = 0;
  __syncthreads();
  const uchar4 *const bytes = reinterpret_cast<const uchar4 *>(in);
  for (unsigned i = index_in_grid(); i < n / 4; i += gridDim.x * blockDim.x) {
    const uchar4 four = bytes[i];
    atomicAdd(&counts[four.x], 1);
    atomicAdd(&counts[four.y], 1);
    atomicAdd(&counts[four.z], 1);
    atomicAdd(&counts[four.w], 1);
  }
  __syncthreads();
  if (counts[threadIdx.x] != 0) atomicAdd(&out[threadIdx.x], counts[threadIdx.x]);
}
// run histogram_wide 4 128 0 64
KERNEL(histogram_wide) {
  auto *const wide = reinterpret_cast<unsigned long long *>(out);
  for (unsigned i = index_in_grid(); i < 4096; i += gridDim.x * blockDim.x)
    atomicAdd(&wide[in[i] % 32], static_cast<unsigned long long>(in[i]) << 20);
}
// A copy for each warp, with counters of 16 bits in words.
// run histogram_private 2 128 0 64
KERNEL(histogram_private) {
  __shared__ unsigned counts[4][32];
  counts[threadIdx.x / 32][threadIdx.x % 32] = 0;
  __syncwarp();
  for (unsigned i = threadIdx.x; i < 2048; i += blockDim.x) {
    const unsigned bin = in[blockIdx.x * 2048 + i] >> 26;
    atomicAdd(&counts[threadIdx.x / 32][bin / 2], bin & 1 ? 0x10000 : 1);
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    unsigned sum = 0;
    for (int w = 0; w < 4; ++w) sum += counts[w][threadIdx.x];
    atomicAdd(&out[2 * threadIdx.x], sum & 0xffff);
    atomicAdd(&out[2 * threadIdx.x + 1], sum >> 16);
  }
}
// run histogram_matched 4 256 0 16
KERNEL(histogram_matched) {
  const unsigned bin = __popc(in[index_in_grid()]) % 16, peers = __match_any_sync(~0u, bin);
  if (static_cast<unsigned>(__ffs(peers)) == threadIdx.x % 32 + 1) atomicAdd(&out[bin], __popc(peers));
}
// Weighted, by compare and swap of floats that add exactly.
__device__ void add_by_swaps(float *address, float value) {
  unsigned *const word = reinterpret_cast<unsigned *>(address);
  unsigned seen = *word, assumed;
  do {
    assumed = seen;
    seen = atomicCAS(word, assumed, __float_as_uint(__uint_as_float(assumed) + value));
  } while (seen != assumed);
}
// run histogram_weighted 4 128 0 32
KERNEL(histogram_weighted) {
  const unsigned word = in[index_in_grid()];
  add_by_swaps(reinterpret_cast<float *>(out) + word % 32, static_cast<float>(word >> 20));
}
// run histogram_two_dimensions 2 256 16384 4096
KERNEL(histogram_two_dimensions) {
  extern __shared__ int grid[];
  for (unsigned i = threadIdx.x; i < 4096; i += blockDim.x) grid[i] = 0;
  __syncthreads();
  for (unsigned i = index_in_grid(); i < 8192; i += gridDim.x * blockDim.x) {
    const float x = unit(in[2 * i]), y = x * unit(in[2 * i + 1]);
    atomicAdd(&grid[static_cast<int>(y * 64) * 64 + static_cast<int>(x * 64)], 1);
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 4096; i += blockDim.x)
    if (grid[i]) atomicAdd(reinterpret_cast<int *>(out) + i, grid[i]);
}
