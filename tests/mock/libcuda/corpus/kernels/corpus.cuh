// SPDX-License-Identifier: Apache-2.0
// Common to all kernels of the corpus. Each reads random words and writes words:
//   extern "C" __global__ void NAME(const unsigned *in, unsigned *out, unsigned n)
// A line "// run NAME BLOCKS THREADS SHARED_BYTES WORDS_OUT [OPTIONS]" before a kernel tells how it is
// launched.
#pragma once

#define KERNEL(name) extern "C" __global__ void name(const unsigned *in, unsigned *out, unsigned n)

__device__ inline unsigned index_in_grid() { return blockIdx.x * blockDim.x + threadIdx.x; }
// In [0, 1).
__device__ inline float unit(unsigned word) { return static_cast<float>(word >> 8) * 0x1p-24f; }
__device__ inline double unit(unsigned high, unsigned low) {
  return static_cast<double>((static_cast<unsigned long long>(high) << 32 | low) >> 11) * 0x1p-53;
}
__device__ inline float between(unsigned word, float low, float high) {
  return low + (high - low) * unit(word);
}
// A float of any sign with an exponent of at most `range`.
__device__ inline float spread(unsigned word, int range) {
  const int exponent = static_cast<int>(word >> 3 & 0xff) % (2 * range + 1) - range;
  const float value = ldexpf(1 + static_cast<float>(word >> 11) * 0x1p-21f, exponent);
  return word & 1 ? -value : value;
}
__device__ inline void put(unsigned *out, unsigned at, double value) {
  out[2 * at] = static_cast<unsigned>(__double2loint(value));
  out[2 * at + 1] = static_cast<unsigned>(__double2hiint(value));
}
__device__ inline void put(unsigned *out, unsigned at, unsigned long long value) {
  out[2 * at] = static_cast<unsigned>(value);
  out[2 * at + 1] = static_cast<unsigned>(value >> 32);
}
