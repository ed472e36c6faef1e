// SPDX-License-Identifier: Apache-2.0
// Kernels that synchronize by NVIDIA's headers. groups.ptx is compiled from it:
// nvcc -ptx -std=c++17 -arch=sm_80 groups.cu
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/barrier>
#include <cuda/pipeline>

namespace cg = cooperative_groups;

extern "C" {

__global__ void tiles(const int *in, int *out) {
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<8>(block);
  const auto warp = cg::tiled_partition<32>(block);
  __shared__ int shared[256];
  const unsigned i = block.thread_rank();
  shared[i] = in[i];
  tile.sync();
  const int next = shared[tile.meta_group_rank() * 8 + (tile.thread_rank() + 1) % 8];
  tile.sync();
  shared[i] = cg::reduce(tile, next, cg::plus<int>());
  warp.sync();
  int sum = shared[(i & ~31) + 31 - (i & 31)];
  if (i % 3 == 0) {
    const auto active = cg::coalesced_threads();
    sum += active.shfl(sum, 0);
  }
  sum += cg::inclusive_scan(tile, sum);
  block.sync();
  shared[255 - i] = sum;
  block.sync();
  out[i] = shared[i];
}

__global__ void rounds(const int *in, int *out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int shared[128];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  int sum = 0;
  for (int k = 0; k < 3; ++k) {
    shared[threadIdx.x] = in[threadIdx.x] + k;
    barrier.arrive_and_wait();
    sum += shared[(threadIdx.x + 37) % 128];
    auto token = barrier.arrive();
    barrier.wait(std::move(token));
  }
  out[threadIdx.x] = sum;
}

__global__ void pipelined(const int *in, int *out) {
  __shared__ int shared[2][128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  const auto block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int k = 0, fetched = 0; k < 4; ++k) {
    for (; fetched < 4 && fetched < k + 2; ++fetched) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, shared[fetched % 2], in + fetched * 128, cuda::aligned_size_t<16>(512),
                         pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    sum += shared[k % 2][(threadIdx.x + 1) % 128];
    pipeline.consumer_release();
  }
  out[threadIdx.x] = sum;
}

__global__ void reversed(const int *in, int *out) {
  __shared__ int shared[256];
  const auto block = cg::this_thread_block();
  cg::memcpy_async(block, shared, in, 1024);
  cg::wait(block);
  out[threadIdx.x] = shared[255 - threadIdx.x];
}

__device__ unsigned count;
__device__ volatile int parts[64];
__global__ void last_block(const int *in, int *out) {
  __shared__ bool is_last;
  __shared__ int shared[64];
  shared[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
  __syncthreads();
  for (unsigned k = 32; k > 0; k /= 2) {
    if (threadIdx.x < k) shared[threadIdx.x] += shared[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = shared[0];
    __threadfence();
    is_last = atomicInc(&count, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  shared[threadIdx.x] = threadIdx.x < gridDim.x ? parts[threadIdx.x] : 0;
  __syncthreads();
  if (threadIdx.x != 0) return;
  int sum = 0;
  for (int i = 0; i < 64; ++i) sum += shared[i];
  *out = sum;
  count = 0;
}

}  // extern "C"
