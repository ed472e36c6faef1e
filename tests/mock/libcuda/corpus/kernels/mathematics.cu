// SPDX-License-Identifier: Apache-2.0
// The functions of NVIDIA's mathematical library, on common and on extreme arguments.
#include "corpus.cuh"

// Arguments of many magnitudes, and special ones.
__device__ float argument(unsigned i, unsigned word) {
  const float special[] = {0.0f,   -0.0f,   1,       -1,    0.5f,    INFINITY, -INFINITY, NAN,
                           1e-40f, -1e-40f, 3.4e38f, 88.8f, -104.0f, 2.0f,     1e10f,     0x1p-126f};
  if (i < 16) return special[i];
  if (i < 128) return between(word, -10, 10);
  if (i < 192) return spread(word, 100);
  return spread(word, 20);
}
__device__ double argument(unsigned i, unsigned high, unsigned low) {
  const double special[] = {0.0,    -0.0,    1,       -1,    0.5,    INFINITY, -INFINITY, NAN,
                            1e-310, -1e-310, 1.7e308, 709.9, -745.2, 2,        1e22,      0x1p-1022};
  if (i < 16) return special[i];
  if (i < 128) return (unit(high, low) - 0.5) * 20;
  if (i < 192) return ldexp(unit(high, low) - 0.5, static_cast<int>(high % 2000) - 1000);
  return ldexp(unit(high, low) - 0.5, static_cast<int>(high % 60) - 30);
}

#define OF_FLOATS(name, ...)                                                                  \
  KERNEL(name) {                                                                              \
    const unsigned i = threadIdx.x;                                                           \
    const float x = argument(i, in[i]), y = argument((i * 7) % 256, in[i + 256]);             \
    const float z = argument((i * 11) % 256, in[i + 512]);                                    \
    const int k = static_cast<int>(in[i + 768] % 21) - 10;                                    \
    const float results[] = {__VA_ARGS__};                                                    \
    (void)z;                                                                                  \
    (void)k;                                                                                  \
    for (unsigned j = 0; j < sizeof results / sizeof *results; ++j)                           \
      out[j * 256 + i] = results[j] != results[j] ? 0x7fffffff : __float_as_uint(results[j]); \
  }
#define OF_DOUBLES(name, ...)                                                                              \
  KERNEL(name) {                                                                                           \
    const unsigned i = threadIdx.x;                                                                        \
    const double x = argument(i, in[i], in[i + 1]), y = argument((i * 7) % 256, in[i + 256], in[i + 257]); \
    const double z = argument((i * 11) % 256, in[i + 512], in[i + 513]);                                   \
    const int k = static_cast<int>(in[i + 768] % 21) - 10;                                                 \
    const double results[] = {__VA_ARGS__};                                                                \
    (void)z;                                                                                               \
    (void)k;                                                                                               \
    for (unsigned j = 0; j < sizeof results / sizeof *results; ++j)                                        \
      put(out, j * 256 + i,                                                                                \
          results[j] != results[j] ? __longlong_as_double(0x7fffffffffffffffll) : results[j]);             \
  }
// run float_trigonometry 1 256 0 4096
OF_FLOATS(float_trigonometry, sinf(x), cosf(x), tanf(x), asinf(x), acosf(x), atanf(x), atan2f(x, y),
          sinpif(x), cospif(x), sinhf(x), coshf(x), tanhf(x), asinhf(x), acoshf(x), atanhf(x), hypotf(x, y))
// run float_exponentials 1 256 0 4096
OF_FLOATS(float_exponentials, expf(x), exp2f(x), exp10f(x), expm1f(x), logf(x), log2f(x), log10f(x),
          log1pf(x), powf(x, y), cbrtf(x), rcbrtf(x), sqrtf(x), rsqrtf(x), ldexpf(x, k), scalbnf(y, k),
          logbf(x))
// run float_special 1 256 0 4096
OF_FLOATS(float_special, erff(x), erfcf(x), erfinvf(x), erfcinvf(x), erfcxf(x), normcdff(x), normcdfinvf(x),
          tgammaf(x), lgammaf(x), j0f(x), j1f(x), y0f(x), y1f(x), jnf(3, x), cyl_bessel_i0f(x),
          cyl_bessel_i1f(x))
// run float_rounding 1 256 0 5120
OF_FLOATS(float_rounding, floorf(x), ceilf(x), truncf(x), roundf(x), rintf(x), nearbyintf(x), fmodf(x, y),
          remainderf(x, y), fmaf(x, y, z), fdimf(x, y), fmaxf(x, y), fminf(x, y), copysignf(x, y),
          nextafterf(x, y), norm3df(x, y, z), rnorm4df(x, y, z, 1), rhypotf(x, y),
          static_cast<float>(lrintf(y)), static_cast<float>(llroundf(z)), static_cast<float>(ilogbf(x)))
