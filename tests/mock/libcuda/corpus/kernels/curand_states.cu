// SPDX-License-Identifier: Apache-2.0
// Generators of NVIDIA's cuRAND headers. This file is never committed as PTX: it contains NVIDIA's code.
#include <curand_kernel.h>

#include "corpus.cuh"

template <class State>
__device__ void draw(const unsigned *in, unsigned *out) {
  State state;
  curand_init(in[0], index_in_grid(), threadIdx.x * 3, &state);
  const unsigned i = index_in_grid(), n = gridDim.x * blockDim.x;
  out[i] = curand(&state) + curand(&state);
  out[n + i] = __float_as_uint(curand_uniform(&state));
  out[2 * n + i] = __float_as_uint(curand_normal(&state));
  const float2 two = curand_normal2(&state);
  out[3 * n + i] = __float_as_uint(two.x) ^ __float_as_uint(two.y);
  out[4 * n + i] = static_cast<unsigned>(__double2loint(curand_uniform_double(&state)));
  out[5 * n + i] = static_cast<unsigned>(__double2hiint(curand_normal_double(&state)));
  out[6 * n + i] = __float_as_uint(curand_log_normal(&state, 0.5f, 0.25f));
  out[7 * n + i] = curand_poisson(&state, 7.5);
}
// run curand_xorwow 1 64 0 512
KERNEL(curand_xorwow) { draw<curandStateXORWOW_t>(in, out); }
// run curand_philox 1 64 0 512
KERNEL(curand_philox) { draw<curandStatePhilox4_32_10_t>(in, out); }
// run curand_mrg 1 64 0 512
KERNEL(curand_mrg) { draw<curandStateMRG32k3a_t>(in, out); }
