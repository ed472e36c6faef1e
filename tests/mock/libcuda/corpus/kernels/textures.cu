// SPDX-License-Identifier: Apache-2.0
// Textures, surfaces and tensor maps, which the program that launches the kernels makes:
//   texture: 32 by 32 by 4 floats of the input; linear filter and normalized coordinates, mirrored in x
//   surface: 32 by 32 words, copied to the output behind the first 1024 words
#include <cuda.h>
#include <cuda/barrier>

#include "corpus.cuh"

#define TEXTURE_KERNEL(name)                                                     \
  extern "C" __global__ void name(const unsigned *in, unsigned *out, unsigned n, \
                                  cudaTextureObject_t texture, cudaSurfaceObject_t surface)

// run texture_fetch 4 256 0 4096 images
TEXTURE_KERNEL(texture_fetch) {
  const float x = between(in[index_in_grid()], -0.5f, 1.5f),
              y = between(in[index_in_grid() + 9], -0.5f, 1.5f);
  reinterpret_cast<float4 *>(out)[index_in_grid()] = tex2D<float4>(texture, x, y);
}
// run texture_gather 1 256 0 1024 images
TEXTURE_KERNEL(texture_gather) {
  const float x = unit(in[index_in_grid()]), y = unit(in[index_in_grid() + 9]);
  const float4 four = tex2Dgather<float4>(texture, x, y, 1), level = tex2DLod<float4>(texture, x, y, 0.5f);
  const float4 gradients = tex2DGrad<float4>(texture, x, y, make_float2(0.01f, 0), make_float2(0, 0.01f));
  reinterpret_cast<float4 *>(out)[index_in_grid()] =
      make_float4(four.x + four.w, four.y + four.z, level.x, gradients.w);
}
// run surface_writes 4 256 0 2048 images
TEXTURE_KERNEL(surface_writes) {
  const unsigned i = index_in_grid(), x = i % 32, y = i / 32;
  surf2Dwrite(in[i], surface, static_cast<int>(x * 4), static_cast<int>(y));
  out[i] = surf2Dread<unsigned>(surface, static_cast<int>(x * 4), static_cast<int>(y)) * 3 +
           surf2Dread<unsigned>(surface, -4, 2, cudaBoundaryModeZero);
  if (y == 5)
    surf2Dwrite(make_uchar4(1, 2, 3, static_cast<unsigned char>(i)), surface, static_cast<int>(x * 4), 5);
}
#if __CUDA_ARCH__ >= 900
namespace cde = cuda::device::experimental;
// Tensor maps of 64 by 64 words, in boxes of 32 by 16, of the input and of the output.
// run tensor_tiles 8 128 0 4096 from=90 tensors
extern "C" __global__ void tensor_tiles(const unsigned *in, unsigned *out, unsigned n,
                                        const __grid_constant__ CUtensorMap from,
                                        const __grid_constant__ CUtensorMap to) {
  __shared__ alignas(128) unsigned tile[16][32];
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  if (threadIdx.x == 0) {
    init(&barrier, blockDim.x);
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  const int x = static_cast<int>(blockIdx.x % 2) * 32, y = static_cast<int>(blockIdx.x / 2) * 16;
  cuda::barrier<cuda::thread_scope_block>::arrival_token token;
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_global_to_shared(&tile, &from, x + 8, y - 4, barrier);
    token = cuda::device::barrier_arrive_tx(barrier, 1, sizeof tile);
  } else {
    token = barrier.arrive();
  }
  barrier.wait(cuda::std::move(token));
  for (unsigned i = threadIdx.x; i < 512; i += 128) tile[i / 32][i % 32] += n + i;
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_shared_to_global(&to, x, y, &tile);
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
  }
}
#endif
