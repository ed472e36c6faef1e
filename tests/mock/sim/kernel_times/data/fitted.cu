// SPDX-License-Identifier: Apache-2.0
// Kernels to whose run times the model of kernel_time.cpp is fitted. All have the same parameters, so that a table
// of cases is data. Compiled by: nvcc -ptx -arch=compute_90 fitted.cu
typedef unsigned int u32;
typedef unsigned long long u64;

__device__ inline u32 hash(u32 x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ x >> 16;
}
#define KERNEL(name) extern "C" __global__ void name(float *a, float *b, float *c, int n, int p)

// ---- contents of the buffers
KERNEL(fill_hash) {
  for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < u32(n); i += gridDim.x * blockDim.x)
    reinterpret_cast<u32 *>(b)[i] = hash(i);
}
KERNEL(fill_chain) {
  for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < u32(n); i += gridDim.x * blockDim.x)
    reinterpret_cast<u32 *>(b)[i] = (i + u32(p)) % u32(n);
}

// ---- launches
KERNEL(empty) {}
KERNEL(spin) {  // for p microseconds
  u64 begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - begin < u64(p) * 1000);
}

// ---- streams of memory
KERNEL(vector_add) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
KERNEL(copy_loop) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) c[i] = a[i];
}
KERNEL(copy_vector) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) reinterpret_cast<float4 *>(c)[i] = reinterpret_cast<float4 *>(a)[i];
}
KERNEL(read_loop) {  // p passes
  float sum = 0;
  for (int pass = 0; pass < p; ++pass)
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += a[i];
  if (sum == 1.5f) c[0] = sum;
}
KERNEL(write_only) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = 1;
}
KERNEL(strided_read) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < u32(n)) c[i] = a[i * u32(p)];
}
KERNEL(gather) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < u32(n)) c[i] = a[reinterpret_cast<u32 *>(b)[i] & (u32(p) - 1)];
}
KERNEL(chase) {  // p dependent loads
  u32 at = threadIdx.x;
  for (int i = 0; i < p; ++i) at = reinterpret_cast<volatile u32 *>(b)[at];
  c[threadIdx.x] = at;
}
KERNEL(stencil) {  // 5 points, n by n
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
  const float *m = a + y * n + x;
  c[y * n + x] = 0.2f * (m[0] + m[1] + m[-1] + m[n] + m[-n]);
}

