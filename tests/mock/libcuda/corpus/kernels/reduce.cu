// SPDX-License-Identifier: Apache-2.0
#include "corpus.cuh"

// run reduce_warp 4 256 0 64
KERNEL(reduce_warp) {
  unsigned sum = in[index_in_grid()];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
  if (threadIdx.x % 32 == 0) out[index_in_grid() / 32] = sum;
}

template <class T, class Operation>
__device__ T reduce_block(T value, Operation operation) {
  __shared__ T partial[32];
  for (int step = 16; step > 0; step /= 2) value = operation(value, __shfl_xor_sync(0xffffffff, value, step));
  __syncthreads();
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x < 32) {
    value = partial[min(threadIdx.x, blockDim.x / 32 - 1)];
    if (threadIdx.x >= blockDim.x / 32) value = partial[0];
    for (unsigned step = 1; step < blockDim.x / 32; step *= 2) {
      const T other = __shfl_down_sync(0xffffffff, value, step);
      if (threadIdx.x % (2 * step) == 0 && threadIdx.x + step < blockDim.x / 32)
        value = operation(value, other);
    }
  }
  return value;
}

// run reduce_float 8 512 0 8
KERNEL(reduce_float) {
  float sum = 0;
  for (unsigned i = index_in_grid(); i < n; i += gridDim.x * blockDim.x) sum += between(in[i], -1, 1);
  sum = reduce_block(sum, [](float a, float b) { return a + b; });
  if (threadIdx.x == 0) out[blockIdx.x] = __float_as_uint(sum);
}

// run reduce_double 4 384 0 8
KERNEL(reduce_double) {
  double sum = 0;
  for (unsigned i = index_in_grid(); i + 1 < n; i += gridDim.x * blockDim.x) sum += unit(in[i], in[i + 1]);
  sum = reduce_block(sum, [](double a, double b) { return a + b; });
  if (threadIdx.x == 0) put(out, blockIdx.x, sum);
}

// run reduce_extremes 2 1024 0 16
KERNEL(reduce_extremes) {
  const unsigned word = in[index_in_grid()];
  const float f = spread(word, 20);
  const float low = reduce_block(f, [](float a, float b) { return fminf(a, b); });
  const float high = reduce_block(f, [](float a, float b) { return fmaxf(a, b); });
  const int least = reduce_block(static_cast<int>(word), [](int a, int b) { return min(a, b); });
  const unsigned long long most =
      reduce_block(static_cast<unsigned long long>(word) << 32 | index_in_grid(),
                   [](unsigned long long a, unsigned long long b) { return max(a, b); });
  if (threadIdx.x == 0) {
    out[8 * blockIdx.x] = __float_as_uint(low);
    out[8 * blockIdx.x + 1] = __float_as_uint(high);
    out[8 * blockIdx.x + 2] = static_cast<unsigned>(least);
    out[8 * blockIdx.x + 3] = static_cast<unsigned>(most >> 32);
    out[8 * blockIdx.x + 4] = static_cast<unsigned>(most);
  }
}

#if __CUDA_ARCH__ >= 800
// run reduce_redux 2 256 0 4096 from=80
KERNEL(reduce_redux) {
  const unsigned i = index_in_grid(), word = in[i];
  out[i] = __reduce_add_sync(0xffffffff, word);
  out[512 + i] = __reduce_xor_sync(0xffffffff, word);
  out[1024 + i] = static_cast<unsigned>(__reduce_min_sync(0xffffffff, static_cast<int>(word)));
  out[1536 + i] = __reduce_max_sync(0xffffffff, word);
  if (word % 3 == 0) {
    const unsigned mask = __activemask();
    out[2048 + i] = __reduce_and_sync(mask, word);
    out[2560 + i] = __reduce_or_sync(mask, word);
    out[3072 + i] = static_cast<unsigned>(__reduce_max_sync(mask, static_cast<int>(word)));
  }
}
#endif

// run reduce_votes 2 128 0 1024
KERNEL(reduce_votes) {
  const unsigned i = index_in_grid(), word = in[i];
  out[i] = __ballot_sync(0xffffffff, word % 5 == 0);
  out[256 + i] = static_cast<unsigned>(__any_sync(0xffffffff, word % 40 == 0)) * 2 +
                 static_cast<unsigned>(__all_sync(0xffffffff, word % 40 != 0));
  out[512 + i] = static_cast<unsigned>(__syncthreads_count(word % 7 == 0)) +
                 1000 * static_cast<unsigned>(__syncthreads_and(word != 0)) +
                 2000 * static_cast<unsigned>(__syncthreads_or(word == 5));
  int is_same = 0;
  out[768 + i] = __match_any_sync(0xffffffff, word % 4) ^
                 __match_all_sync(0xffffffff, i / 32, &is_same) + static_cast<unsigned>(is_same);
}

__device__ unsigned arrived;
__device__ float partial_sums[64];
// run reduce_last_block 16 128 0 1
KERNEL(reduce_last_block) {
  __shared__ bool is_last;
  float sum = reduce_block(unit(in[index_in_grid()]), [](float a, float b) { return a + b; });
  if (threadIdx.x == 0) {
    partial_sums[blockIdx.x] = sum;
    __threadfence();
    is_last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  sum = threadIdx.x < gridDim.x ? reinterpret_cast<volatile float *>(partial_sums)[threadIdx.x] : 0;
  sum = reduce_block(sum, [](float a, float b) { return a + b; });
  if (threadIdx.x == 0) out[0] = __float_as_uint(sum);
}

// Kahan sums, and an argument of the maximum with ties.
// run reduce_kahan 2 64 0 256
KERNEL(reduce_kahan) {
  float sum = 0, lost = 0;
  unsigned best = 0, at = 0;
  for (unsigned i = index_in_grid(); i < n / 16; i += 128) {
    const float y = spread(in[i], 12) - lost, t = sum + y;
    lost = (t - sum) - y;
    sum = t;
    const unsigned value = in[i] >> 26;
    if (value > best) {
      best = value;
      at = i;
    }
  }
  out[index_in_grid()] = __float_as_uint(sum);
  for (int step = 1; step < 32; step *= 2) {
    const unsigned other = __shfl_xor_sync(~0u, best, step), other_at = __shfl_xor_sync(~0u, at, step);
    if (other > best || (other == best && other_at < at)) {
      best = other;
      at = other_at;
    }
  }
  out[128 + index_in_grid()] = at;
}
