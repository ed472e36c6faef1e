// SPDX-License-Identifier: Apache-2.0
// Votes, shuffles, barriers and fences in the forms that hand-written PTX uses.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "corpus.cuh"

__device__ unsigned place_of(const void *pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Shuffles of every width and mode, of types of 16 to 64 bits.
// run warp_shuffles 2 64 0 1024
KERNEL(warp_shuffles) {
  const unsigned i = index_in_grid(), word = in[i], lane = threadIdx.x % 32;
  unsigned sum = 0;
  for (int width = 2; width <= 32; width *= 2) {
    sum = sum * 3 + __shfl_sync(~0u, word, static_cast<int>(lane * 5 + 1), width);
    sum ^= __shfl_up_sync(~0u, word, 1, width) + __shfl_down_sync(~0u, word, 2, width);
    sum += __shfl_xor_sync(~0u, word, width - 1, width);
  }
  out[i] = sum;
  put(out, 64 + i, __shfl_xor_sync(~0u, unit(word, in[i + 1]), 5));
  put(out, 192 + i, __shfl_down_sync(~0u, static_cast<unsigned long long>(word) << 20 | i, 3, 16));
  const __half2 halves = __floats2half2_rn(unit(word), unit(in[i + 9]));
  const __half2 moved = __shfl_up_sync(~0u, halves, 4, 8);
  out[640 + i] = reinterpret_cast<const unsigned &>(moved);
  const __nv_bfloat16 bf = __shfl_sync(~0u, __float2bfloat16(unit(word)), 7);
  out[768 + i] = __bfloat16_as_ushort(bf);
  unsigned made, is_valid;
  asm volatile("{.reg .pred p; shfl.sync.down.b32 %0|p, %2, %3, %4, 0xffffffff; selp.u32 %1, 1, 0, p;}"
               : "=r"(made), "=r"(is_valid)
               : "r"(word), "r"(in[i] % 40), "r"(0x181f & (in[5] | 0x181f)));
  out[896 + i] = made + is_valid;
}
// Loops over the distinct values of a warp, as aggregated atomics use them.
// run warp_leaders 2 96 0 288
KERNEL(warp_leaders) {
  const unsigned i = index_in_grid(), key = in[i] % 5, lane = threadIdx.x % 32;
  if (in[i + 200] % 7 == 0) {
    out[i] = 77;
    return;
  }
  unsigned rank = 0, turns = 0;
  for (unsigned todo = __activemask(); todo != 0;) {
    const int leader = __ffs(static_cast<int>(todo)) - 1;
    const unsigned same = __ballot_sync(__activemask(), __shfl_sync(__activemask(), key, leader) == key);
    if (__shfl_sync(__activemask(), key, leader) == key)
      rank = __popc(same & (1u << lane) - 1) + 100 * leader;
    todo &= ~same;
    ++turns;
  }
  out[i] = rank + 10000 * turns;
  const unsigned peers = __match_any_sync(__activemask(), key);
  if (static_cast<unsigned>(__ffs(static_cast<int>(peers)) - 1) == lane)
    atomicAdd(&out[192 + key], __popc(peers));
  out[224 + i % 32] = 5;
}
// Named barriers: halves of the block that arrive, and halves that wait.
// run warp_named_barriers 2 128 0 256
KERNEL(warp_named_barriers) {
  __shared__ unsigned buffer[2][64];
  const unsigned t = threadIdx.x % 64;
  unsigned sum = 0;
  if (threadIdx.x < 64) {
    for (unsigned turn = 0; turn < 10; ++turn) {
      const unsigned half = turn % 2;
      if (turn >= 2) asm volatile("bar.sync %0, 128;" ::"r"(3 + half) : "memory");
      buffer[half][t] = in[blockIdx.x * 1000 + turn * 64 + t];
      asm volatile("bar.arrive %0, 128;" ::"r"(1 + half) : "memory");
      sum += turn;
    }
  } else {
    for (unsigned turn = 0; turn < 10; ++turn) {
      const unsigned half = turn % 2;
      asm volatile("bar.sync %0, 128;" ::"r"(1 + half) : "memory");
      sum = sum * 7 + buffer[half][(t + turn) % 64];
      if (turn + 2 < 10) asm volatile("bar.arrive %0, 128;" ::"r"(3 + half) : "memory");
    }
  }
  out[index_in_grid()] = sum;
}
// run warp_barrier_reductions 2 96 0 576
KERNEL(warp_barrier_reductions) {
  const unsigned i = index_in_grid();
  const int is_odd = static_cast<int>(in[i] & 1), rarely = in[i] % 100 == 0;
  unsigned count;
  asm volatile("{.reg .pred p; setp.ne.s32 p, %1, 0; barrier.cta.red.popc.aligned.u32 %0, 2, 96, p;}"
               : "=r"(count)
               : "r"(is_odd)
               : "memory");
  out[i] = count + 1000 * static_cast<unsigned>(__syncthreads_and(rarely == 0)) +
           2000 * static_cast<unsigned>(__syncthreads_or(rarely)) +
           10000 * static_cast<unsigned>(__syncthreads_count(is_odd));
  unsigned any;
  asm volatile("{.reg .pred p, q; setp.ne.s32 p, %1, 0; bar.red.or.pred q, 1, p; selp.u32 %0, 1, 0, q;}"
               : "=r"(any)
               : "r"(rarely)
               : "memory");
  out[192 + i] = any;
  unsigned of_warp = 0;
  if (threadIdx.x < 64)
    asm volatile("{.reg .pred p; setp.ne.s32 p, %1, 0; bar.red.popc.u32 %0, 5, 64, !p;}"
                 : "=r"(of_warp)
                 : "r"(is_odd)
                 : "memory");
  out[384 + i] = of_warp;
}
// Loads and stores with hints, orders and scopes.
// run warp_hints 2 64 0 640 from=80
KERNEL(warp_hints) {
  const unsigned i = index_in_grid();
  unsigned a, b, c, d, e;
  unsigned long long policy;
  asm volatile("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %0, 0.5;" : "=l"(policy));
  asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
               : "l"(in + 4 * i), "l"(policy));
  asm volatile("st.global.L1::evict_first.v2.u32 [%0], {%1, %2};" ::"l"(out + 2 * i), "r"(a ^ b), "r"(c ^ d)
               : "memory");
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(e) : "l"(out + 2 * i) : "memory");
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(out + 256 + i), "r"(e * 3) : "memory");
  asm volatile("ld.acquire.cta.global.L1::evict_last.u32 %0, [%1];"
               : "=r"(e)
               : "l"(out + 256 + i)
               : "memory");
  asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(in));
  asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(in + 32 * i));
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
  asm volatile("fence.sc.cta;" ::: "memory");
  out[384 + i] = e + __ldcs(in + i) + __ldcg(in + i + 1) + __ldlu(in + i + 2) + __ldcv(in + i + 3);
  __stwt(out + 512 + i, e ^ __ldca(reinterpret_cast<const unsigned short *>(in) + i));
}
// Special values through instructions of PTX that C++ has no name for.
// run warp_registers 3 64 0 1152
KERNEL(warp_registers) {
  const unsigned i = index_in_grid();
  unsigned lane, eq, lt, le, gt, ge, warp, warps;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm volatile("mov.u32 %0, %%lanemask_eq;" : "=r"(eq));
  asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
  asm volatile("mov.u32 %0, %%lanemask_le;" : "=r"(le));
  asm volatile("mov.u32 %0, %%lanemask_gt;" : "=r"(gt));
  asm volatile("mov.u32 %0, %%lanemask_ge;" : "=r"(ge));
  asm volatile("mov.u32 %0, %%nctaid.x;" : "=r"(warps));
  asm volatile(
      "{.reg .pred p; setp.lt.u32 p, %1, 9; vote.sync.uni.pred p, p, 0xffffffff; selp.u32 %0, 1, 0, p;}"
      : "=r"(warp)
      : "r"(lane));
  out[i] = lane + (eq ^ lt) + le;
  out[192 + i] = gt - ge + warp + warps;
  unsigned made;
  asm("szext.wrap.s32 %0, %1, %2;" : "=r"(made) : "r"(in[i]), "r"(in[i + 1] % 40));
  out[384 + i] = made;
  asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(made) : "r"(in[i] % 33), "r"(in[i + 1] % 33));
  out[576 + i] = made;
  asm("fns.b32 %0, %1, %2, %3;"
      : "=r"(made)
      : "r"(in[i]), "r"(lane), "r"(static_cast<int>(in[i + 2] % 9) - 4));
  out[768 + i] = made;
  asm("shf.r.clamp.b32 %0, %1, %2, %3;" : "=r"(made) : "r"(in[i]), "r"(in[i + 1]), "r"(in[i + 2] % 50));
  out[960 + i] = made ^ __dp2a_lo(static_cast<int>(in[i]), static_cast<int>(in[i + 1]), 5) ^
                 static_cast<unsigned>(__mul24(static_cast<int>(in[i]), static_cast<int>(in[i + 3]))) ^
                 __usad(in[i], in[i + 1], in[i + 2]) ^ __umulhi(in[i], in[i + 4]) ^
                 __uhadd(in[i], in[i + 5]) ^ __urhadd(in[i], in[i + 6]);
}
// Clocks, timers and sleep: only their order has results.
// run warp_clocks 1 64 0 64
KERNEL(warp_clocks) {
  const long long first = clock64();
  unsigned long long now, then;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  unsigned x = in[threadIdx.x];
  for (unsigned k = 0; k < 100; ++k) x = x * 1664525 + 1013904223;
  __nanosleep(200);
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(then));
  const long long last = clock64();
  out[threadIdx.x] = x + (last > first) + 2 * (then >= now) + 4;
}
// Functions of halves by the special function unit.
// run warp_half_functions 2 64 0 640 from=75
KERNEL(warp_half_functions) {
  const unsigned i = index_in_grid(), word = in[i] & 0xbfffbfff;
  unsigned made;
  asm("ex2.approx.f16x2 %0, %1;" : "=r"(made) : "r"(word));
  out[i] = made;
  asm("tanh.approx.f16x2 %0, %1;" : "=r"(made) : "r"(word));
  out[128 + i] = made;
  float value;
  asm("tanh.approx.f32 %0, %1;" : "=f"(value) : "f"(spread(in[i], 4)));
  out[256 + i] = __float_as_uint(value);
#if __CUDA_ARCH__ >= 900
  asm("ex2.approx.ftz.bf16x2 %0, %1;" : "=r"(made) : "r"(word));
  out[384 + i] = made;
  asm("tanh.approx.bf16x2 %0, %1;" : "=r"(made) : "r"(word));
  out[512 + i] = made;
#endif
}
// All atomics on shared memory whose result is read.
// run warp_shared_atomics 2 64 0 1152
KERNEL(warp_shared_atomics) {
  __shared__ unsigned words[10];
  __shared__ unsigned long long wide[4];
  __shared__ float real;
  if (threadIdx.x < 10) words[threadIdx.x] = in[threadIdx.x] >> 8;
  if (threadIdx.x < 4) wide[threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x == 0) real = 0;
  __syncthreads();
  const unsigned i = index_in_grid();
  for (unsigned turn = 0; turn < 64; ++turn) {
    if (turn == threadIdx.x) {
      const unsigned word = in[i];
      out[i] = atomicAdd(&words[0], word) ^ atomicSub(&words[1], word) ^ atomicExch(&words[2], word);
      out[128 + i] =
          atomicMin(&words[3], word) ^ atomicMax(&words[4], word) ^ atomicInc(&words[5], word % 100);
      out[256 + i] = atomicDec(&words[6], word % 100) ^ atomicCAS(&words[7], words[7], word) ^
                     atomicAnd(&words[8], word | 0xffff);
      out[384 + i] = atomicOr(&words[9], 1u << word % 32) ^ atomicXor(&words[9], word);
      put(out, 256 + i, atomicAdd(&wide[0], static_cast<unsigned long long>(word) << 17));
      put(out, 384 + i,
          atomicMax(&wide[1], static_cast<unsigned long long>(word) << 9) ^
              atomicCAS(&wide[2], wide[2], static_cast<unsigned long long>(word)));
      out[1024 + i] = __float_as_uint(atomicAdd(&real, unit(word)));
    }
    __syncthreads();
  }
}
