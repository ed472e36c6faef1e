// SPDX-License-Identifier: Apache-2.0
// Compute capability 9.0: bulk copies, clusters, distributed shared memory.
#include <cooperative_groups.h>
#include <cuda_fp8.h>
#include <cuda/barrier>
#include <cuda/ptx>

#include "corpus.cuh"

namespace cg = cooperative_groups;
namespace cde = cuda::device::experimental;
__device__ unsigned address_of(const void *pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// run bulk_copy 2 128 0 2048 from=90
KERNEL(bulk_copy) {
  __shared__ alignas(16) unsigned buffer[1024];
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  if (threadIdx.x == 0) {
    init(&barrier, blockDim.x);
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  cuda::barrier<cuda::thread_scope_block>::arrival_token token;
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_global_to_shared(buffer, in + blockIdx.x * 1024, sizeof buffer, barrier);
    token = cuda::device::barrier_arrive_tx(barrier, 1, sizeof buffer);
  } else {
    token = barrier.arrive();
  }
  barrier.wait(cuda::std::move(token));
  for (unsigned i = threadIdx.x; i < 1024; i += 128) buffer[i] = buffer[i] * 3 + i;
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_shared_to_global(out + blockIdx.x * 1024, buffer, sizeof buffer);
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
  }
}
// run bulk_reduce 8 32 0 512 from=90
KERNEL(bulk_reduce) {
  __shared__ alignas(16) unsigned sums[128], extremes[128], masks[128];
  __shared__ alignas(16) unsigned long long wide[64];
  for (unsigned i = threadIdx.x; i < 128; i += 32) {
    sums[i] = in[blockIdx.x * 128 + i];
    extremes[i] = in[2048 + blockIdx.x * 128 + i];
    masks[i] = 1u << in[4096 + blockIdx.x * 128 + i] % 32;
    if (i < 64) wide[i] = static_cast<unsigned long long>(in[i]) * in[blockIdx.x];
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncwarp();
  if (threadIdx.x == 0) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 512;" ::"l"(out),
                 "r"(address_of(sums))
                 : "memory");
    asm volatile(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%0], [%1], 512;" ::"l"(out + 128),
        "r"(address_of(extremes))
        : "memory");
    asm volatile(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.or.b32 [%0], [%1], 512;" ::"l"(out + 256),
        "r"(address_of(masks))
        : "memory");
    asm volatile(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [%0], [%1], 512;" ::"l"(out + 384),
        "r"(address_of(wide))
        : "memory");
    asm volatile("cp.async.bulk.commit_group;");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

