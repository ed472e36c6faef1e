// SPDX-License-Identifier: Apache-2.0
#include "corpus.cuh"

// run sort_bitonic 2 1024 4096 2048
KERNEL(sort_bitonic) {
  extern __shared__ unsigned keys[];
  const unsigned i = threadIdx.x;
  keys[i] = in[index_in_grid()];
  for (unsigned size = 2; size <= blockDim.x; size *= 2)
    for (unsigned stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      const unsigned other = i ^ stride;
      if (other > i && (keys[i] > keys[other]) == ((i & size) == 0)) {
        const unsigned kept = keys[i];
        keys[i] = keys[other];
        keys[other] = kept;
      }
    }
  __syncthreads();
  out[index_in_grid()] = keys[i];
}

// run sort_in_warp 4 64 0 512
KERNEL(sort_in_warp) {
  float key = spread(in[index_in_grid()], 30);
  unsigned value = index_in_grid();
  const unsigned lane = threadIdx.x & 31;
  for (unsigned size = 2; size <= 32; size <<= 1)
    for (unsigned stride = size >> 1; stride > 0; stride >>= 1) {
      const float other = __shfl_xor_sync(~0u, key, stride);
      const unsigned other_value = __shfl_xor_sync(~0u, value, stride);
      const bool up = (lane & size) == 0, low = (lane & stride) == 0;
      if ((key > other) == (up == low)) {
        key = other;
        value = other_value;
      }
    }
  out[index_in_grid()] = __float_as_uint(key);
  out[256 + index_in_grid()] = value;
}

// Four bits at a time with a scan of packed counters.
// run sort_radix 1 256 0 512
KERNEL(sort_radix) {
  __shared__ unsigned keys[256], values[256], counts[16][8], starts[16];
  const unsigned t = threadIdx.x, lane = t % 32, warp = t / 32;
  unsigned key = in[t], value = t;
  for (unsigned shift = 0; shift < 32; shift += 4) {
    const unsigned digit = key >> shift & 15;
    const unsigned peers = __match_any_sync(~0u, digit);
    if (t < 128) counts[t / 8][t % 8] = 0;
    __syncthreads();
    const unsigned rank = __popc(peers & ((1u << lane) - 1));
    if (rank == 0) counts[digit][warp] = __popc(peers);
    __syncthreads();
    if (t < 16) {
      unsigned sum = 0;
      for (unsigned w = 0; w < 8; ++w) {
        const unsigned one = counts[t][w];
        counts[t][w] = sum;
        sum += one;
      }
      unsigned inclusive = sum;
      for (unsigned step = 1; step < 16; step *= 2) {
        const unsigned left = __shfl_up_sync(0xffff, inclusive, step, 16);
        if (t >= step) inclusive += left;
      }
      starts[t] = inclusive - sum;
    }
    __syncthreads();
    const unsigned place = starts[digit] + counts[digit][warp] + rank;
    keys[place] = key;
    values[place] = value;
    __syncthreads();
    key = keys[t];
    value = values[t];
  }
  out[t] = key;
  out[256 + t] = value;
}

// Merges sorted runs by merge path.
// run sort_merge 1 128 0 1024
KERNEL(sort_merge) {
  __shared__ int a[1024], b[1024];
  int *from = a, *to = b;
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) a[i] = static_cast<int>(in[i]);
  __syncthreads();
  for (unsigned width = 1; width < 1024; width *= 2) {
    for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) {
      const unsigned base = i / (2 * width) * 2 * width, diagonal = i - base;
      unsigned low = diagonal > width ? diagonal - width : 0, high = min(diagonal, width);
      while (low < high) {
        const unsigned middle = (low + high) / 2;
        if (from[base + middle] <= from[base + width + diagonal - 1 - middle])
          low = middle + 1;
        else
          high = middle;
      }
      const unsigned x = low, y = diagonal - low;
      to[i] = y >= width || (x < width && from[base + x] <= from[base + width + y]) ? from[base + x]
                                                                                    : from[base + width + y];
    }
    __syncthreads();
    int *const kept = from;
    from = to;
    to = kept;
  }
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) out[i] = static_cast<unsigned>(from[i]);
}

// run sort_odd_even 2 128 0 512
KERNEL(sort_odd_even) {
  __shared__ unsigned short keys[256];
  keys[2 * threadIdx.x] = static_cast<unsigned short>(in[2 * index_in_grid()]);
  keys[2 * threadIdx.x + 1] = static_cast<unsigned short>(in[2 * index_in_grid() + 1]);
  __syncthreads();
  bool is_sorted = false;
  for (unsigned round = 0; !is_sorted; ++round) {
    const unsigned i = 2 * threadIdx.x + (round & 1);
    bool swaps = false;
    if (i + 1 < 256 && keys[i] > keys[i + 1]) {
      const unsigned short kept = keys[i];
      keys[i] = keys[i + 1];
      keys[i + 1] = kept;
      swaps = true;
    }
    is_sorted = !__syncthreads_or(swaps) && (round & 1);
  }
  out[2 * index_in_grid()] = keys[2 * threadIdx.x];
  out[2 * index_in_grid() + 1] = keys[2 * threadIdx.x + 1];
}

// Each thread sorts an array of its own in local memory, by insertion and by recursion.
__device__ void quick_sort(int *values, int low, int high) {
  while (low < high) {
    const int pivot = values[(low + high) / 2];
    int i = low, j = high;
    while (i <= j) {
      while (values[i] < pivot) ++i;
      while (values[j] > pivot) --j;
      if (i <= j) {
        const int kept = values[i];
        values[i++] = values[j];
        values[j--] = kept;
      }
    }
    quick_sort(values, low, j);
    low = i;
  }
}
// run sort_alone 2 64 0 4096
KERNEL(sort_alone) {
  int values[32];
  for (unsigned k = 0; k < 32; ++k) values[k] = static_cast<int>(in[index_in_grid() * 32 + k]);
  if (threadIdx.x & 1) {
    quick_sort(values, 0, 31);
  } else {
    for (int k = 1; k < 32; ++k) {
      const int value = values[k];
      int at = k;
      for (; at > 0 && values[at - 1] > value; --at) values[at] = values[at - 1];
      values[at] = value;
    }
  }
  for (unsigned k = 0; k < 32; ++k) out[index_in_grid() * 32 + k] = static_cast<unsigned>(values[k]);
}

// Selects the k-th number by the bits from the highest down.
// run select_kth 4 256 0 4
KERNEL(select_kth) {
  const unsigned word = in[index_in_grid()];
  unsigned prefix = 0, k = 100 + blockIdx.x;
  for (int bit = 31; bit >= 0; --bit) {
    const bool is_candidate = bit == 31 || (word ^ prefix) >> (bit + 1) == 0;
    const unsigned zeros = __syncthreads_count(is_candidate && !(word >> bit & 1));
    if (k >= zeros) {
      k -= zeros;
      prefix |= 1u << bit;
    }
  }
  if (threadIdx.x == 0) out[blockIdx.x] = prefix;
}
