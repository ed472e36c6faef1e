// SPDX-License-Identifier: Apache-2.0
#include "corpus.cuh"

struct Philox {
  uint4 counter;
  uint2 key;
  __device__ uint4 next() {
    uint4 c = counter;
    uint2 k = key;
#pragma unroll
    for (int round = 0; round < 10; ++round) {
      const unsigned high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
      const unsigned high1 = __umulhi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
      c = make_uint4(high1 ^ c.y ^ k.x, low1, high0 ^ c.w ^ k.y, low0);
      k.x += 0x9E3779B9u;
      k.y += 0xBB67AE85u;
    }
    if (++counter.x == 0 && ++counter.y == 0 && ++counter.z == 0) ++counter.w;
    return c;
  }
};
// run random_philox 2 128 0 1024
KERNEL(random_philox) {
  const unsigned i = index_in_grid();
  Philox generator{make_uint4(0xfffffffe, in[0], i, 0), make_uint2(in[1], in[2])};
  uint4 sum = make_uint4(0, 0, 0, 0);
  for (int k = 0; k < 5; ++k) {
    const uint4 one = generator.next();
    sum.x ^= one.x;
    sum.y += one.y;
    sum.z = sum.z * 3 + one.z;
    sum.w ^= one.w + k;
  }
  reinterpret_cast<uint4 *>(out)[i] = sum;
}
// run random_pi 4 128 0 2
KERNEL(random_pi) {
  unsigned x = in[index_in_grid()] | 1, y = 362436069, z = 521288629, w = 88675123, v = 5783321, d = 6615241,
           inside = 0;
  const auto xorwow = [&] {
    const unsigned t = x ^ x >> 2;
    x = y;
    y = z;
    z = w;
    w = v;
    v = (v ^ v << 4) ^ (t ^ t << 1);
    return v + (d += 362437);
  };
  for (int k = 0; k < 200; ++k) {
    const float a = unit(xorwow()), b = unit(xorwow());
    inside += a * a + b * b < 1;
  }
  atomicAdd(&out[0], inside);
  atomicXor(&out[1], v);
}
// run random_normals 1 128 0 512
KERNEL(random_normals) {
  unsigned long long state = in[threadIdx.x] * 6364136223846793005ull + 1442695040888963407ull;
  const auto pcg = [&] {
    const unsigned long long old = state;
    state = old * 6364136223846793005ull + 1442695040888963407ull;
    const unsigned mixed = static_cast<unsigned>(((old >> 18) ^ old) >> 27),
                   turn = static_cast<unsigned>(old >> 59);
    return __funnelshift_r(mixed, mixed, turn);
  };
  for (int k = 0; k < 2; ++k) {
    const float radius = sqrtf(-2 * logf(unit(pcg()) + 0x1p-25f)), angle = 6.2831853f * unit(pcg());
    out[threadIdx.x * 2 + k * 256] = __float_as_uint(radius * cosf(angle));
    out[threadIdx.x * 2 + k * 256 + 1] = __float_as_uint(radius * sinf(angle));
  }
}
// A price of an option by paths, with a sum in a fixed order.
// run random_paths 1 64 0 128
KERNEL(random_paths) {
  unsigned state = in[threadIdx.x];
  double sum = 0;
  for (int path = 0; path < 8; ++path) {
    float price = 100;
    for (int step = 0; step < 16; ++step) {
      float noise = -6;
      for (int k = 0; k < 12; ++k) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        noise += unit(state);
      }
      price *= expf(0.0001f + 0.02f * noise);
    }
    sum += fmaxf(price - 95, 0);
  }
  put(out, threadIdx.x, sum);
}
// Mersenne twister of 32 bits, shared by a block.
// run random_twister 1 256 0 624
KERNEL(random_twister) {
  __shared__ unsigned state[624], next[624];
  for (unsigned i = threadIdx.x; i < 624; i += 256) state[i] = in[i];
  __syncthreads();
  for (unsigned first = 0; first < 624; first += 208) {
    for (unsigned i = first + threadIdx.x; i < first + 208; i += 256) {
      const unsigned after = i + 1 < 624 ? state[i + 1] : next[0],
                     far = i + 397 < 624 ? state[i + 397] : next[i + 397 - 624];
      const unsigned y = (state[i] & 0x80000000u) | (after & 0x7fffffffu);
      next[i] = far ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    __syncthreads();
  }
  for (unsigned i = threadIdx.x; i < 624; i += 256) {
    unsigned y = next[i];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    out[i] = y ^ y >> 18;
  }
}
