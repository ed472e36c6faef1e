// SPDX-License-Identifier: Apache-2.0
#include "corpus.cuh"

template <class T>
__device__ T scan_warp(T value) {
#pragma unroll
  for (unsigned step = 1; step < 32; step *= 2) {
    const T other = __shfl_up_sync(0xffffffff, value, step);
    if (threadIdx.x % 32 >= step) value += other;
  }
  return value;
}
// Inclusive, of all threads of a block.
template <class T>
__device__ T scan_block(T value, T *sums) {
  value = scan_warp(value);
  if (threadIdx.x % 32 == 31) sums[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x < 32) {
    T one = threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : T();
    sums[threadIdx.x] = scan_warp(one);
  }
  __syncthreads();
  return threadIdx.x < 32 ? value : value + sums[threadIdx.x / 32 - 1];
}

// run scan_shuffles 2 512 0 1024
KERNEL(scan_shuffles) {
  __shared__ unsigned sums[32];
  out[index_in_grid()] = scan_block(in[index_in_grid()], sums);
}
// run scan_doubles 2 256 0 1024
KERNEL(scan_doubles) {
  __shared__ double sums[32];
  put(out, index_in_grid(), scan_block(unit(in[2 * index_in_grid()], in[2 * index_in_grid() + 1]), sums));
}

// run scan_hillis 1 1024 8192 1024
KERNEL(scan_hillis) {
  extern __shared__ float buffers[];
  unsigned from = 0;
  buffers[threadIdx.x] = between(in[threadIdx.x], -2, 2);
  __syncthreads();
  for (unsigned step = 1; step < blockDim.x; step *= 2, from ^= 1) {
    const float *const source = buffers + from * blockDim.x;
    buffers[(from ^ 1) * blockDim.x + threadIdx.x] =
        threadIdx.x >= step ? source[threadIdx.x] + source[threadIdx.x - step] : source[threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = __float_as_uint(buffers[from * blockDim.x + threadIdx.x]);
}

#define CONFLICT_FREE(i) ((i) + ((i) >> 5))
// run scan_blelloch 1 256 2112 512
KERNEL(scan_blelloch) {
  extern __shared__ unsigned tree[];
  const unsigned t = threadIdx.x;
  tree[CONFLICT_FREE(t)] = in[t];
  tree[CONFLICT_FREE(t + 256)] = in[t + 256];
  unsigned offset = 1;
  for (unsigned d = 256; d > 0; d >>= 1, offset *= 2) {
    __syncthreads();
    if (t < d) tree[CONFLICT_FREE(offset * (2 * t + 2) - 1)] += tree[CONFLICT_FREE(offset * (2 * t + 1) - 1)];
  }
  if (t == 0) tree[CONFLICT_FREE(511)] = 0;
  for (unsigned d = 1; d < 512; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (t < d) {
      const unsigned left = CONFLICT_FREE(offset * (2 * t + 1) - 1),
                     right = CONFLICT_FREE(offset * (2 * t + 2) - 1);
      const unsigned kept = tree[left];
      tree[left] = tree[right];
      tree[right] += kept;
    }
  }
  __syncthreads();
  out[t] = tree[CONFLICT_FREE(t)];
  out[t + 256] = tree[CONFLICT_FREE(t + 256)];
}

// Single pass with decoupled lookback: blocks wait for those before them.
__device__ volatile unsigned long long tile_states[64];
__device__ unsigned next_tile;
// run scan_lookback 32 128 0 4096
KERNEL(scan_lookback) {
  __shared__ unsigned sums[32], tile, before;
  if (threadIdx.x == 0) tile = atomicAdd(&next_tile, 1);
  __syncthreads();
  const unsigned i = tile * blockDim.x + threadIdx.x;
  const unsigned sum = scan_block(in[i] & 0xffff, sums);
  if (threadIdx.x == blockDim.x - 1) {
    tile_states[tile] = (tile == 0 ? 2ull : 1ull) << 32 | sum;
    unsigned total = 0;
    for (int at = static_cast<int>(tile) - 1; at >= 0;) {
      const unsigned long long state = tile_states[at];
      if (state >> 32 == 0) continue;
      total += static_cast<unsigned>(state);
      if (state >> 32 == 2) break;
      --at;
    }
    if (tile != 0) tile_states[tile] = 2ull << 32 | (sum + total);
    before = total;
  }
  __syncthreads();
  out[i] = before + sum;
}

struct Segmented {
  float sum;
  int head;
  __device__ Segmented operator+(const Segmented &right) const {
    return {right.head ? right.sum : sum + right.sum, head | right.head};
  }
};
// run scan_segments 2 32 0 64
KERNEL(scan_segments) {
  Segmented mine{unit(in[index_in_grid()]), in[index_in_grid()] % 6 == 0};
  for (unsigned step = 1; step < 32; step *= 2) {
    const Segmented left{__shfl_up_sync(~0u, mine.sum, step), __shfl_up_sync(~0u, mine.head, step)};
    if (threadIdx.x >= step) mine = left + mine;
  }
  out[index_in_grid()] = __float_as_uint(mine.sum);
}

__device__ unsigned kept_count;
// run compact_ballots 1 1024 0 8192
KERNEL(compact_ballots) {
  __shared__ unsigned counts[32], total;
  unsigned base = 0;
  for (unsigned at = threadIdx.x; at < 8192; at += blockDim.x) {
    const bool is_kept = (in[at] & 6) == 2;
    const unsigned ballot = __ballot_sync(~0u, is_kept), lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane == 0) counts[warp] = __popc(ballot);
    __syncthreads();
    if (warp == 0) {
      const unsigned inclusive = scan_warp(counts[lane]);
      __syncwarp();
      const unsigned own = counts[lane];
      counts[lane] = inclusive - own;
      if (lane == 31) total = inclusive;
    }
    __syncthreads();
    if (is_kept) out[base + counts[warp] + __popc(ballot & ((1u << lane) - 1))] = in[at];
    base += total;
    __syncthreads();
  }
}
// Order-free compaction with one atomic for each warp; sorted by a sum of what is kept.
// run compact_aggregated 8 256 0 3
KERNEL(compact_aggregated) {
  const unsigned word = in[index_in_grid()];
  if (word % 3 != 1) return;
  const unsigned mask = __activemask(), leader = __ffs(mask) - 1;
  unsigned lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  unsigned first = 0;
  if (lane == leader) first = atomicAdd(&kept_count, __popc(mask));
  first = __shfl_sync(mask, first, leader);
  unsigned before;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(before));
  const unsigned place = first + __popc(mask & before);
  atomicAdd(&out[0], place);
  atomicAdd(&out[1], 1u);
  atomicXor(&out[2], word);
}
