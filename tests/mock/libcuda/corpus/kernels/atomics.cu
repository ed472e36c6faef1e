// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda/atomic>
#include <cuda/latch>
#include <cuda/semaphore>

#include "corpus.cuh"

// run atomic_integers 4 128 0 32
KERNEL(atomic_integers) {
  const unsigned word = in[index_in_grid()];
  int *const signed_out = reinterpret_cast<int *>(out);
  atomicAdd(&out[0], word);
  atomicSub(&out[1], word);
  atomicAnd(&out[2], word | 1);
  atomicOr(&out[3], 1u << word % 29);
  atomicXor(&out[4], word);
  atomicMin(&signed_out[5], static_cast<int>(word));
  atomicMax(&signed_out[6], static_cast<int>(word));
  atomicMax(&out[7], word);
  atomicInc(&out[8], 100);
  atomicDec(&out[9], 77);
  auto *const wide = reinterpret_cast<unsigned long long *>(out + 16);
  atomicAdd(&wide[0], static_cast<unsigned long long>(word) << 30);
  atomicMax(&wide[1], static_cast<unsigned long long>(word) << 20);
  atomicXor(&wide[2], static_cast<unsigned long long>(word) << 7);
  atomicMin(reinterpret_cast<long long *>(&wide[3]), static_cast<long long>(word) - (1ll << 33));
  atomicOr(&wide[4], 1ull << word % 61);
}
// Sums of floats that are exact in any order.
// run atomic_floats 2 128 0 24
KERNEL(atomic_floats) {
  const unsigned word = in[index_in_grid()];
  atomicAdd(reinterpret_cast<float *>(out), static_cast<float>(word % 1000) * 0.25f);
  atomicAdd(reinterpret_cast<double *>(out + 2), static_cast<double>(word));
  atomicAdd(reinterpret_cast<__half2 *>(out + 4), __floats2half2_rn(static_cast<float>(word % 4), 1));
  atomicAdd(reinterpret_cast<__half *>(out + 5), __float2half(static_cast<float>(word % 3)));
#if __CUDA_ARCH__ >= 900
  atomicAdd(reinterpret_cast<__nv_bfloat162 *>(out + 6), __floats2bfloat162_rn(0.5f, -1));
  atomicAdd(reinterpret_cast<__nv_bfloat16 *>(out + 7), __float2bfloat16(1));
#endif
  __shared__ float shared_sum;
  __shared__ double shared_double;
  __shared__ unsigned long long shared_wide;
  if (threadIdx.x == 0) shared_sum = shared_double = shared_wide = 0;
  __syncthreads();
  atomicAdd(&shared_sum, static_cast<float>(word % 512));
  atomicAdd(&shared_double, static_cast<double>(word) * 0.5);
  atomicMax(&shared_wide, static_cast<unsigned long long>(word) * 3);
  __syncthreads();
  if (threadIdx.x == 0) {
    out[8 + blockIdx.x] = __float_as_uint(shared_sum);
    put(out, 5 + blockIdx.x, shared_double);
    put(out, 7 + blockIdx.x, shared_wide);
  }
}
#if __CUDA_ARCH__ >= 900
// run atomic_vectors 2 64 0 16 from=90
KERNEL(atomic_vectors) {
  atomicAdd(reinterpret_cast<float4 *>(out),
            make_float4(1, 2, static_cast<float>(in[index_in_grid()] % 16), 0.5f));
  atomicAdd(reinterpret_cast<float2 *>(out + 4), make_float2(3, static_cast<float>(threadIdx.x)));
}
#endif
// The old values of atomics within one warp, whose lanes are served in order.
// run atomic_scopes 2 64 0 256
KERNEL(atomic_scopes) {
  __shared__ unsigned counter;
  __shared__ unsigned short narrow;
  if (threadIdx.x == 0) {
    counter = 0;
    narrow = 9;
  }
  __syncthreads();
  const unsigned word = in[index_in_grid()];
  atomicAdd_block(&counter, word & 15);
  atomicCAS_block(&out[0], 0u, 5u);
  atomicExch_system(&out[1], 7u);
  atomicAdd_system(&out[2], 3u);
  atomicMax_block(&counter, word % 50);
  unsigned short seen = narrow, assumed;
  do {
    assumed = seen;
    seen = atomicCAS(&narrow, assumed, static_cast<unsigned short>(assumed + 3));
  } while (seen != assumed);
  __syncthreads();
  out[128 + index_in_grid()] = narrow + (counter > 49 ? 1000 : 0);
}
// run atomic_references 4 96 0 16
KERNEL(atomic_references) {
  const unsigned word = in[index_in_grid()];
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> device(out[0]);
  device.fetch_add(word, cuda::memory_order_relaxed);
  cuda::atomic_ref<int, cuda::thread_scope_system> system(*reinterpret_cast<int *>(out + 1));
  system.fetch_max(static_cast<int>(word), cuda::memory_order_acq_rel);
  cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> wide(
      *reinterpret_cast<unsigned long long *>(out + 2));
  wide.fetch_xor(static_cast<unsigned long long>(word) << 16 | 3);
  cuda::atomic_ref<float, cuda::thread_scope_device> real(*reinterpret_cast<float *>(out + 4));
  real.fetch_add(static_cast<float>(word % 64), cuda::memory_order_seq_cst);
  cuda::atomic_ref<double, cuda::thread_scope_device> most(*reinterpret_cast<double *>(out + 6));
  most.fetch_max(unit(word, word));
  cuda::atomic_ref<unsigned char, cuda::thread_scope_device> byte(
      reinterpret_cast<unsigned char *>(out + 8)[word % 4]);
  byte.fetch_add(1);
  cuda::atomic_ref<unsigned short, cuda::thread_scope_device> two(
      reinterpret_cast<unsigned short *>(out + 9)[word % 2]);
  two.fetch_or(static_cast<unsigned short>(1 << word % 16));
  unsigned expected = 0;
  cuda::atomic_ref<unsigned, cuda::thread_scope_block> swapped(out[10]);
  swapped.compare_exchange_strong(expected, 42u);
  cuda::std::atomic_ref<int> standard(*reinterpret_cast<int *>(out + 11));
  standard.fetch_sub(static_cast<int>(word % 100));
}
__device__ int lock_word;
__device__ unsigned guarded[2];
// run atomic_lock 6 64 0 2
KERNEL(atomic_lock) {
  for (bool is_done = false; !is_done;) {
    if (atomicCAS(&lock_word, 0, 1) == 0) {
      __threadfence();
      volatile unsigned *const plain = guarded;
      plain[0] = plain[0] + 1;
      plain[1] = plain[1] + in[index_in_grid()] % 10;
      __threadfence();
      atomicExch(&lock_word, 0);
      is_done = true;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0 && atomicAdd(&out[0], 1) == gridDim.x - 1) {
    out[0] = guarded[0];
    out[1] = guarded[1];
  }
}
__device__ unsigned next_ticket, served;
// run atomic_tickets 8 32 0 1
KERNEL(atomic_tickets) {
  if (threadIdx.x == 0) {
    const unsigned mine = atomicAdd(&next_ticket, 1);
    while (cuda::atomic_ref<unsigned, cuda::thread_scope_device>(served).load(cuda::memory_order_acquire) !=
           mine)
      __nanosleep(20);
    out[0] = out[0] * 3 + mine;
    cuda::atomic_ref<unsigned, cuda::thread_scope_device>(served).store(mine + 1, cuda::memory_order_release);
  }
}
__device__ cuda::atomic<unsigned, cuda::thread_scope_device> flag{0};
// run atomic_waits 2 32 0 64
KERNEL(atomic_waits) {
  using Latch = cuda::latch<cuda::thread_scope_block>;
  using Semaphore = cuda::counting_semaphore<cuda::thread_scope_block, 4>;
  __shared__ alignas(16) unsigned char latch_bytes[sizeof(Latch)], semaphore_bytes[sizeof(Semaphore)];
  Latch &latch = *reinterpret_cast<Latch *>(latch_bytes);
  Semaphore &semaphore = *reinterpret_cast<Semaphore *>(semaphore_bytes);
  __shared__ unsigned count;
  if (threadIdx.x == 0) {
    new (&latch) Latch(32);
    new (&semaphore) Semaphore(2);
    count = 0;
  }
  __syncthreads();
  semaphore.acquire();
  atomicAdd(&count, in[threadIdx.x] % 7);
  semaphore.release();
  latch.arrive_and_wait();
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
      flag.store(5, cuda::memory_order_release);
      flag.notify_all();
    }
    out[threadIdx.x] = count;
  } else {
    flag.wait(0, cuda::memory_order_acquire);
    out[32 + threadIdx.x] = flag.load() + count;
  }
}
#if __CUDA_ARCH__ >= 900
// run atomic_128 2 64 0 8 from=90
KERNEL(atomic_128) {
  using Wide = unsigned __int128;
  Wide *const target = reinterpret_cast<Wide *>(out);
  const Wide value = static_cast<Wide>(in[index_in_grid()]) << 60 | 1;
  Wide seen = *target, assumed;
  do {
    assumed = seen;
    seen = atomicCAS(target, assumed, assumed + value);
  } while (seen != assumed);
  if (index_in_grid() == 0) atomicExch(target + 1, value);
}
#endif
