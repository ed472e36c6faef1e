// SPDX-License-Identifier: Apache-2.0
// Trees, lists, queues and tables that threads share.
#include <cuda/atomic>
#include <cuda/barrier>
#include <new>

#include "corpus.cuh"

__device__ unsigned spaced(unsigned x) {
  x = (x | x << 16) & 0x030000ff;
  x = (x | x << 8) & 0x0300f00f;
  x = (x | x << 4) & 0x030c30c3;
  return (x | x << 2) & 0x09249249;
}
// A hierarchy of boxes over sorted Morton codes, refitted with counters.
// run structure_boxes 1 128 0 384
KERNEL(structure_boxes) {
  __shared__ unsigned codes[128], parents[256], visits[128], left[128], right[128];
  __shared__ float low[256], high[256];
  const unsigned t = threadIdx.x;
  codes[t] =
      (spaced(in[t] & 1023) | spaced(in[t + 128] & 1023) << 1 | spaced(in[t + 256] & 1023) << 2) & ~127u | t;
  visits[t] = 0;
  __syncthreads();
  for (unsigned k = 2; k <= 128; k *= 2)
    for (unsigned j = k / 2; j > 0; j /= 2) {
      const unsigned other = t ^ j;
      if (other > t && (codes[t] > codes[other]) == ((t & k) == 0)) {
        const unsigned kept = codes[t];
        codes[t] = codes[other], codes[other] = kept;
      }
      __syncthreads();
    }
  const auto common = [&](int i, int j) {
    return j < 0 || j > 127 ? -1 : __clz(static_cast<int>(codes[i] ^ codes[j]));
  };
  low[127 + t] = static_cast<float>(codes[t] & 0xfff);
  high[127 + t] = low[127 + t] + 1;
  if (t == 0) parents[0] = ~0u;
  if (t < 127) {
    const int i = static_cast<int>(t), d = common(i, i + 1) > common(i, i - 1) ? 1 : -1,
              least = common(i, i - d);
    int length = 2;
    while (common(i, i + length * d) > least) length *= 2;
    int reach = 0;
    for (int step = length / 2; step > 0; step /= 2)
      if (common(i, i + (reach + step) * d) > least) reach += step;
    const int j = i + reach * d, node = common(i, j);
    int split = 0;
    for (int step = (reach + 1) / 2;; step = (step + 1) / 2) {
      if (common(i, i + (split + step) * d) > node) split += step;
      if (step == 1) break;
    }
    const int gamma = i + split * d + min(d, 0);
    left[t] = min(i, j) == gamma ? 127 + gamma : gamma;
    right[t] = max(i, j) == gamma + 1 ? 127 + gamma + 1 : gamma + 1;
    parents[left[t]] = parents[right[t]] = t;
  }
  __syncthreads();
  for (unsigned node = parents[127 + t]; node != ~0u; node = parents[node]) {
    if (atomicAdd(&visits[node], 1) == 0) break;
    __threadfence_block();
    low[node] = fminf(low[left[node]], low[right[node]]);
    high[node] = fmaxf(high[left[node]], high[right[node]]);
    __threadfence_block();
  }
  __syncthreads();
  unsigned stack[32], count = 1, hits = 0, steps = 0;
  stack[0] = 0;
  const float point = static_cast<float>(in[t + 500] & 0xfff);
  while (count > 0) {
    const unsigned node = stack[--count];
    ++steps;
    if (point < low[node] - 50 || point > high[node] + 50) continue;
    if (node >= 127)
      ++hits;
    else
      stack[count++] = left[node], stack[count++] = right[node];
  }
  out[t] = hits;
  out[128 + t] = steps;
  out[256 + t] = t < 127 ? left[t] * 1000 + right[t] : 0;
}
struct Node {
  unsigned key;
  Node *next;
};
// A list that all threads push to, with nodes from the heap.
// run structure_list 2 64 0 4
KERNEL(structure_list) {
  __shared__ Node *head;
  if (threadIdx.x == 0) head = nullptr;
  __syncthreads();
  auto *const node = new Node{in[index_in_grid()], nullptr};
  auto *const word = reinterpret_cast<unsigned long long *>(&head);
  unsigned long long old = *static_cast<volatile unsigned long long *>(word), seen;
  do {
    seen = old;
    *const_cast<Node *volatile *>(&node->next) = reinterpret_cast<Node *>(seen);
    __threadfence_block();
    old = atomicCAS(word, seen, reinterpret_cast<unsigned long long>(node));
  } while (old != seen);
  __syncthreads();
  if (threadIdx.x != 0) return;
  unsigned sum = 0, count = 0;
  for (Node *at = head; at != nullptr; ++count) {
    sum += at->key ^ at->key >> 7;
    Node *const next = at->next;
    delete at;
    at = next;
  }
  out[blockIdx.x * 2] = sum;
  out[blockIdx.x * 2 + 1] = count;
}
// Blocks that produce for blocks that consume, over a ring in global memory.
// run structure_ring 4 32 0 4200
KERNEL(structure_ring) {
  using Atomic = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
  unsigned *const pair = out + 200 + blockIdx.x / 2 * 2000, *const slots = pair + 64;
  if (blockIdx.x % 2 == 0) {
    for (unsigned turn = 0; turn < 40; ++turn) {
      const unsigned slot = turn % 8;
      if (threadIdx.x == 0)
        while (Atomic(pair[slot]).load(cuda::memory_order_acquire) != turn / 8 * 2) __nanosleep(20);
      __syncwarp();
      slots[slot * 32 + threadIdx.x] = in[turn * 32 + threadIdx.x] * (blockIdx.x + 3);
      __syncwarp();
      if (threadIdx.x == 0) Atomic(pair[slot]).store(turn / 8 * 2 + 1, cuda::memory_order_release);
    }
    return;
  }
  unsigned sum = 0;
  for (unsigned turn = 0; turn < 40; ++turn) {
    const unsigned slot = turn % 8;
    if (threadIdx.x == 0)
      while (Atomic(pair[slot]).load(cuda::memory_order_acquire) != turn / 8 * 2 + 1) __nanosleep(20);
    __syncwarp();
    sum = sum * 31 + *const_cast<volatile unsigned *>(&slots[slot * 32 + threadIdx.x]);
    __syncwarp();
    if (threadIdx.x == 0) Atomic(pair[slot]).store(turn / 8 * 2 + 2, cuda::memory_order_release);
  }
  out[blockIdx.x * 32 + threadIdx.x] = sum;
}
// A tree of searches: inserted by one thread of each warp, searched by all.
// run structure_search_tree 2 64 0 256
KERNEL(structure_search_tree) {
  __shared__ struct {
    unsigned key;
    short child[2];
  } nodes[2][64];
  auto *const mine = nodes[threadIdx.x / 32];
  const unsigned lane = threadIdx.x % 32;
  if (lane == 0) {
    for (short k = 0; k < 64; ++k) {
      const unsigned key = in[index_in_grid() * 7 + k] % 1000;
      mine[k].key = key;
      mine[k].child[0] = mine[k].child[1] = -1;
      short at = 0;
      while (k != 0) {
        short &next = mine[at].child[key > mine[at].key];
        if (next < 0) {
          next = k;
          break;
        }
        at = next;
      }
    }
  }
  __syncwarp();
  unsigned depth = 0, least = ~0u;
  const unsigned wanted = in[9000 + index_in_grid()] % 1000;
  for (short at = 0; at >= 0; ++depth) {
    const unsigned key = mine[at].key, distance = key > wanted ? key - wanted : wanted - key;
    least = min(least, distance);
    if (distance == 0) break;
    at = mine[at].child[wanted > key];
  }
  out[index_in_grid()] = depth;
  out[128 + index_in_grid()] = least;
}
// Sets by union and find, with compare and swap.
// run structure_sets 1 256 0 256
KERNEL(structure_sets) {
  __shared__ unsigned parent[256];
  const unsigned t = threadIdx.x;
  parent[t] = t;
  __syncthreads();
  const auto root = [&](unsigned at) {
    volatile unsigned *const up = parent;
    while (up[at] != at) at = up[at];
    return at;
  };
  for (unsigned k = 0; k < 2; ++k) {
    if (in[t + 256 * k] % 3 == 0) continue;
    unsigned a = root(t), b = root(in[512 + t + 256 * k] % 256);
    while (a != b) {
      if (a < b) {
        const unsigned kept = a;
        a = b, b = kept;
      }
      const unsigned old = atomicCAS(&parent[a], a, b);
      if (old == a) break;
      a = root(old), b = root(b);
    }
  }
  __syncthreads();
  out[t] = root(t);
}
// Two tables with displacement: cuckoo hashing by exchanges.
// run structure_cuckoo 1 128 0 256
KERNEL(structure_cuckoo) {
  __shared__ unsigned table[512];
  for (unsigned i = threadIdx.x; i < 512; i += 128) table[i] = 0;
  __syncthreads();
  const unsigned key = (in[threadIdx.x] & 0xffffff00) | threadIdx.x | 0x80;
  unsigned held = key, which = 0, turns = 0;
  const auto place = [](unsigned k, unsigned w) {
    return w * 256 + ((k ^ (w ? 0x5bd1e995u : 0u)) * (w ? 0x85ebca6bu : 0x9e3779b9u) >> 24);
  };
  for (; held != 0 && turns < 64; ++turns, which ^= 1) held = atomicExch(&table[place(held, which)], held);
  __syncthreads();
  const bool found = table[place(key, 0)] == key || table[place(key, 1)] == key;
  out[threadIdx.x] = found || __syncthreads_or(turns >= 64);
  out[128 + threadIdx.x] = __syncthreads_count(held == 0) == 128;
}
// A heap in each thread's local memory: the eight least of a stream.
// run structure_heap 2 64 0 1024
KERNEL(structure_heap) {
  unsigned heap[8];
  for (unsigned k = 0; k < 8; ++k) heap[k] = ~0u;
  for (unsigned k = 0; k < 100; ++k) {
    const unsigned value = in[index_in_grid() * 100 + k];
    if (value >= heap[0]) continue;
    unsigned at = 0;
    for (;;) {
      unsigned child = 2 * at + 1;
      if (child >= 8) break;
      if (child + 1 < 8 && heap[child + 1] > heap[child]) ++child;
      if (heap[child] <= value) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = value;
  }
  for (unsigned k = 0; k < 8; ++k) out[index_in_grid() * 8 + k] = heap[k];
}
