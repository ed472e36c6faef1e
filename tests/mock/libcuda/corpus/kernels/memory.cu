// SPDX-License-Identifier: Apache-2.0
#include "corpus.cuh"

__constant__ float coefficients[16] = {0.5f, -0.25f, 1.5f, 2.0f, -3.0f, 0.125f, 7.0f, -0.75f,
                                       1,    2,      3,    4,    5,     6,      7,    8};
__constant__ struct {
  unsigned char a;
  unsigned short b;
  double c;
  unsigned d[3];
} record = {7, 999, 2.5, {1, 2, 3}};
__device__ unsigned table[64] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ unsigned *table_pointer = table + 2;
__device__ const char *const words[] = {"alpha", "beta", "gamma", "delta"};

// run memory_constants 1 64 0 256
KERNEL(memory_constants) {
  const unsigned t = threadIdx.x;
  float sum = 0;
  for (unsigned k = 0; k < 16; ++k) sum = sum * 0.5f + coefficients[(t + k) & 15] * unit(in[k]);
  out[t] = __float_as_uint(sum);
  out[64 + t] = record.a + record.b * record.d[t % 3] + static_cast<unsigned>(record.c * t);
  out[128 + t] = table[t] + table_pointer[t % 6];
  const char *const word = words[in[t] % 4];
  unsigned hash = 5381;
  for (const char *c = word; *c; ++c) hash = hash * 33 + static_cast<unsigned char>(*c);
  out[192 + t] = hash;
}
// run memory_loads 1 128 0 1024
KERNEL(memory_loads) {
  const unsigned t = threadIdx.x;
  const uint4 four = __ldg(reinterpret_cast<const uint4 *>(in) + t);
  const uint2 two = __ldcs(reinterpret_cast<const uint2 *>(in) + 512 + t);
  out[t] = four.x + four.y * 3 + four.z * 5 + four.w * 7 + two.x - two.y;
  out[128 + t] = __ldcg(in + t) ^ __ldca(in + t + 1) ^ __ldcv(in + t + 2) ^ __ldlu(in + t + 3);
  const auto *const bytes = reinterpret_cast<const unsigned char *>(in);
  const auto *const shorts = reinterpret_cast<const short *>(in);
  out[256 + t] = bytes[t * 3 + 1] + static_cast<unsigned>(static_cast<signed char>(bytes[t])) +
                 static_cast<unsigned>(shorts[t * 5]);
  __stcs(out + 384 + t, in[t] * 2);
  __stwt(out + 512 + t, in[t] * 3);
  __stcg(reinterpret_cast<uint2 *>(out + 640) + t, make_uint2(t, in[t]));
  volatile unsigned *const plain = out + 896;
  plain[t] = in[t];
  plain[t] = plain[t] + 1;
}
struct __align__(4) Packed {
  unsigned a : 5, b : 11, c : 16;
  signed char d;
  unsigned short e;
};
union Pun {
  double real;
  unsigned words[2];
  unsigned char bytes[8];
  float floats[2];
};
// run memory_layouts 1 64 0 256
KERNEL(memory_layouts) {
  const unsigned t = threadIdx.x;
  Packed packed{};
  packed.a = in[t];
  packed.b = in[t + 1];
  packed.c = in[t + 2];
  packed.d = static_cast<signed char>(in[t + 3]);
  packed.e = static_cast<unsigned short>(packed.b + packed.d);
  out[t] = packed.a + packed.b * 32 + packed.c * 7 + packed.e + static_cast<unsigned>(packed.d);
  Pun pun;
  pun.real = unit(in[t], in[t + 1]);
  pun.bytes[t % 8] ^= 0x55;
  pun.floats[1] *= 0.5f;
  out[64 + t] = pun.words[0];
  out[128 + t] = pun.words[1];
  unsigned char local[24];
  memcpy(local, in + t, 24);
  for (int i = 0; i < 12; ++i) {
    const unsigned char kept = local[i];
    local[i] = local[23 - i];
    local[23 - i] = kept;
  }
  unsigned moved;
  memcpy(&moved, local + t % 20, 4);
  out[192 + t] = moved;
}
// A pointer whose space is known only when it runs.
__device__ __noinline__ unsigned through(unsigned *pointer, unsigned value) {
  *pointer += value;
  return *pointer + (__isGlobal(pointer) ? 1000 : 0) + (__isShared(pointer) ? 2000 : 0) +
         (__isLocal(pointer) ? 4000 : 0) + (__isConstant(pointer) ? 8000 : 0);
}
// run memory_generic 1 96 0 192
KERNEL(memory_generic) {
  __shared__ unsigned shared[96];
  unsigned local = in[threadIdx.x];
  shared[threadIdx.x] = in[threadIdx.x + 1];
  unsigned *const pointers[] = {&local, &shared[threadIdx.x], &out[96 + threadIdx.x]};
  unsigned sum = 0;
  for (unsigned k = 0; k < 6; ++k) sum = sum * 3 + through(pointers[(threadIdx.x + k) % 3], k);
  out[threadIdx.x] = sum + local;
}
// run memory_large_shared 2 256 200000 512
KERNEL(memory_large_shared) {
  extern __shared__ __align__(16) unsigned char large[];
  unsigned *const all = reinterpret_cast<unsigned *>(large);
  for (unsigned i = threadIdx.x; i < 50000; i += 256) all[i] = in[i % n] + i;
  __syncthreads();
  unsigned sum = 0, at = index_in_grid();
  for (unsigned k = 0; k < 100; ++k) {
    at = all[at % 50000];
    sum += at;
  }
  unsigned size;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(size));
  out[index_in_grid()] = sum + size;
}
// run memory_prefetch 1 32 0 64
KERNEL(memory_prefetch) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(in + threadIdx.x));
  asm volatile("prefetchu.L1 [%0];" ::"l"(in));
  unsigned value;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.u32 %0, [%1];" : "=r"(value) : "l"(in + threadIdx.x));
  asm volatile("st.global.relaxed.gpu.u32 [%0], %1;" ::"l"(out + threadIdx.x), "r"(value + 1));
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(out + threadIdx.x));
  asm volatile("st.release.cta.global.u32 [%0], %1;" ::"l"(out + 32 + threadIdx.x), "r"(value + 2));
  asm volatile("fence.acq_rel.gpu; fence.sc.sys; membar.cta;" ::: "memory");
}
extern "C" __global__ void __launch_bounds__(128, 4)
    memory_bounds(const unsigned *in, unsigned *out, unsigned n);
// run memory_bounds 2 128 0 256
extern "C" __global__ void memory_bounds(const unsigned *__restrict__ in, unsigned *__restrict__ out,
                                         unsigned n) {
  unsigned values[40];
#pragma unroll
  for (int i = 0; i < 40; ++i) values[i] = in[(index_in_grid() * 40 + i) % n];
#pragma unroll
  for (int round = 0; round < 3; ++round)
#pragma unroll
    for (int i = 0; i < 40; ++i) values[i] = values[i] * values[(i + 7) % 40] + values[(i + 13) % 40];
  unsigned sum = 0;
  for (int i = 0; i < 40; ++i) sum ^= values[i];
  out[index_in_grid()] = sum;
}