// run cluster_sum 8 64 0 512 from=90 cluster=4
KERNEL(cluster_sum) {
  __shared__ unsigned values[64];
  cg::cluster_group cluster = cg::this_cluster();
  values[threadIdx.x] = in[index_in_grid()];
  cluster.sync();
  unsigned sum = 0;
  for (unsigned rank = 0; rank < cluster.num_blocks(); ++rank)
    sum = sum * 5 + cluster.map_shared_rank(values, rank)[(threadIdx.x + rank) % 64];
  cluster.sync();
  out[index_in_grid()] = sum + cluster.block_rank() * 1000 + cluster.thread_rank();
}
// run cluster_histogram 8 128 1024 512 from=90 cluster=8
KERNEL(cluster_histogram) {
  extern __shared__ unsigned bins[];  // 64 bins in each block
  cg::cluster_group cluster = cg::this_cluster();
  for (unsigned i = threadIdx.x; i < 64; i += blockDim.x) bins[i] = 0;
  cluster.sync();
  for (unsigned i = index_in_grid(); i < 8192; i += gridDim.x * blockDim.x) {
    const unsigned bin = in[i] >> 23;
    atomicAdd(cluster.map_shared_rank(bins, bin / 64) + bin % 64, 1);
  }
  cluster.sync();
  for (unsigned i = threadIdx.x; i < 64; i += blockDim.x) out[blockIdx.x * 64 + i] = bins[i];
}
// Blocks pass data around a ring, with barriers that others arrive at.
// run cluster_ring 4 32 0 128 from=90 cluster=4
KERNEL(cluster_ring) {
  __shared__ alignas(8) unsigned long long barrier;
  __shared__ unsigned inbox[32];
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned next = (cluster.block_rank() + 1) % 4;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(address_of(&barrier)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster.sync();
  unsigned value = in[index_in_grid()], remote_inbox, remote_barrier;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(remote_inbox)
      : "r"(address_of(&inbox[threadIdx.x])), "r"(next));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote_barrier) : "r"(address_of(&barrier)), "r"(next));
  for (unsigned round = 0; round < 6; ++round) {
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(remote_inbox), "r"(value * 3 + round) : "memory");
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote_barrier)
                 : "memory");
    unsigned done = 0;
    while (!done)
      asm volatile(
          "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 "
          "%0, 1, 0, p; }"
          : "=r"(done)
          : "r"(address_of(&barrier)), "r"(round & 1)
          : "memory");
    value = inbox[31 - threadIdx.x];
    cluster.sync();
  }
  out[index_in_grid()] = value;
}
// Stores with completion counted in bytes, and one bulk copy from block to block.
// run cluster_stores 2 64 0 1024 from=90 cluster=2
KERNEL(cluster_stores) {
  __shared__ alignas(16) unsigned inbox[256], source[256];
  __shared__ alignas(8) unsigned long long barrier;
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned other = 1 - cluster.block_rank();
  for (unsigned i = threadIdx.x; i < 256; i += 64) {
    source[i] = in[blockIdx.x * 256 + i];
    inbox[i] = 0;
  }
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address_of(&barrier)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_of(&barrier)),
                 "r"(512 + 64 * 8)
                 : "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
  }
  cluster.sync();
  unsigned remote_inbox, remote_barrier;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote_inbox) : "r"(address_of(inbox)), "r"(other));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote_barrier) : "r"(address_of(&barrier)), "r"(other));
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];" ::"r"(
          remote_inbox + 512 + threadIdx.x * 8),
      "r"(source[threadIdx.x]), "r"(source[128 + threadIdx.x]), "r"(remote_barrier)
      : "memory");
  if (threadIdx.x == 0)
    asm volatile(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];" ::"r"(
            remote_inbox),
        "r"(address_of(source)), "r"(remote_barrier)
        : "memory");
  unsigned done = 0;
  while (!done)
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(address_of(&barrier))
        : "memory");
  for (unsigned i = threadIdx.x; i < 256; i += 64) out[blockIdx.x * 256 + i] = inbox[i];
  cluster.sync();
}
// run cluster_multicast 4 32 0 512 from=90 cluster=4
KERNEL(cluster_multicast) {
  __shared__ alignas(128) unsigned buffer[128];
  __shared__ alignas(8) unsigned long long barrier;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address_of(&barrier)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" ::"r"(address_of(&barrier))
                 : "memory");
  }
  cluster.sync();
  // Each block sends a quarter to all.
  if (threadIdx.x == 0)
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], "
        "128, [%2], %3;" ::"r"(address_of(buffer + 32 * cluster.block_rank())),
        "l"(in + 4096 + 32 * blockIdx.x), "r"(address_of(&barrier)), "h"(static_cast<unsigned short>(15))
        : "memory");
  unsigned done = 0;
  while (!done)
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(address_of(&barrier))
        : "memory");
  for (unsigned i = threadIdx.x; i < 128; i += 32) out[blockIdx.x * 128 + i] = buffer[i] + blockIdx.x;
  cluster.sync();
}
// run cluster_registers 4 64 0 1024 from=90 cluster=2
extern "C" __global__ void __cluster_dims__(2, 1, 1)
    cluster_registers(const unsigned *in, unsigned *out, unsigned n) {
  unsigned values[10];
  asm volatile("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(values[0]));
  asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(values[1]));
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(values[2]));
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(values[3]));
  asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(values[4]));
  asm volatile("mov.u32 %0, %%nclusterid.x;" : "=r"(values[5]));
  asm volatile("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }"
               : "=r"(values[6]));
  unsigned sum = n;
  for (int i = 0; i < 7; ++i) sum = sum * 10 + values[i];
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  out[index_in_grid()] = sum + in[0] % 2;
}
// Products of fp8.
// run product_fp8 1 32 0 256 from=90
KERNEL(product_fp8) {
  const unsigned l = threadIdx.x;
  float c[4] = {0, 0.5f, 1, 2};
  unsigned a[4], b[2];
  const auto four = [&](unsigned at) {
    unsigned word = 0;
    for (unsigned i = 0; i < 4; ++i)
      word |=
          static_cast<unsigned>(__nv_cvt_float_to_fp8(spread(in[at * 4 + i], 3), __NV_SATFINITE, __NV_E4M3))
          << 8 * i;
    return word;
  };
  for (unsigned i = 0; i < 4; ++i) a[i] = four(l * 6 + i);
  for (unsigned i = 0; i < 2; ++i) b[i] = four(l * 6 + 4 + i);
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  for (int i = 0; i < 4; ++i) out[l * 4 + i] = __float_as_uint(c[i]);
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  for (int i = 0; i < 4; ++i) out[128 + l * 4 + i] = __float_as_uint(c[i]);
}
// run elect_and_setmaxnreg 1 256 0 256 from=90
KERNEL(elect_and_setmaxnreg) {
  unsigned elected;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(elected));
  if (threadIdx.x < 128)
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
  else
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  asm volatile("griddepcontrol.wait;");
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("bar.sync 1, 256;");
  out[threadIdx.x] = elected + in[threadIdx.x] * 2;
}
