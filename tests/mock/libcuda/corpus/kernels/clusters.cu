// SPDX-License-Identifier: Apache-2.0
// Compute capability 9.0: barriers of clusters, memory of other blocks, asynchronous stores, warpgroup
// products.
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda/barrier>

#include "corpus.cuh"

namespace cg = cooperative_groups;
__device__ unsigned shared_of(const void *pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Remote stores that complete a transaction of another block's barrier.
// run cluster_async_stores 4 64 0 256 from=90 cluster=2
KERNEL(cluster_async_stores) {
  __shared__ unsigned buffer[64];
  __shared__ unsigned long long barrier;
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_of(&barrier)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(shared_of(&barrier))
                 : "memory");
  }
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  unsigned remote, remote_barrier;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(remote)
               : "r"(shared_of(&buffer[63 - threadIdx.x])), "r"(rank ^ 1));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(remote_barrier)
               : "r"(shared_of(&barrier)), "r"(rank ^ 1));
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(remote),
               "r"(in[index_in_grid()] + rank), "r"(remote_barrier)
               : "memory");
  asm volatile(
      "{.reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @p bra done; bra again; "
      "done: }" ::"r"(shared_of(&barrier))
      : "memory");
  out[index_in_grid()] = buffer[threadIdx.x];
  asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}
// Asynchronous reductions to another block.
// run cluster_async_sums 4 64 0 32 from=90 cluster=4
KERNEL(cluster_async_sums) {
  __shared__ unsigned sums[4];
  __shared__ unsigned long long barrier;
  auto cluster = cg::this_cluster();
  if (threadIdx.x < 4) sums[threadIdx.x] = threadIdx.x == 2 ? ~0u : 0;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_of(&barrier)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_of(&barrier)),
                 "r"(64 * 4 * 4)
                 : "memory");
  }
  cluster.sync();
  const unsigned other = (cluster.block_rank() + 1) % 4;
  unsigned to[4], remote_barrier;
  for (unsigned k = 0; k < 4; ++k)
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to[k]) : "r"(shared_of(&sums[k])), "r"(other));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(remote_barrier)
               : "r"(shared_of(&barrier)), "r"(other));
  const unsigned word = in[index_in_grid()];
  asm volatile(
      "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(
          to[0]),
      "r"(word), "r"(remote_barrier)
      : "memory");
  asm volatile(
      "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.u32 [%0], %1, [%2];" ::"r"(
          to[1]),
      "r"(word), "r"(remote_barrier)
      : "memory");
  asm volatile(
      "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.and.b32 [%0], %1, [%2];" ::"r"(
          to[2]),
      "r"(word | 0xff00ffu), "r"(remote_barrier)
      : "memory");
  asm volatile(
      "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.xor.b32 [%0], %1, [%2];" ::"r"(
          to[3]),
      "r"(word), "r"(remote_barrier)
      : "memory");
  asm volatile(
      "{.reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @p bra done; bra again; "
      "done: }" ::"r"(shared_of(&barrier))
      : "memory");
  if (threadIdx.x < 4) out[blockIdx.x * 4 + threadIdx.x] = sums[threadIdx.x];
  cluster.sync();
}
// cp.async that arrives at a barrier of shared memory.
// run async_arrivals 2 64 0 128 from=80
KERNEL(async_arrivals) {
  __shared__ __align__(16) unsigned buffer[2][256];
  __shared__ unsigned long long barriers[2];
  if (threadIdx.x < 2)
    asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(shared_of(&barriers[threadIdx.x])));
  __syncthreads();
  unsigned sum = 0;
  for (unsigned turn = 0; turn < 6; ++turn) {
    const unsigned stage = turn % 2;
    asm volatile(
        "cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(shared_of(&buffer[stage][threadIdx.x * 4])),
        "l"(in + blockIdx.x * 4096 + turn * 256 + threadIdx.x * 4)
        : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_of(&barriers[stage]))
                 : "memory");
    unsigned ready = 0;
    while (!ready)
      asm volatile(
          "{.reg .pred p; .reg .b64 s; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, "
          "p;}"
          : "=r"(ready)
          : "r"(shared_of(&barriers[stage])), "r"(turn / 2 % 2)
          : "memory");
    sum = sum * 5 + buffer[stage][255 - threadIdx.x * 3];
    __syncthreads();
  }
  out[index_in_grid()] = sum;
}
// A warpgroup's product of halves, without swizzle, from shared memory.
// run warpgroup_product 1 128 0 512 from=90
KERNEL(warpgroup_product) {
  __shared__ __align__(128) __half a[64 * 16], b[8 * 16];
  for (unsigned i = threadIdx.x; i < 1024; i += 128) {
    const unsigned row = i / 16, column = i % 16;
    a[row / 8 * 128 + column / 8 * 64 + row % 8 * 8 + column % 8] = __float2half(between(in[i], -1, 1));
    if (i < 128) b[column / 8 * 64 + row % 8 * 8 + column % 8] = __float2half(between(in[2000 + i], -1, 1));
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const auto descriptor = [](const void *pointer) {
    return static_cast<unsigned long long>((shared_of(pointer) & 0x3ffff) >> 4) | 8ull << 16 | 16ull << 32;
  };
  float d[4] = {};
#if __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  for (unsigned turn = 0; turn < 2; ++turn)
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %6, 0; "
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "l"(descriptor(a)), "l"(descriptor(b)), "r"(turn));
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#endif
  for (unsigned k = 0; k < 4; ++k) out[threadIdx.x * 4 + k] = __float_as_uint(d[k]);
}
// Matrices stored with a transposition.
// run matrix_stores 1 32 0 256 from=90
KERNEL(matrix_stores) {
  __shared__ __align__(16) unsigned to[256];
  const unsigned t = threadIdx.x;
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_of(&to[t * 4])),
      "r"(in[t]), "r"(in[t + 32]), "r"(in[t + 64]), "r"(in[t + 96])
      : "memory");
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   shared_of(&to[128 + (t ^ 3) * 4])),
               "r"(in[t]), "r"(in[t + 32]), "r"(in[t + 64]), "r"(in[t + 96])
               : "memory");
  __syncwarp();
  for (unsigned k = 0; k < 8; ++k) out[t + 32 * k] = to[t + 32 * k];
}
// Grid dependencies: no other kernel to wait for.
// run cluster_dependencies 2 64 0 128 from=90
KERNEL(cluster_dependencies) {
  cudaGridDependencySynchronize();
  out[index_in_grid()] = in[index_in_grid()] * 3;
  cudaTriggerProgrammaticLaunchCompletion();
}
// Registers of clusters of three dimensions that have one block.
// run cluster_of_one 2 32 0 64 from=90
KERNEL(cluster_of_one) {
  auto cluster = cg::this_cluster();
  unsigned blocks, is_explicit;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
  asm volatile("{.reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p;}"
               : "=r"(is_explicit));
  out[index_in_grid()] = cluster.num_threads() + 100 * blocks + 1000 * is_explicit +
                         10000 * cluster.block_rank() + 100000 * cluster.dim_blocks().x;
}
