// SPDX-License-Identifier: Apache-2.0
// Numbers of 16 and 8 bits.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "corpus.cuh"

__device__ unsigned bits(__half2 pair) { return *reinterpret_cast<unsigned *>(&pair); }
__device__ unsigned bits(__nv_bfloat162 pair) { return *reinterpret_cast<unsigned *>(&pair); }
__device__ unsigned bits(__half one) { return __half_as_ushort(one); }
__device__ unsigned bits(__nv_bfloat16 one) { return __bfloat16_as_ushort(one); }
template <class Pair>
__device__ unsigned canonical(Pair pair) {
  const unsigned word = bits(pair);
  return (__low2float(pair) != __low2float(pair) ? 0x7fff : word & 0xffff) |
         (__high2float(pair) != __high2float(pair) ? 0x7fff0000 : word & 0xffff0000);
}

// run half_arithmetic 1 256 0 4352
KERNEL(half_arithmetic) {
  const unsigned i = threadIdx.x;
  const __half2 a = __floats2half2_rn(spread(in[i], 12), spread(in[i + 1], 12)),
                b = __floats2half2_rn(spread(in[i + 256], 8), between(in[i + 2], -2, 2));
  const __half2 c = __floats2half2_rn(between(in[i + 3], -9, 9), spread(in[i + 4], 4));
  const __half2 results[] = {__hadd2(a, b),         __hsub2(a, c),        __hmul2(a, b),
                             __h2div(a, b),         __hfma2(a, b, c),     __hfma2_sat(a, b, c),
                             __hadd2_sat(a, b),     __habs2(a),           __hneg2(b),
                             __hmax2(a, b),         __hmin2(b, c),        __hmax2_nan(a, c),
                             __hfma2_relu(a, b, c), __lowhigh2highlow(a), __hcmadd(a, b, c),
                             __hgt2(a, b),          __hequ2(a, a)};
  for (unsigned j = 0; j < sizeof results / sizeof *results; ++j) out[j * 256 + i] = canonical(results[j]);
}
// run half_functions 1 256 0 4352
KERNEL(half_functions) {
  const unsigned i = threadIdx.x;
  const __half2 a = __floats2half2_rn(spread(in[i], 10), between(in[i + 1], 0, 30));
  const __half2 results[] = {h2sin(a),  h2cos(a),   h2exp(a),  h2exp2(a),  h2exp10(a),        h2log(a),
                             h2log2(a), h2log10(a), h2sqrt(a), h2rsqrt(a), h2rcp(a),          h2floor(a),
                             h2ceil(a), h2trunc(a), h2rint(a), h2tanh(a),  h2sqrt(__habs2(a))};
  for (unsigned j = 0; j < sizeof results / sizeof *results; ++j) out[j * 256 + i] = canonical(results[j]);
}
// run half_scalars 1 256 0 2048
KERNEL(half_scalars) {
  const unsigned i = threadIdx.x;
  const __half a = __float2half(spread(in[i], 14)), b = __float2half_rz(between(in[i + 1], -100, 100));
  out[i] = bits(__hadd(a, b)) ^ bits(__hfma(a, b, a)) ^ bits(__hdiv(a, b));
  out[256 + i] = static_cast<unsigned>(__half2int_rz(b)) + __half2uint_ru(__habs(b)) +
                 static_cast<unsigned>(__half2ll_rn(b)) + static_cast<unsigned>(__half2short_rd(b));
  out[512 + i] = bits(__int2half_rn(static_cast<int>(in[i] % 70000))) ^ bits(__uint2half_rd(in[i] % 60000)) ^
                 bits(__ushort2half_rz(static_cast<unsigned short>(in[i + 9])));
  out[768 + i] = __hlt(a, b) + 2 * __hge(a, b) + 4 * __hisinf(a) + 8 * __hisnan(a) + 16 * __hneu(a, b);
  out[1024 + i] = bits(hsin(a)) + bits(hexp(b)) * 3 + bits(hrsqrt(__habs(a)));
  out[1280 + i] = bits(__float2half_ru(spread(in[i + 7], 18))) ^ bits(__double2half(unit(in[i], in[i + 5]))) ^
                  bits(__float2half_rd(spread(in[i + 8], 26)));
  out[1536 + i] = bits(__shfl_xor_sync(~0u, a, 3)) + bits(__shfl_down_sync(~0u, __halves2half2(a, b), 5));
  out[1792 + i] =
      __half2uchar_rz(b) + 256 * static_cast<unsigned>(static_cast<unsigned char>(__half2char_rz(b)));
}
#if __CUDA_ARCH__ >= 800
// run bf16_arithmetic 1 256 0 4864 from=80
KERNEL(bf16_arithmetic) {
  const unsigned i = threadIdx.x;
  const __nv_bfloat162 a = __floats2bfloat162_rn(spread(in[i], 60), spread(in[i + 1], 12)),
                       b = __floats2bfloat162_rn(spread(in[i + 256], 60), between(in[i + 2], -2, 2));
  const __nv_bfloat162 c = __floats2bfloat162_rn(between(in[i + 3], -9, 9), spread(in[i + 4], 4));
  const __nv_bfloat162 results[] = {__hadd2(a, b),
                                    __hsub2(a, c),
                                    __hmul2(a, b),
                                    __h2div(a, b),
                                    __hfma2(a, b, c),
                                    __hfma2_sat(a, b, c),
                                    __hadd2_sat(a, b),
                                    __habs2(a),
                                    __hneg2(b),
                                    __hmax2(a, b),
                                    __hmin2(b, c),
                                    __hmax2_nan(a, c),
                                    __hfma2_relu(a, b, c),
                                    h2exp(c),
                                    h2log(__habs2(a)),
                                    h2sin(c),
                                    h2rsqrt(__habs2(b)),
                                    h2rcp(a),
                                    h2rint(c)};
  for (unsigned j = 0; j < sizeof results / sizeof *results; ++j) out[j * 256 + i] = canonical(results[j]);
}
// run bf16_conversions 1 256 0 1024 from=80
KERNEL(bf16_conversions) {
  const unsigned i = threadIdx.x;
  const float f = spread(in[i], 120);
  const __nv_bfloat16 a = __float2bfloat16(f), b = __float2bfloat16_rz(f), c = __float2bfloat16_ru(f),
                      d = __double2bfloat16(unit(in[i], in[i + 1]) * f);
  out[i] = bits(a) | bits(b) << 16;
  out[256 + i] = bits(c) | bits(d) << 16;
  out[512 + i] = static_cast<unsigned>(__bfloat162int_rn(__float2bfloat16(between(in[i], -1e6f, 1e6f)))) +
                 __bfloat162ushort_rz(__float2bfloat16(between(in[i], 0, 60000)));
  out[768 + i] = bits(__int2bfloat16_rn(static_cast<int>(in[i]))) ^
                 bits(__ull2bfloat16_rz(static_cast<unsigned long long>(in[i]) << 13)) ^ __hlt(a, d);
}
#endif
// run fp8_conversions 1 256 0 2560
KERNEL(fp8_conversions) {
  const unsigned i = threadIdx.x;
  const float f = spread(in[i], 12), g = between(in[i + 1], -500, 500);
  out[i] = __nv_cvt_float_to_fp8(f, __NV_SATFINITE, __NV_E4M3) |
           __nv_cvt_float_to_fp8(g, __NV_SATFINITE, __NV_E5M2) << 8;
  out[256 + i] =
      __nv_cvt_float_to_fp8(g, __NV_NOSAT, __NV_E4M3) | __nv_cvt_float_to_fp8(f, __NV_NOSAT, __NV_E5M2) << 8;
  out[512 + i] = __nv_cvt_float2_to_fp8x2(make_float2(f, g), __NV_SATFINITE, __NV_E4M3);
  out[768 + i] = __nv_cvt_double_to_fp8(unit(in[i], in[i + 9]) * 3, __NV_SATFINITE, __NV_E5M2);
  const __half_raw h = __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(i), __NV_E4M3);
  const __half2_raw h2 = __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(in[i]), __NV_E5M2);
  out[1024 + i] = (h.x & 0x7fff) > 0x7c00 ? 0x7fff : h.x;
  out[1280 + i] = canonical(__half2(h2));
  out[1536 + i] = __nv_cvt_halfraw_to_fp8(__half_raw(__float2half(f)), __NV_SATFINITE, __NV_E4M3);
  const __nv_fp8x4_e4m3 four(make_float4(f, g, f * g, 1 / f));
  out[1792 + i] = four.__x;
  const float4 back = static_cast<float4>(four);
  out[2048 + i] = __float_as_uint(back.x + back.y) ^ __float_as_uint(back.z);
  const __nv_fp8_e5m2 one(f);
  out[2304 + i] = __float_as_uint(static_cast<float>(one)) + static_cast<unsigned>(static_cast<int>(one));
}
