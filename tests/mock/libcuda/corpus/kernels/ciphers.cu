// SPDX-License-Identifier: Apache-2.0
// Ciphers, authenticators and arithmetic on numbers of many words.
#include "corpus.cuh"

using u64 = unsigned long long;

__device__ void quarter(unsigned &a, unsigned &b, unsigned &c, unsigned &d, int r0, int r1, int r2, int r3) {
  a += b, d = __funnelshift_l(d ^ a, d ^ a, r0);
  c += d, b = __funnelshift_l(b ^ c, b ^ c, r1);
  a += b, d = __funnelshift_l(d ^ a, d ^ a, r2);
  c += d, b = __funnelshift_l(b ^ c, b ^ c, r3);
}
// ChaCha20: a block of the key stream for each thread.
// run cipher_chacha 2 64 0 2048
KERNEL(cipher_chacha) {
  const unsigned constants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  unsigned state[16], x[16];
  for (unsigned i = 0; i < 16; ++i) state[i] = i < 4 ? constants[i] : in[i];
  state[12] = index_in_grid();
  for (unsigned i = 0; i < 16; ++i) x[i] = state[i];
  for (unsigned round = 0; round < 10; ++round) {
    for (unsigned i = 0; i < 4; ++i) quarter(x[i], x[4 + i], x[8 + i], x[12 + i], 16, 12, 8, 7);
    for (unsigned i = 0; i < 4; ++i)
      quarter(x[i], x[4 + (i + 1) % 4], x[8 + (i + 2) % 4], x[12 + (i + 3) % 4], 16, 12, 8, 7);
  }
  auto *const to = reinterpret_cast<uint4 *>(out) + index_in_grid() * 4;
  for (unsigned i = 0; i < 4; ++i)
    to[i] = make_uint4(x[4 * i] + state[4 * i], x[4 * i + 1] + state[4 * i + 1],
                       x[4 * i + 2] + state[4 * i + 2], x[4 * i + 3] + state[4 * i + 3]);
}
// AES-128 with tables in shared memory, which the block computes.
// run cipher_aes 2 64 0 512
KERNEL(cipher_aes) {
  __shared__ unsigned table[256];
  __shared__ unsigned char box[256];
  __shared__ unsigned keys[44];
  for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) {
    unsigned inverse = 0;
    for (unsigned j = 1; j < 256 && inverse == 0; ++j) {
      unsigned a = i, product = 0;
      for (unsigned b = j; b != 0; b >>= 1, a = (a << 1) ^ (a & 0x80 ? 0x11b : 0)) product ^= b & 1 ? a : 0;
      if (product == 1) inverse = j;
    }
    unsigned s = inverse;
    for (unsigned k = 1; k < 5; ++k) s ^= (inverse << k | inverse >> (8 - k)) & 0xff;
    s ^= 0x63;
    box[i] = static_cast<unsigned char>(s);
    const unsigned twice = (s << 1 ^ (s & 0x80 ? 0x11b : 0)) & 0xff;
    table[i] = twice | s << 8 | s << 16 | (twice ^ s) << 24;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned constant = 1;
    for (unsigned i = 0; i < 44; ++i) {
      unsigned word = i < 4 ? in[i] : keys[i - 1];
      if (i >= 4 && i % 4 == 0) {
        word = __byte_perm(word, 0, 0x0321);
        word = box[word & 0xff] | box[word >> 8 & 0xff] << 8 | box[word >> 16 & 0xff] << 16 |
               box[word >> 24] << 24;
        word ^= constant;
        constant = constant << 1 ^ (constant & 0x80 ? 0x11b : 0);
      }
      keys[i] = i < 4 ? word : word ^ keys[i - 4];
    }
  }
  __syncthreads();
  unsigned s[4], t[4];
  for (unsigned i = 0; i < 4; ++i) s[i] = in[64 + index_in_grid() * 4 + i] ^ keys[i];
  for (unsigned round = 1; round < 10; ++round) {
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned b = table[s[(i + 1) % 4] >> 8 & 0xff], c = table[s[(i + 2) % 4] >> 16 & 0xff],
                     d = table[s[(i + 3) % 4] >> 24];
      t[i] = table[s[i] & 0xff] ^ __byte_perm(b, 0, 0x2103) ^ __byte_perm(c, 0, 0x1032) ^
             __byte_perm(d, 0, 0x0321) ^ keys[4 * round + i];
    }
    for (unsigned i = 0; i < 4; ++i) s[i] = t[i];
  }
  for (unsigned i = 0; i < 4; ++i)
    out[index_in_grid() * 4 + i] =
        (box[s[i] & 0xff] | box[s[(i + 1) % 4] >> 8 & 0xff] << 8 | box[s[(i + 2) % 4] >> 16 & 0xff] << 16 |
         box[s[(i + 3) % 4] >> 24] << 24) ^
        keys[40 + i];
}
// run cipher_poly1305 1 64 0 256
KERNEL(cipher_poly1305) {
  const unsigned *const r = in + threadIdx.x * 4;
  const unsigned limbs[5] = {r[0] & 0x3ffffff, (r[0] >> 26 | r[1] << 6) & 0x3ffff03,
                             (r[1] >> 20 | r[2] << 12) & 0x3ffc0ff, (r[2] >> 14 | r[3] << 18) & 0x3f03fff,
                             r[3] >> 8 & 0x00fffff};
  unsigned h[5] = {};
  for (unsigned block = 0; block < 12; ++block) {
    const unsigned *const m = in + 1000 + threadIdx.x * 64 + block * 4;
    h[0] += m[0] & 0x3ffffff;
    h[1] += (m[0] >> 26 | m[1] << 6) & 0x3ffffff;
    h[2] += (m[1] >> 20 | m[2] << 12) & 0x3ffffff;
    h[3] += (m[2] >> 14 | m[3] << 18) & 0x3ffffff;
    h[4] += m[3] >> 8 | 1u << 24;
    u64 d[5] = {};
    for (unsigned i = 0; i < 5; ++i)
      for (unsigned j = 0; j < 5; ++j)
        d[(i + j) % 5] += static_cast<u64>(h[i]) * (i + j >= 5 ? limbs[j] * 5 : limbs[j]);
    u64 carry = 0;
    for (unsigned i = 0; i < 5; ++i) {
      d[i] += carry;
      h[i] = static_cast<unsigned>(d[i]) & 0x3ffffff;
      carry = d[i] >> 26;
    }
    h[0] += static_cast<unsigned>(carry) * 5;
    h[1] += h[0] >> 26;
    h[0] &= 0x3ffffff;
  }
  out[threadIdx.x * 4] = h[0] | h[1] << 26;
  out[threadIdx.x * 4 + 1] = h[1] >> 6 | h[2] << 20;
  out[threadIdx.x * 4 + 2] = h[2] >> 12 | h[3] << 14;
  out[threadIdx.x * 4 + 3] = h[3] >> 18 | h[4] << 8;
}
__device__ u64 rotated(u64 x, int by) { return x >> by | x << (64 - by); }
// The compression function of SHA-512; its constants are the roots of primes, here other ones.
// run cipher_sha512 1 64 0 1024
KERNEL(cipher_sha512) {
  u64 w[16], h[8];
  for (unsigned i = 0; i < 16; ++i)
    w[i] = static_cast<u64>(in[threadIdx.x * 32 + 2 * i]) << 32 | in[threadIdx.x * 32 + 2 * i + 1];
  for (unsigned i = 0; i < 8; ++i) h[i] = 0x6a09e667f3bcc908ull * (2 * i + 1);
  u64 s[8];
  for (unsigned i = 0; i < 8; ++i) s[i] = h[i];
#pragma unroll 16
  for (unsigned i = 0; i < 80; ++i) {
    if (i >= 16) {
      const u64 a = w[(i + 1) % 16], b = w[(i + 14) % 16];
      w[i % 16] += (rotated(a, 1) ^ rotated(a, 8) ^ a >> 7) + w[(i + 9) % 16] +
                   (rotated(b, 19) ^ rotated(b, 61) ^ b >> 6);
    }
    const u64 t1 = s[7] + (rotated(s[4], 14) ^ rotated(s[4], 18) ^ rotated(s[4], 41)) +
                   ((s[4] & s[5]) ^ (~s[4] & s[6])) + 0x428a2f98d728ae22ull * (i + 1) + w[i % 16];
    const u64 t2 = (rotated(s[0], 28) ^ rotated(s[0], 34) ^ rotated(s[0], 39)) +
                   ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    for (unsigned k = 7; k > 0; --k) s[k] = s[k - 1];
    s[4] += t1;
    s[0] = t1 + t2;
  }
  for (unsigned i = 0; i < 8; ++i) put(out, threadIdx.x * 8 + i, h[i] + s[i]);
}
// scrypt's mixing: Salsa20/8 over a table in global memory.
// run cipher_scrypt 2 32 0 35840
KERNEL(cipher_scrypt) {
  unsigned *const table = out + 2048 + index_in_grid() * 512;
  unsigned x[32];
  for (unsigned i = 0; i < 32; ++i) x[i] = in[index_in_grid() * 32 + i];
  const auto mix = [&] {
    for (unsigned half = 0; half < 2; ++half) {
      unsigned b[16];
      for (unsigned i = 0; i < 16; ++i) b[i] = x[half * 16 + i] ^= x[(half ^ 1) * 16 + i];
      for (unsigned round = 0; round < 4; ++round) {
        for (unsigned i = 0; i < 4; ++i)
          quarter(b[5 * i % 16], b[(5 * i + 4) % 16], b[(5 * i + 8) % 16], b[(5 * i + 12) % 16], 7, 9, 13,
                  18);
        for (unsigned i = 0; i < 4; ++i)
          quarter(b[5 * i % 16], b[4 * i + (i + 1) % 4], b[4 * i + (i + 2) % 4], b[4 * i + (i + 3) % 4], 7, 9,
                  13, 18);
      }
      for (unsigned i = 0; i < 16; ++i) x[half * 16 + i] += b[i];
    }
  };
  for (unsigned i = 0; i < 16; ++i) {
    for (unsigned k = 0; k < 32; ++k) table[i * 32 + k] = x[k];
    mix();
  }
  for (unsigned i = 0; i < 16; ++i) {
    const unsigned j = x[16] % 16;
    for (unsigned k = 0; k < 32; ++k) x[k] ^= table[j * 32 + k];
    mix();
  }
  for (unsigned i = 0; i < 32; ++i) out[index_in_grid() * 32 + i] = x[i];
}
// Montgomery products of 256 bits with carry chains.
// run cipher_montgomery 1 64 0 512
KERNEL(cipher_montgomery) {
  const unsigned p[8] = {0xd87cfd47, 0x3c208c16, 0x6871ca8d, 0x97816a91,
                         0x8181585d, 0xb85045b6, 0xe131a029, 0x30644e72};
  unsigned inverse = 1;  // -1 / p modulo 2^32
  for (unsigned i = 0; i < 5; ++i) inverse *= 2 - p[0] * inverse;
  inverse = 0u - inverse;
  unsigned a[8], b[8];
  for (unsigned i = 0; i < 8; ++i) {
    a[i] = in[threadIdx.x * 16 + i] >> (i == 7 ? 3 : 0);
    b[i] = in[threadIdx.x * 16 + 8 + i] >> (i == 7 ? 3 : 0);
  }
  for (unsigned turn = 0; turn < 20; ++turn) {
    unsigned t[10] = {};
    for (unsigned i = 0; i < 8; ++i) {
      asm("mad.lo.cc.u32 %0, %9, %17, %0;\n\tmadc.lo.cc.u32 %1, %10, %17, %1;\n\t"
          "madc.lo.cc.u32 %2, %11, %17, %2;\n\tmadc.lo.cc.u32 %3, %12, %17, %3;\n\t"
          "madc.lo.cc.u32 %4, %13, %17, %4;\n\tmadc.lo.cc.u32 %5, %14, %17, %5;\n\t"
          "madc.lo.cc.u32 %6, %15, %17, %6;\n\tmadc.lo.cc.u32 %7, %16, %17, %7;\n\taddc.u32 %8, %8, 0;"
          : "+r"(t[0]), "+r"(t[1]), "+r"(t[2]), "+r"(t[3]), "+r"(t[4]), "+r"(t[5]), "+r"(t[6]), "+r"(t[7]),
            "+r"(t[8])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]),
            "r"(b[i]));
      asm("mad.hi.cc.u32 %0, %9, %17, %0;\n\tmadc.hi.cc.u32 %1, %10, %17, %1;\n\t"
          "madc.hi.cc.u32 %2, %11, %17, %2;\n\tmadc.hi.cc.u32 %3, %12, %17, %3;\n\t"
          "madc.hi.cc.u32 %4, %13, %17, %4;\n\tmadc.hi.cc.u32 %5, %14, %17, %5;\n\t"
          "madc.hi.cc.u32 %6, %15, %17, %6;\n\tmadc.hi.cc.u32 %7, %16, %17, %7;\n\taddc.u32 %8, %8, 0;"
          : "+r"(t[1]), "+r"(t[2]), "+r"(t[3]), "+r"(t[4]), "+r"(t[5]), "+r"(t[6]), "+r"(t[7]), "+r"(t[8]),
            "+r"(t[9])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]),
            "r"(b[i]));
      const unsigned m = t[0] * inverse;
      u64 carry = 0;
      for (unsigned k = 0; k < 8; ++k) {
        const u64 sum = static_cast<u64>(m) * p[k] + t[k] + carry;
        t[k] = static_cast<unsigned>(sum);
        carry = sum >> 32;
      }
      const u64 top = static_cast<u64>(t[8]) + carry;
      t[8] = static_cast<unsigned>(top);
      t[9] += static_cast<unsigned>(top >> 32);
      for (unsigned k = 0; k < 9; ++k) t[k] = t[k + 1];
      t[9] = 0;
    }
    unsigned d[8], borrow;
    asm("sub.cc.u32 %0, %1, %2;" : "=r"(d[0]) : "r"(t[0]), "r"(p[0]));
    asm volatile(
        "sub.cc.u32 %0, %9, %17;\n\tsubc.cc.u32 %1, %10, %18;\n\tsubc.cc.u32 %2, %11, %19;\n\t"
        "subc.cc.u32 %3, %12, %20;\n\tsubc.cc.u32 %4, %13, %21;\n\tsubc.cc.u32 %5, %14, %22;\n\t"
        "subc.cc.u32 %6, %15, %23;\n\tsubc.cc.u32 %7, %16, %24;\n\tsubc.u32 %8, 0, 0;"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]), "=r"(d[4]), "=r"(d[5]), "=r"(d[6]), "=r"(d[7]),
          "=r"(borrow)
        : "r"(t[0]), "r"(t[1]), "r"(t[2]), "r"(t[3]), "r"(t[4]), "r"(t[5]), "r"(t[6]), "r"(t[7]), "r"(p[0]),
          "r"(p[1]), "r"(p[2]), "r"(p[3]), "r"(p[4]), "r"(p[5]), "r"(p[6]), "r"(p[7]));
    for (unsigned k = 0; k < 8; ++k) a[k] = borrow ? t[k] : d[k];
  }
  for (unsigned k = 0; k < 8; ++k) out[threadIdx.x * 8 + k] = a[k];
}
// Miller-Rabin for 64 bits.
// run cipher_primes 2 64 0 128
KERNEL(cipher_primes) {
  const u64 m = static_cast<u64>(in[2 * index_in_grid()]) << 32 | in[2 * index_in_grid() + 1] | 1;
  const auto product = [&](u64 a, u64 b) {
    u64 low = a * b, high = __umul64hi(a, b) % m;
    for (unsigned k = 0; k < 64; ++k) {
      const bool carry = high >> 63;
      high = high << 1 | low >> 63;
      low <<= 1;
      if (carry || high >= m) high -= m;
    }
    return high;
  };
  unsigned verdicts = 0;
  const int twos = __ffsll(static_cast<long long>(m - 1)) - 1;
  for (unsigned base = 2; base < 6; ++base) {
    u64 x = 1, power = base % m;
    for (u64 e = (m - 1) >> twos; e != 0; e >>= 1, power = product(power, power))
      if (e & 1) x = product(x, power);
    bool passes = x == 1 || x == m - 1;
    for (int k = 1; k < twos && !passes; ++k) {
      x = product(x, x);
      passes = x == m - 1;
    }
    verdicts = verdicts << 1 | passes;
  }
  out[index_in_grid()] = verdicts | static_cast<unsigned>(__popcll(m)) << 8 |
                         static_cast<unsigned>(__clzll(static_cast<long long>(m))) << 16;
}
