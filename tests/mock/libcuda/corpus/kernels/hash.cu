// SPDX-License-Identifier: Apache-2.0
#include "corpus.cuh"

__constant__ unsigned sha_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
__device__ unsigned right(unsigned x, unsigned by) { return __funnelshift_r(x, x, by); }
__device__ unsigned left(unsigned x, unsigned by) { return __funnelshift_l(x, x, by); }
// run hash_sha256 2 64 0 1024
KERNEL(hash_sha256) {
  unsigned w[64],
      h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  for (int i = 0; i < 16; ++i) w[i] = __byte_perm(in[index_in_grid() * 16 + i], 0, 0x0123);
#pragma unroll
  for (int i = 16; i < 64; ++i)
    w[i] = w[i - 16] + (right(w[i - 15], 7) ^ right(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
           (right(w[i - 2], 17) ^ right(w[i - 2], 19) ^ w[i - 2] >> 10);
  unsigned s[8];
  for (int i = 0; i < 8; ++i) s[i] = h[i];
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    const unsigned t1 = s[7] + (right(s[4], 6) ^ right(s[4], 11) ^ right(s[4], 25)) +
                        ((s[4] & s[5]) ^ (~s[4] & s[6])) + sha_constants[i] + w[i];
    const unsigned t2 = (right(s[0], 2) ^ right(s[0], 13) ^ right(s[0], 22)) +
                        ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    for (int k = 7; k > 0; --k) s[k] = s[k - 1];
    s[4] += t1;
    s[0] = t1 + t2;
  }
  for (int i = 0; i < 8; ++i) out[index_in_grid() * 8 + i] = h[i] + s[i];
}
// run hash_md5 1 96 0 384
KERNEL(hash_md5) {
  const unsigned *const m = in + threadIdx.x * 16;
  const unsigned char shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
  unsigned a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
  for (unsigned i = 0; i < 64; ++i) {
    const unsigned constant = static_cast<unsigned>(fabs(sin(static_cast<double>(i + 1))) * 4294967296.0);
    unsigned f, at;
    switch (i / 16) {
      case 0:
        f = (b & c) | (~b & d);
        at = i;
        break;
      case 1:
        f = (d & b) | (~d & c);
        at = (5 * i + 1) % 16;
        break;
      case 2:
        f = b ^ c ^ d;
        at = (3 * i + 5) % 16;
        break;
      default:
        f = c ^ (b | ~d);
        at = 7 * i % 16;
    }
    const unsigned turned = left(a + f + constant + m[at], shifts[i / 16][i % 4]);
    a = d;
    d = c;
    c = b;
    b += turned;
  }
  out[threadIdx.x * 4] = a + 0x67452301;
  out[threadIdx.x * 4 + 1] = b + 0xefcdab89;
  out[threadIdx.x * 4 + 2] = c + 0x98badcfe;
  out[threadIdx.x * 4 + 3] = d + 0x10325476;
}
using u64 = unsigned long long;
__device__ u64 left(u64 x, int by) { return x << by | x >> (64 - by); }
__device__ u64 wide(const unsigned *in, unsigned i) {
  return static_cast<u64>(in[2 * i + 1]) << 32 | in[2 * i];
}
// run hash_xx64 2 64 0 256
KERNEL(hash_xx64) {
  constexpr u64 p1 = 11400714785074694791ull, p2 = 14029467366897019727ull, p3 = 1609587929392839161ull,
                p4 = 9650029242287828579ull, p5 = 2870177450012600261ull;
  const unsigned first = index_in_grid() * 5, count = 3 + in[first] % 10;
  u64 h, v[4] = {p1 + p2, p2, 0, 0 - p1};
  unsigned i = 0;
  for (; i + 4 <= count; i += 4)
    for (unsigned k = 0; k < 4; ++k) v[k] = left(v[k] + wide(in, first + i + k) * p2, 31) * p1;
  if (count >= 4) {
    h = left(v[0], 1) + left(v[1], 7) + left(v[2], 12) + left(v[3], 18);
    for (const u64 one : v) h = (h ^ left(one * p2, 31) * p1) * p1 + p4;
  } else {
    h = p5;
  }
  h += count * 8;
  for (; i < count; ++i) h = left(h ^ left(wide(in, first + i) * p2, 31) * p1, 27) * p1 + p4;
  h = (h ^ h >> 33) * p2;
  h = (h ^ h >> 29) * p3;
  put(out, index_in_grid(), h ^ h >> 32);
}
// run hash_sip 2 64 0 256
KERNEL(hash_sip) {
  u64 v0 = 0x736f6d6570736575ull ^ wide(in, 0), v1 = 0x646f72616e646f6dull ^ wide(in, 1),
      v2 = 0x6c7967656e657261ull ^ wide(in, 0), v3 = 0x7465646279746573ull ^ wide(in, 1);
  const auto round = [&] {
    v0 += v1;
    v1 = left(v1, 13);
    v1 ^= v0;
    v0 = left(v0, 32);
    v2 += v3;
    v3 = left(v3, 16);
    v3 ^= v2;
    v0 += v3;
    v3 = left(v3, 21);
    v3 ^= v0;
    v2 += v1;
    v1 = left(v1, 17);
    v1 ^= v2;
    v2 = left(v2, 32);
  };
  for (unsigned i = 0; i < 6; ++i) {
    const u64 m = wide(in, index_in_grid() * 6 + i);
    v3 ^= m;
    round();
    round();
    v0 ^= m;
  }
  v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) round();
  put(out, index_in_grid(), v0 ^ v1 ^ v2 ^ v3);
}
__constant__ unsigned char sigma[4][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                           {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
                                           {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
                                           {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8}};
// run hash_blake2s 1 64 0 512
KERNEL(hash_blake2s) {
  const unsigned iv[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const unsigned *const m = in + threadIdx.x * 16;
  unsigned v[16];
  for (int i = 0; i < 8; ++i) {
    v[i] = iv[i];
    v[i + 8] = iv[i];
  }
  const auto mix = [&](int a, int b, int c, int d, unsigned x, unsigned y) {
    v[a] += v[b] + x;
    v[d] = right(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = right(v[b] ^ v[c], 12);
    v[a] += v[b] + y;
    v[d] = right(v[d] ^ v[a], 8);
    v[c] += v[d];
    v[b] = right(v[b] ^ v[c], 7);
  };
  for (int round = 0; round < 10; ++round) {
    const unsigned char *const s = sigma[round % 4];
    for (int i = 0; i < 4; ++i) mix(i, 4 + i, 8 + i, 12 + i, m[s[2 * i]], m[s[2 * i + 1]]);
    for (int i = 0; i < 4; ++i)
      mix(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[s[8 + 2 * i]], m[s[9 + 2 * i]]);
  }
  for (int i = 0; i < 8; ++i) out[threadIdx.x * 8 + i] = iv[i] ^ v[i] ^ v[i + 8];
}
// run hash_crc 1 64 1024 192
KERNEL(hash_crc) {
  extern __shared__ unsigned table[];
  for (unsigned i = threadIdx.x; i < 256; i += 64) {
    unsigned c = i;
    for (int k = 0; k < 8; ++k) c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
    table[i] = c;
  }
  __syncthreads();
  const auto *const bytes = reinterpret_cast<const unsigned char *>(in) + threadIdx.x * 50;
  unsigned crc = ~0u, a = 1, b = 0, fnv = 2166136261u;
  for (unsigned i = 0; i < 50; ++i) {
    crc = table[(crc ^ bytes[i]) & 255] ^ crc >> 8;
    a = (a + bytes[i]) % 65521;
    b = (b + a) % 65521;
    fnv = (fnv ^ bytes[i]) * 16777619u;
  }
  out[threadIdx.x] = ~crc;
  out[64 + threadIdx.x] = b << 16 | a;
  out[128 + threadIdx.x] = fnv;
}
// run hash_keccak 1 32 0 256
KERNEL(hash_keccak) {
  u64 s[25];
  for (unsigned i = 0; i < 25; ++i) s[i] = wide(in, threadIdx.x * 25 + i);
  unsigned char lfsr = 1;
  for (int round = 0; round < 24; ++round) {
    u64 c[5];
    for (int x = 0; x < 5; ++x) c[x] = s[x] ^ s[x + 5] ^ s[x + 10] ^ s[x + 15] ^ s[x + 20];
    for (int x = 0; x < 5; ++x) {
      const u64 d = c[(x + 4) % 5] ^ left(c[(x + 1) % 5], 1);
      for (int y = 0; y < 25; y += 5) s[y + x] ^= d;
    }
    int x = 1, y = 0;
    u64 current = s[1];
    for (int t = 0; t < 24; ++t) {
      const int kept = (2 * x + 3 * y) % 5;
      x = y;
      y = kept;
      const u64 next = s[x + 5 * y];
      s[x + 5 * y] = left(current, (t + 1) * (t + 2) / 2 % 64);
      if ((t + 1) * (t + 2) / 2 % 64 == 0) s[x + 5 * y] = current;
      current = next;
    }
    for (int row = 0; row < 25; row += 5) {
      u64 copy[5];
      for (int k = 0; k < 5; ++k) copy[k] = s[row + k];
      for (int k = 0; k < 5; ++k) s[row + k] = copy[k] ^ (~copy[(k + 1) % 5] & copy[(k + 2) % 5]);
    }
    for (int bit = 0; bit < 7; ++bit) {
      if (lfsr & 1) s[0] ^= 1ull << ((1 << bit) - 1);
      lfsr = static_cast<unsigned char>(lfsr << 1 ^ (lfsr >> 7) * 0x71);
    }
  }
  for (unsigned i = 0; i < 4; ++i) put(out, threadIdx.x * 4 + i, s[i]);
}
// A hash table with open addressing, filled by all threads; the sum of what is found does not depend on the
// order.
// run hash_table 4 128 0 4100
KERNEL(hash_table) {
  unsigned *const table = out + 4;
  const unsigned key = in[index_in_grid()] % 700 + 1;
  for (unsigned at = key * 2654435761u >> 20;; at = (at + 1) % 4096) {
    const unsigned seen = atomicCAS(&table[at], 0u, key);
    if (seen == 0 || seen == key) {
      if (seen == 0) {
        atomicAdd(&out[0], 1);
        atomicAdd(&out[1], key);
      }
      break;
    }
  }
  atomicAdd(&out[2], key);
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    if (atomicAdd(&out[3], 1) == gridDim.x - 1)
      for (unsigned i = 0; i < 4096; ++i) table[i] = 0;
  }
}