// ---- matrices, n by n
KERNEL(matmul) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n || y >= n) return;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[y * n + k] * b[k * n + x];
  c[y * n + x] = sum;
}
KERNEL(matmul_tiled) {  // blocks of 32 by 32
  __shared__ float left[32][32], right[32][32];
  const int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 32 + tx, y = blockIdx.y * 32 + ty;
  float sum = 0;
  for (int tile = 0; tile < n; tile += 32) {
    left[ty][tx] = a[y * n + tile + tx];
    right[ty][tx] = b[(tile + ty) * n + x];
    __syncthreads();
    for (int k = 0; k < 32; ++k) sum += left[ty][k] * right[k][tx];
    __syncthreads();
  }
  c[y * n + x] = sum;
}
KERNEL(transpose) {  // blocks of 32 by 8
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) c[x * n + y + j] = a[(y + j) * n + x];
}
template <int pitch>
__device__ inline void transpose_through(float (*tile)[pitch], const float *a, float *c, int n) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = a[(y + j) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) c[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
KERNEL(transpose_conflicts) {
  __shared__ float tile[32][32];
  transpose_through<32>(tile, a, c, n);
}
KERNEL(transpose_padded) {
  __shared__ float tile[32][33];
  transpose_through<33>(tile, a, c, n);
}

// ---- reductions and atomics
KERNEL(reduce) {  // blocks of 256
  __shared__ float part[256];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += a[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half >>= 1) {
    if (int(threadIdx.x) < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(c, part[0]);
}
KERNEL(histogram_global) {  // p bins
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(reinterpret_cast<u32 *>(c) + (reinterpret_cast<u32 *>(b)[i] & u32(p - 1)), 1u);
}
KERNEL(histogram_shared) {  // p <= 256 bins, blocks of 256
  __shared__ u32 bins[256];
  bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(bins + (reinterpret_cast<u32 *>(b)[i] & u32(p - 1)), 1u);
  __syncthreads();
  atomicAdd(reinterpret_cast<u32 *>(c) + threadIdx.x, bins[threadIdx.x]);
}
KERNEL(atomic_result) {  // one atomic a thread that uses its result; p distinct addresses
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < u32(n)) a[i] = float(atomicAdd(reinterpret_cast<u32 *>(c) + i % u32(p), 1u));
}

// ---- arithmetic
KERNEL(nbody) {  // n bodies, blocks of 256
  __shared__ float4 tile[256];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 *bodies = reinterpret_cast<const float4 *>(a);
  const float4 me = bodies[i];
  float x = 0, y = 0, z = 0;
  for (int first = 0; first < n; first += 256) {
    tile[threadIdx.x] = bodies[first + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (int j = 0; j < 256; ++j) {
      const float4 other = tile[j];
      const float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      const float r = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-6f), s = other.w * r * r * r;
      x += dx * s;
      y += dy * s;
      z += dz * s;
    }
    __syncthreads();
  }
  reinterpret_cast<float4 *>(c)[i] = make_float4(x, y, z, 0);
}
template <class T, int chains>
__device__ inline void fused(float *c, int n) {
  T sum[chains];
  for (int k = 0; k < chains; ++k) sum[k] = T(threadIdx.x + k);
  const T x = T(0.999), y = T(blockIdx.x);
#pragma unroll 1
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int r = 0; r < 16; ++r)
#pragma unroll
      for (int k = 0; k < chains; ++k) sum[k] = sum[k] * x + y;
  T all = 0;
  for (int k = 0; k < chains; ++k) all += sum[k];
  if (all == T(1.5)) c[0] = float(all);
}
KERNEL(fma_chain) { fused<float, 1>(c, n); }
KERNEL(fma_parallel) { fused<float, 4>(c, n); }
KERNEL(fma_double) { fused<double, 2>(c, n); }
KERNEL(integer_multiply) {
  u32 sum[4] = {threadIdx.x, threadIdx.x + 1, threadIdx.x + 2, threadIdx.x + 3};
  const u32 x = threadIdx.x | 1, y = blockIdx.x;
#pragma unroll 1
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int r = 0; r < 64; ++r) sum[r % 4] = sum[r % 4] * x + y;
  if ((sum[0] ^ sum[1] ^ sum[2] ^ sum[3]) == 77) c[0] = 1;
}
KERNEL(integer_logic) {
  u32 x[4] = {threadIdx.x, threadIdx.x + 1, threadIdx.x + 2, threadIdx.x + 3};
#pragma unroll 1
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int r = 0; r < 64; ++r) x[r % 4] = (x[r % 4] >> 3 ^ x[(r + 1) % 4]) + blockIdx.x;
  if ((x[0] ^ x[1] ^ x[2] ^ x[3]) == 77) c[0] = 1;
}
KERNEL(special) {  // 16 sines and exponentials an iteration
  float x[4] = {float(threadIdx.x), 1, 2, 3};
#pragma unroll 1
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int r = 0; r < 8; ++r) {
      x[r % 4] = __sinf(x[r % 4]);
      x[(r + 1) % 4] = __expf(x[(r + 1) % 4]);
    }
  if (x[0] + x[1] + x[2] + x[3] == 1.5f) c[0] = 1;
}
KERNEL(divergent) {  // p paths of a warp, each with n iterations of 16 dependent fused operations
  float x = float(threadIdx.x);
  const float y = float(blockIdx.x);
#pragma unroll 1
  for (int path = 0; path < p; ++path)
    if (int(threadIdx.x) % p == path)
#pragma unroll 1
      for (int i = 0; i < n; ++i)
#pragma unroll
        for (int r = 0; r < 16; ++r) x = x * 0.999f + y;
  if (x == 1.5f) c[0] = x;
}

// ---- shared memory and barriers
KERNEL(shared_loads) {  // 16 loads an iteration, p words apart
  __shared__ float words[1024];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) words[i] = 1;
  __syncthreads();
  const u32 first = (threadIdx.x * u32(p)) & 1023;
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int r = 0; r < 16; ++r) sum += words[(first + 32 * (r + i)) & 1023];
  if (sum == 1.5f) c[0] = sum;
}
KERNEL(shared_chase) {
  __shared__ u32 next[1024];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) next[i] = (i + 32) & 1023;
  __syncthreads();
  u32 at = threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < n; ++i) at = next[at];
  if (at == 77777) c[0] = 1;
}
KERNEL(barriers) {
#pragma unroll 1
  for (int i = 0; i < n; ++i) __syncthreads();
}

