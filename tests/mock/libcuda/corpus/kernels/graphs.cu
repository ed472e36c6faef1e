// SPDX-License-Identifier: Apache-2.0
// Graphs with 256 vertices and 4 edges of each, drawn from the input.
#include <cooperative_groups.h>

#include "corpus.cuh"

namespace cg = cooperative_groups;
__device__ unsigned neighbour(const unsigned *in, unsigned vertex, unsigned edge) {
  return in[vertex * 4 + edge] >> 5 & 255;
}

// run graph_breadth 1 256 0 256
KERNEL(graph_breadth) {
  __shared__ unsigned distance[256], frontier[2][256], counts[2];
  distance[threadIdx.x] = threadIdx.x ? ~0u : 0;
  if (threadIdx.x == 0) {
    frontier[0][0] = 0;
    counts[0] = 1;
    counts[1] = 0;
  }
  __syncthreads();
  for (unsigned level = 1, now = 0; counts[now]; ++level, now ^= 1) {
    if (threadIdx.x < counts[now])
      for (unsigned e = 0; e < 4; ++e) {
        const unsigned next = neighbour(in, frontier[now][threadIdx.x], e);
        if (atomicCAS(&distance[next], ~0u, level) == ~0u)
          frontier[now ^ 1][atomicAdd(&counts[now ^ 1], 1)] = next;
      }
    __syncthreads();
    if (threadIdx.x == 0) counts[now] = 0;
    __syncthreads();
  }
  out[threadIdx.x] = distance[threadIdx.x];
}
// run graph_paths 1 256 0 256
KERNEL(graph_paths) {
  __shared__ unsigned distance[256];
  distance[threadIdx.x] = threadIdx.x == 7 ? 0 : 1u << 30;
  bool changes = true;
  while (__syncthreads_or(changes)) {
    changes = false;
    const unsigned mine = distance[threadIdx.x];
    for (unsigned e = 0; e < 4; ++e) {
      const unsigned through = mine + in[threadIdx.x * 4 + e] % 100 + 1;
      if (atomicMin(&distance[neighbour(in, threadIdx.x, e)], through) > through) changes = true;
    }
  }
  out[threadIdx.x] = distance[threadIdx.x];
}
// run graph_components 4 64 0 256 cooperative
KERNEL(graph_components) {
  cg::grid_group grid = cg::this_grid();
  const unsigned i = index_in_grid();
  volatile unsigned *const parent = out;
  parent[i] = i;
  grid.sync();
  const unsigned other = in[i] % 3 ? i : neighbour(in, i, 0);
  unsigned a = i, b = other;
  while (true) {
    while (parent[a] != a) a = parent[a];
    while (parent[b] != b) b = parent[b];
    if (a == b) break;
    const unsigned high = max(a, b), low = min(a, b);
    if (atomicCAS(&out[high], high, low) == high) break;
  }
  grid.sync();
  unsigned root = i;
  while (parent[root] != root) root = parent[root];
  grid.sync();
  out[i] = root;
}
// run graph_ranks 1 256 0 256
KERNEL(graph_ranks) {
  __shared__ float ranks[256];
  float rank = 1.0f / 256;
  for (int round = 0; round < 10; ++round) {
    ranks[threadIdx.x] = rank;
    __syncthreads();
    float sum = 0;
    for (unsigned e = 0; e < 4; ++e) sum += ranks[neighbour(in, threadIdx.x, e)] * 0.25f;
    __syncthreads();
    rank = 0.15f / 256 + 0.85f * sum;
  }
  out[threadIdx.x] = __float_as_uint(rank);
}
// run graph_triangles 8 256 0 1
KERNEL(graph_triangles) {
  // Rows of an adjacency matrix as bits.
  const unsigned a = index_in_grid() / 8 % 64, word = index_in_grid() % 8;
  unsigned count = 0;
  for (unsigned b = 0; b < 64; ++b)
    if (in[a * 2 + b / 32] >> b % 32 & 1) count += __popc(in[a * 8 + word] & in[b * 8 + word]);
  for (int step = 16; step; step /= 2) count += __shfl_xor_sync(~0u, count, step);
  if (threadIdx.x % 32 == 0) atomicAdd(&out[0], count);
}
// Depth first search with a stack of each thread; the eight queens.
__device__ unsigned place_queens(unsigned all, unsigned columns, unsigned left, unsigned right) {
  if (columns == all) return 1;
  unsigned count = 0;
  for (unsigned free = all & ~(columns | left | right); free; free &= free - 1) {
    const unsigned one = free & (0u - free);
    count += place_queens(all, columns | one, (left | one) << 1, (right | one) >> 1);
  }
  return count;
}
// run graph_queens 1 64 0 64
KERNEL(graph_queens) {
  const unsigned size = 7, first = 1u << threadIdx.x % size, second = 1u << threadIdx.x / size % size;
  const unsigned all = (1u << size) - 1, left = first << 1, right = first >> 1;
  out[threadIdx.x] = threadIdx.x < size * size && !(second & (first | left | right))
                         ? place_queens(all, first | second, (left | second) << 1, (right | second) >> 1)
                         : in[0] % 1;
}