// run float_intrinsics 1 256 0 4608
OF_FLOATS(float_intrinsics, __sinf(x), __cosf(x), __tanf(x), __expf(x), __exp10f(x), __logf(x), __log2f(x),
          __log10f(x), __powf(x, y), __fdividef(x, y), __frcp_rn(x) + __frcp_ru(y), __fsqrt_rd(x),
          __frsqrt_rn(x), __fdiv_rz(x, y), __fmaf_ru(x, y, z), __fadd_rd(x, y), __saturatef(x),
          __fmul_rz(x, y))
// run float_conversions 1 256 0 3840
OF_FLOATS(float_conversions, __uint_as_float(static_cast<unsigned>(static_cast<int>(x))),
          __uint_as_float(static_cast<unsigned>(y)), static_cast<float>(static_cast<long long>(x)),
          static_cast<float>(static_cast<unsigned long long>(y)), static_cast<float>(__float2int_ru(x)),
          static_cast<float>(__float2uint_rd(y)), static_cast<float>(__float2ll_rn(z)),
          __int2float_rz(k * 99999999), __uint2float_ru(in[i]),
          __ll2float_rd(static_cast<long long>(in[i]) << 20), __double2float_ru(unit(in[i], in[i + 1])),
          static_cast<float>(static_cast<short>(x)), static_cast<float>(static_cast<unsigned char>(y)),
          static_cast<float>(signbit(x) + 2 * isinf(x) + 4 * isnan(x)),
          static_cast<float>(x < y) + 2 * static_cast<float>(!(x >= y)))
// run double_trigonometry 1 256 0 8192
OF_DOUBLES(double_trigonometry, sin(x), cos(x), tan(x), asin(x), acos(x), atan(x), atan2(x, y), sinpi(x),
           cospi(x), sinh(x), cosh(x), tanh(x), asinh(x), acosh(x), atanh(x), hypot(x, y))
// run double_exponentials 1 256 0 8192
OF_DOUBLES(double_exponentials, exp(x), exp2(x), exp10(x), expm1(x), log(x), log2(x), log10(x), log1p(x),
           pow(x, y), cbrt(x), rcbrt(x), sqrt(x), rsqrt(x), ldexp(x, k), scalbn(y, k), logb(x))
// run double_special 1 256 0 8192
OF_DOUBLES(double_special, erf(x), erfc(x), erfinv(x), erfcinv(x), erfcx(x), normcdf(x), normcdfinv(x),
           tgamma(x), lgamma(x), j0(x), j1(x), y0(x), y1(x), jn(2, x), yn(3, x), cyl_bessel_i0(x))
// run double_rounding 1 256 0 9728
OF_DOUBLES(double_rounding, floor(x), ceil(x), trunc(x), round(x), rint(x), fmod(x, y), remainder(x, y),
           fma(x, y, z), fdim(x, y), fmax(x, y), fmin(x, y), nextafter(x, y), norm3d(x, y, z), x / y, 1 / x,
           static_cast<double>(static_cast<long long>(x)), static_cast<double>(static_cast<unsigned>(y)),
           __ddiv_ru(x, y), __dsqrt_rd(y))
// Pairs of results, and loops of many terms.
// run float_pairs 1 256 0 2048
KERNEL(float_pairs) {
  const unsigned i = threadIdx.x;
  const float x = argument(i, in[i]);
  float s, c, whole;
  int exponent, quotient;
  sincosf(x, &s, &c);
  out[i] = x - x != 0 ? 0 : __float_as_uint(s);
  out[256 + i] = x - x != 0 ? 0 : __float_as_uint(c);
  const float fraction = modff(x, &whole), mantissa = frexpf(x, &exponent);
  out[512 + i] = x != x ? 0 : __float_as_uint(fraction) ^ __float_as_uint(whole);
  out[768 + i] = x - x != 0 ? 0 : __float_as_uint(mantissa) + static_cast<unsigned>(exponent);
  const float rest = remquof(x, 3.7f, &quotient);
  out[1024 + i] = x - x != 0 ? 0 : __float_as_uint(rest) + static_cast<unsigned>(quotient);
  __sincosf(x, &s, &c);
  out[1280 + i] = x - x != 0 ? 0 : __float_as_uint(s) ^ __float_as_uint(c);
  sincospif(x, &s, &c);
  out[1536 + i] = x - x != 0 ? 0 : __float_as_uint(s) + __float_as_uint(c);
  float sum = 0;
  for (int k = 1; k < 20; ++k) sum += sinf(static_cast<float>(k) * x) / static_cast<float>(k);
  out[1792 + i] = sum != sum ? 0 : __float_as_uint(sum);
}