// ---- cycles of one access by a warp, for a pattern of addresses: b holds the byte offset of each lane, which
// all warps of a block use. c receives the cycles of a block. n: iterations of 16 accesses.
template <class T>
__device__ inline void shared_pattern(float *b, float *c, int n, bool store) {
  __shared__ __align__(16) char bytes[16384];
  for (int i = threadIdx.x; i < 4096; i += blockDim.x) reinterpret_cast<u32 *>(bytes)[i] = 0;
  const u32 offset = reinterpret_cast<u32 *>(b)[threadIdx.x % 32];
  volatile T *const at = reinterpret_cast<volatile T *>(bytes + offset);
  __syncthreads();
  const long long begin = clock64();
#pragma unroll 1
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int r = 0; r < 16; ++r) {
      const u32 address = u32(__cvta_generic_to_shared(const_cast<T *>(at)));
      if constexpr (sizeof(T) == 4) {
        u32 x = 0;
        if (store) asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(x) : "memory");
        else asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(address) : "memory");
      } else if constexpr (sizeof(T) == 8) {
        u64 x = 0;
        if (store) asm volatile("st.shared.u64 [%0], %1;" ::"r"(address), "l"(x) : "memory");
        else asm volatile("ld.shared.u64 %0, [%1];" : "=l"(x) : "r"(address) : "memory");
      } else {
        u64 x = 0, y = 0;
        if (store) asm volatile("st.shared.v2.u64 [%0], {%1, %2};" ::"r"(address), "l"(x), "l"(y) : "memory");
        else asm volatile("ld.shared.v2.u64 {%0, %1}, [%2];" : "=l"(x), "=l"(y) : "r"(address) : "memory");
      }
    }
  __syncthreads();
  if (threadIdx.x == 0) reinterpret_cast<long long *>(c)[blockIdx.x] = clock64() - begin;
}
struct alignas(16) Wide { u64 x, y; };
KERNEL(shared_load_4) { shared_pattern<u32>(b, c, n, false); }
KERNEL(shared_load_8) { shared_pattern<u64>(b, c, n, false); }
KERNEL(shared_load_16) { shared_pattern<Wide>(b, c, n, false); }
KERNEL(shared_store_4) { shared_pattern<u32>(b, c, n, true); }
KERNEL(shared_store_8) { shared_pattern<u64>(b, c, n, true); }
KERNEL(shared_store_16) { shared_pattern<Wide>(b, c, n, true); }
KERNEL(shared_atomic) {
  __shared__ u32 words[4096];
  for (int i = threadIdx.x; i < 4096; i += blockDim.x) words[i] = 0;
  const u32 address = u32(__cvta_generic_to_shared(words)) + reinterpret_cast<u32 *>(b)[threadIdx.x % 32];
  __syncthreads();
  const long long begin = clock64();
#pragma unroll 1
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int r = 0; r < 16; ++r) asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(address) : "memory");
  __syncthreads();
  if (threadIdx.x == 0) reinterpret_cast<long long *>(c)[blockIdx.x] = clock64() - begin;
}
#define GLOBAL_PATTERN(name, instruction)                                                        \
  KERNEL(name) {                                                                                 \
    const u32 offset = reinterpret_cast<u32 *>(b)[threadIdx.x % 32];                             \
    const char *const at = reinterpret_cast<const char *>(a) + blockIdx.x * 65536 + offset;      \
    u32 x;                                                                                       \
    asm volatile(instruction : "=r"(x) : "l"(at) : "memory");                                    \
    __syncthreads();                                                                             \
    const long long begin = clock64();                                                           \
    _Pragma("unroll 1") for (int i = 0; i < n; ++i)                                              \
        _Pragma("unroll") for (int r = 0; r < 16; ++r)                                           \
            asm volatile(instruction : "=r"(x) : "l"(at) : "memory");                            \
    __syncthreads();                                                                             \
    if (threadIdx.x == 0) reinterpret_cast<long long *>(c)[blockIdx.x] = clock64() - begin;      \
  }
GLOBAL_PATTERN(global_load_l1, "ld.global.ca.u32 %0, [%1];")
GLOBAL_PATTERN(global_load_l2, "ld.global.cg.u32 %0, [%1];")
KERNEL(clocks) {  // cycles and nanoseconds of a chain of fused operations, and of nothing
  const long long begin = clock64();
  u64 from, to;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(from));
  float x = a[0];
#pragma unroll 1
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int r = 0; r < 16; ++r) x = x * 0.999f + 1.0f;
  if (x == 1.5f) c[9] = x;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(to));
  reinterpret_cast<long long *>(c)[0] = clock64() - begin;
  reinterpret_cast<long long *>(c)[1] = static_cast<long long>(to - from);
}
