// SPDX-License-Identifier: Apache-2.0
#include "corpus.cuh"

using u64 = unsigned long long;
using i64 = long long;
using u128 = unsigned __int128;
using i128 = __int128;
__device__ u64 wide(const unsigned *in, unsigned i) {
  return static_cast<u64>(in[2 * i]) << 32 | in[2 * i + 1];
}

// run integer_divide 2 128 0 2048
KERNEL(integer_divide) {
  const unsigned i = index_in_grid();
  const u64 a = wide(in, i), b = wide(in, i + 256) >> in[i] % 64 | 1;
  put(out, i, a / b + a % b * 3);
  put(out, 256 + i,
      static_cast<u64>(static_cast<i64>(a) / static_cast<i64>(b) -
                       static_cast<i64>(a) % static_cast<i64>(b)));
  const unsigned x = in[i], y = in[i + 256] >> in[i] % 32 | 1;
  out[1024 + i] = x / y + x % y * 7;
  out[1280 + i] = static_cast<unsigned>(static_cast<int>(x) / static_cast<int>(y) +
                                        static_cast<int>(x) % static_cast<int>(y) * 5);
  out[1536 + i] = x / 7 + x % 1000003 + static_cast<unsigned>(static_cast<int>(x) / -13) +
                  static_cast<unsigned>(static_cast<int>(x) % 10);
  out[1792 + i] =
      static_cast<unsigned>(a / 1000000007ull + static_cast<u64>(static_cast<i64>(a) / 12345) +
                            static_cast<unsigned short>(x) / static_cast<unsigned short>(y | 1) +
                            static_cast<unsigned>(static_cast<short>(x) % static_cast<short>(y | 1)));
}
// run integer_128 2 64 0 2048
KERNEL(integer_128) {
  const unsigned i = index_in_grid();
  const u128 a = static_cast<u128>(wide(in, 2 * i)) << 64 | wide(in, 2 * i + 1);
  const u128 b = (static_cast<u128>(wide(in, 512 + i)) << 64 | wide(in, 700 + i)) >> in[i] % 120 | 1;
  const u128 results[] = {a + b,
                          a - b,
                          a * b,
                          a / b,
                          a % b,
                          a << in[i] % 128,
                          static_cast<u128>(static_cast<i128>(a) >> in[i] % 128),
                          static_cast<u128>(static_cast<i128>(a) / static_cast<i128>(b))};
  u64 low = 0, high = 0;
  for (const u128 one : results) {
    low = low * 31 + static_cast<u64>(one);
    high = high * 37 + static_cast<u64>(one >> 64);
  }
  put(out, 2 * i, low + (a < b));
  put(out, 2 * i + 1, high + (static_cast<i128>(a) < static_cast<i128>(b)));
  put(out, 256 + i, __umul64hi(wide(in, i), wide(in, i + 1)));
  put(out, 384 + i,
      static_cast<u64>(__mul64hi(static_cast<i64>(wide(in, i)), static_cast<i64>(wide(in, i + 1)))));
}
// run integer_bits 2 128 0 4096
KERNEL(integer_bits) {
  const unsigned i = index_in_grid(), x = in[i], y = in[i + 256];
  const u64 w = wide(in, i);
  out[i] = __brev(x) + __clz(x >> y % 32) + __ffs(x << y % 32) + __popc(x);
  out[256 + i] = static_cast<unsigned>(__brevll(w)) + __clzll(w >> y % 64) +
                 __ffsll(static_cast<i64>(w << y % 64)) + __popcll(w);
  out[512 + i] = __byte_perm(x, y, in[i + 512]);
  out[768 + i] = __funnelshift_l(x, y, in[i + 512]) ^ __funnelshift_rc(x, y, in[i + 513] % 64);
  out[1024 + i] = __funnelshift_r(x, y, in[i + 1]) ^ __funnelshift_lc(x, y, in[i + 2] % 64);
  out[1280 + i] = __sad(static_cast<int>(x), static_cast<int>(y), 5) + __usad(x, y, 6);
  out[1536 + i] = __hadd(static_cast<int>(x), static_cast<int>(y)) ^
                  __rhadd(static_cast<int>(x), static_cast<int>(y)) ^
                  static_cast<int>(__uhadd(x, y) ^ __urhadd(x, y));
  out[1792 + i] = static_cast<unsigned>(__mulhi(static_cast<int>(x), static_cast<int>(y))) ^ __umulhi(x, y);
  out[2048 + i] = static_cast<unsigned>(__mul24(static_cast<int>(x), static_cast<int>(y))) ^ __umul24(x, y);
  unsigned field, inserted;
  asm("bfe.u32 %0, %1, %2, %3;" : "=r"(field) : "r"(x), "r"(y % 40), "r"(in[i + 3] % 40));
  asm("bfi.b32 %0, %1, %2, %3, %4;"
      : "=r"(inserted)
      : "r"(x), "r"(y), "r"(in[i + 4] % 32), "r"(in[i + 5] % 32));
  out[2304 + i] = field ^ inserted;
  out[2560 + i] = static_cast<unsigned>(__fns(x, y % 32, static_cast<int>(in[i + 6] % 5) - 2));
  unsigned found;
  asm("bfind.s32 %0, %1;" : "=r"(found) : "r"(x));
  out[2816 + i] = found + __popcll(w);
  out[3072 + i] = static_cast<unsigned>(abs(static_cast<int>(x)) + llabs(static_cast<i64>(w)) % 1000);
  out[3328 + i] = static_cast<unsigned>(static_cast<int>(x) >> y % 32) +
                  static_cast<unsigned>(static_cast<signed char>(x)) + static_cast<unsigned short>(y);
  unsigned looked;
  asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(looked) : "r"(x), "r"(y), "r"(in[i + 9]));
  out[3584 + i] = looked;
  unsigned picked;
  asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(picked) : "r"(x), "r"(y), "r"(in[i + 8]));
  out[3840 + i] = picked;
}
// run integer_simd 2 128 0 2048
KERNEL(integer_simd) {
  const unsigned i = index_in_grid(), a = in[i], b = in[i + 256], c = in[i + 512];
  out[i] =
      __vadd4(a, b) ^ __vsub4(a, c) ^ __vaddss4(b, c) ^ __vaddus4(a, c) ^ __vsubss4(a, b) ^ __vsubus4(b, a);
  out[256 + i] = __vabs4(a) ^ __vabsdiffs4(a, b) ^ __vabsdiffu4(b, c) ^ __vavgs4(a, c) ^ __vavgu4(a, b) ^
                 __vhaddu4(b, c);
  out[512 + i] = __vcmpeq4(a & 0x0f0f0f0f, b & 0x0f0f0f0f) ^ __vcmpges4(a, b) ^ __vcmpltu4(b, c) ^
                 __vmaxs4(a, b) ^ __vminu4(a, c);
  out[768 + i] = __vadd2(a, b) ^ __vsub2(a, c) ^ __vaddss2(b, c) ^ __vaddus2(a, c) ^ __vabsdiffs2(a, b) ^
                 __vavgs2(b, c) ^ __vneg2(a);
  out[1024 + i] =
      __vcmpgtu2(a, b) ^ __vsetles2(b, c) ^ __vmaxu2(a, b) ^ __vmins2(b, c) ^ __vnegss4(a) ^ __vabsss2(c);
  out[1280 + i] = __vsadu4(a, b) + __vsads4(b, c) + __vsadu2(a, c) + __vsads2(a, b) + __vsetgts4(a, c) +
                  __vseteq2(a, b & a);
  out[1536 + i] =
      static_cast<unsigned>(__viaddmax_s32(static_cast<int>(a), static_cast<int>(b), static_cast<int>(c))) ^
      __viaddmin_u16x2(a, b, c) ^
      static_cast<unsigned>(__vimax3_s32(static_cast<int>(a), static_cast<int>(b), static_cast<int>(c)));
  bool high = false, low = false;
  const unsigned both = __vibmax_s16x2(a, b, &high, &low);
  out[1792 + i] = both + (high ? 3 : 0) + (low ? 5 : 0) + __viaddmax_s16x2_relu(a, b, c) +
                  __vimin_s32_relu(static_cast<int>(a), static_cast<int>(b));
}
// Numbers of 256 bits by carries.
// run integer_carries 1 64 0 1024
KERNEL(integer_carries) {
  const unsigned *const a = in + threadIdx.x * 16, *const b = a + 8;
  unsigned r[8];
  asm("add.cc.u32 %0, %8, %16;\n addc.cc.u32 %1, %9, %17;\n addc.cc.u32 %2, %10, %18;\n addc.cc.u32 %3, %11, "
      "%19;\n"
      "addc.cc.u32 %4, %12, %20;\n addc.cc.u32 %5, %13, %21;\n addc.cc.u32 %6, %14, %22;\n addc.u32 %7, %15, "
      "%23;"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]), "r"(b[0]),
        "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]));
  unsigned product[8] = {};
  for (int j = 0; j < 8; ++j) {
    unsigned carry = 0;
    for (int k = 0; k + j < 8; ++k) {
      const u64 sum = static_cast<u64>(r[j]) * b[k] + product[j + k] + carry;
      product[j + k] = static_cast<unsigned>(sum);
      carry = static_cast<unsigned>(sum >> 32);
    }
  }
  unsigned low, high;
  asm("mad.lo.cc.u32 %0, %2, %3, %4;\n madc.hi.u32 %1, %2, %3, %5;"
      : "=r"(low), "=r"(high)
      : "r"(a[0]), "r"(b[0]), "r"(a[1]), "r"(b[1]));
  for (int j = 0; j < 8; ++j) out[threadIdx.x * 16 + j] = product[j];
  out[threadIdx.x * 16 + 8] = low;
  out[threadIdx.x * 16 + 9] = high;
  asm("sub.cc.u32 %0, %2, %3;\n subc.u32 %1, %4, %5;"
      : "=r"(low), "=r"(high)
      : "r"(a[0]), "r"(b[0]), "r"(a[1]), "r"(b[1]));
  out[threadIdx.x * 16 + 10] = low;
  out[threadIdx.x * 16 + 11] = high;
}
// Montgomery products, powers, greatest common divisors, primes, roots.
__device__ u64 power(u64 base, u64 exponent, u64 modulus) {
  u64 result = 1;
  for (base %= modulus; exponent; exponent >>= 1) {
    if (exponent & 1) result = static_cast<u64>(static_cast<u128>(result) * base % modulus);
    base = static_cast<u64>(static_cast<u128>(base) * base % modulus);
  }
  return result;
}
// run integer_numbers 2 64 0 640
KERNEL(integer_numbers) {
  const unsigned i = index_in_grid();
  put(out, i, power(wide(in, i), in[i], 0xffffffff00000001ull));
  unsigned a = in[i], b = in[i + 1];
  while (b) {
    const unsigned rest = a % b;
    a = b;
    b = rest;
  }
  out[256 + i] = a;
  const unsigned m = in[i] | 1;
  unsigned inverse = m;
  for (int k = 0; k < 4; ++k) inverse *= 2 - m * inverse;
  const u64 t = static_cast<u64>(in[i + 2] % m) * (in[i + 3] % m);
  const unsigned q = static_cast<unsigned>(t) * inverse;
  const i64 reduced = static_cast<i64>(t >> 32) - static_cast<i64>(static_cast<u64>(q) * m >> 32);
  out[384 + i] = static_cast<unsigned>(reduced < 0 ? reduced + m : reduced);
  const unsigned candidate = in[i] >> 16 | 1;
  bool is_prime = candidate > 2;
  for (unsigned d = 3; d * d <= candidate && is_prime; d += 2) is_prime = candidate % d != 0;
  unsigned root = 0;
  for (unsigned bit = 1u << 15; bit; bit >>= 1)
    if ((root + bit) * (root + bit) <= in[i] / 4) root += bit;
  out[512 + i] = root * 2 + is_prime;
}
