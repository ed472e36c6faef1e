// SPDX-License-Identifier: Apache-2.0
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>
#include <cuda/barrier>
#include <cuda/pipeline>

#include "corpus.cuh"

namespace cg = cooperative_groups;
__device__ unsigned shared_address(const void *pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Double buffering by cp.async.
// run async_double_buffer 2 128 0 256 from=80
KERNEL(async_double_buffer) {
  __shared__ __align__(16) unsigned buffers[2][512];
  const unsigned *const from = in + blockIdx.x * 8192;
  const auto start = [&](unsigned stage) {
    const unsigned to = shared_address(&buffers[stage % 2][threadIdx.x * 4]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to),
                 "l"(from + stage * 512 + threadIdx.x * 4));
    asm volatile("cp.async.commit_group;");
  };
  unsigned sum = 0;
  start(0);
  for (unsigned stage = 0; stage < 16; ++stage) {
    if (stage + 1 < 16) {
      start(stage + 1);
      asm volatile("cp.async.wait_group 1;");
    } else {
      asm volatile("cp.async.wait_group 0;");
    }
    __syncthreads();
    for (unsigned k = 0; k < 4; ++k) sum = sum * 31 + buffers[stage % 2][(threadIdx.x + k * 131) % 512];
    __syncthreads();
  }
  out[index_in_grid()] = sum;
}
// Copies of 4, 8 and 16 bytes with fewer source bytes, filled with zeros.
// run async_zero_fill 1 64 0 512 from=80
KERNEL(async_zero_fill) {
  __shared__ __align__(16) unsigned to[512];
  for (unsigned i = threadIdx.x; i < 512; i += 64) to[i] = 0x11111111;
  __syncthreads();
  const unsigned t = threadIdx.x;
  const unsigned size16 = t % 17, size8 = t % 9, size4 = t % 5;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(&to[t * 4])),
               "l"(in + t * 4), "r"(size16));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(shared_address(&to[256 + t * 2])),
               "l"(in + t * 2), "r"(size8));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(&to[384 + t])),
               "l"(in + t), "r"(size4));
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  for (unsigned i = t; i < 512; i += 64) out[i] = to[i];
}
// run async_primitives 1 128 0 128 from=80
KERNEL(async_primitives) {
  __shared__ __align__(16) uint2 to[3][128];
  for (unsigned stage = 0; stage < 3; ++stage) {
    __pipeline_memcpy_async(&to[stage][threadIdx.x],
                            reinterpret_cast<const uint2 *>(in) + stage * 128 + threadIdx.x, 8);
    __pipeline_commit();
  }
  unsigned sum = 0;
  __pipeline_wait_prior(2);
  sum += to[0][threadIdx.x].x;
  __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = sum + to[1][127 - threadIdx.x].y * to[2][threadIdx.x ^ 5].x;
}
// run async_pipeline 2 128 0 256 from=80
KERNEL(async_pipeline) {
  constexpr unsigned stages = 3;
  __shared__ __align__(16) unsigned buffers[stages][128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  auto block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  const unsigned *const from = in + blockIdx.x * 2048;
  unsigned sum = 0;
  for (unsigned compute = 0, fetch = 0; compute < 16; ++compute) {
    for (; fetch < 16 && fetch < compute + stages; ++fetch) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, buffers[fetch % stages], from + fetch * 128, cuda::aligned_size_t<16>(512),
                         pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    sum = sum * 7 + buffers[compute % stages][127 - threadIdx.x];
    pipeline.consumer_release();
  }
  out[index_in_grid()] = sum;
}
// Half of the warps produce, the others consume.
// run async_roles 1 128 0 64 from=80
KERNEL(async_roles) {
  constexpr unsigned stages = 2;
  __shared__ __align__(16) unsigned buffers[stages][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  auto block = cg::this_thread_block();
  const auto role = threadIdx.x < 64 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto pipeline = cuda::make_pipeline(block, &state, role);
  if (role == cuda::pipeline_role::producer) {
    for (unsigned stage = 0; stage < 10; ++stage) {
      pipeline.producer_acquire();
      cuda::memcpy_async(&buffers[stage % stages][threadIdx.x], in + stage * 64 + threadIdx.x,
                         sizeof(unsigned), pipeline);
      pipeline.producer_commit();
    }
  } else {
    unsigned sum = 0;
    for (unsigned stage = 0; stage < 10; ++stage) {
      pipeline.consumer_wait();
      sum = (sum << 3 | sum >> 29) ^ buffers[stage % stages][(threadIdx.x * 5) % 64];
      pipeline.consumer_release();
    }
    out[threadIdx.x - 64] = sum;
  }
}
// run async_barrier_copy 2 96 0 192
KERNEL(async_barrier_copy) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ __align__(16) unsigned to[480];
  auto block = cg::this_thread_block();
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  block.sync();
  unsigned sum = 0;
  for (unsigned round = 0; round < 5; ++round) {
    cuda::memcpy_async(block, to, in + round * 480 + blockIdx.x * 4, sizeof to, barrier);
    barrier.arrive_and_wait();
    for (unsigned k = 0; k < 5; ++k) sum += to[(threadIdx.x * 5 + k * 97) % 480] * (k + 1);
    barrier.wait(barrier.arrive());
  }
  out[index_in_grid()] = sum;
}
// run async_group_copy 1 64 0 64
KERNEL(async_group_copy) {
  __shared__ __align__(16) unsigned to[256];
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  cg::memcpy_async(tile, to + tile.meta_group_rank() * 64, in + 10 + tile.meta_group_rank() * 100,
                   sizeof(unsigned) * 64);
  cg::memcpy_async(block, to + 128, in + 1000, sizeof(unsigned) * 128);
  cg::wait_prior<1>(tile);
  cg::wait(block);
  block.sync();
  out[threadIdx.x] = to[threadIdx.x] + to[255 - threadIdx.x] * 3 + to[127 - threadIdx.x] * 5;
}
// Arrivals that do not wait, dropped threads, and a completion function.
struct Counter {
  unsigned *counter;
  __device__ void operator()() noexcept { *counter = *counter * 2 + 1; }
};
// run barrier_completion 1 128 0 130
KERNEL(barrier_completion) {
  using Barrier = cuda::barrier<cuda::thread_scope_block, Counter>;
  __shared__ alignas(Barrier) unsigned char storage[sizeof(Barrier)];
  __shared__ unsigned counter, plain[128];
  Barrier *const barrier = reinterpret_cast<Barrier *>(storage);
  if (threadIdx.x == 0) {
    counter = 1;
    new (storage) Barrier(blockDim.x, Counter{&counter});
  }
  __syncthreads();
  unsigned seen = 0;
  for (unsigned round = 0; round < 6; ++round) {
    plain[threadIdx.x] = threadIdx.x * round;
    auto token = barrier->arrive();
    seen = seen * 3 + round;
    barrier->wait(cuda::std::move(token));
    seen += plain[(threadIdx.x + 1) % 128] + counter;
    barrier->arrive_and_wait();
  }
  out[threadIdx.x] = seen;
  if (threadIdx.x < 32) {
    barrier->arrive_and_drop();
  } else {
    barrier->arrive_and_wait();
    if (threadIdx.x == 32) out[128] = counter;
  }
}
