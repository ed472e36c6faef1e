// SPDX-License-Identifier: Apache-2.0
// Dynamic programming and searches with backtracking.
#include "corpus.cuh"

// Local alignment with affine gaps: anti-diagonals in a warp, by the DPX functions.
// run dynamic_alignment 4 32 0 8
KERNEL(dynamic_alignment) {
  const auto *const bytes = reinterpret_cast<const unsigned char *>(in);
  const unsigned lane = threadIdx.x;
  const int mine = bytes[blockIdx.x * 100 + lane] % 4;
  int h = 0, e = -100, diagonal = 0, best = 0, best_at = 0;
  for (unsigned step = 0; step < 127; ++step) {
    const int above = __shfl_up_sync(~0u, h, 1), gap_above = __shfl_up_sync(~0u, e, 1);
    const int j = static_cast<int>(step) - static_cast<int>(lane);
    const bool is_inside = j >= 0 && j < 96;
    const int other = is_inside ? bytes[1000 + blockIdx.x * 64 + j] % 4 : 9;
    const int up = lane == 0 ? 0 : above, gap = lane == 0 ? -100 : gap_above;
    if (is_inside) {
      const int match = diagonal + (mine == other ? 3 : -2);
      e = __viaddmax_s32(gap, -1, up - 4);
      const int left = __viaddmax_s32(h, -4, -100);
      diagonal = up;
      h = __vimax3_s32_relu(match, e, left);
      bool is_same;
      best = __vibmax_s32(best, h, &is_same);
      if (!is_same) best_at = j;
    } else if (j < 0) {
      diagonal = 0;
    }
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    const int value = __shfl_xor_sync(~0u, best, offset), at = __shfl_xor_sync(~0u, best_at, offset);
    if (value > best || (value == best && at < best_at)) best = value, best_at = at;
  }
  if (lane == 0) {
    out[blockIdx.x * 2] = static_cast<unsigned>(best);
    out[blockIdx.x * 2 + 1] = static_cast<unsigned>(best_at);
  }
}
// run dynamic_packed 1 64 0 256
KERNEL(dynamic_packed) {
  const unsigned t = threadIdx.x, a = in[t], b = in[64 + t], c = in[128 + t];
  bool high = false, low = false;
  out[t] = __viaddmax_s16x2(a, b, c) ^ __viaddmin_u16x2(a, b, c);
  out[64 + t] = __vimax3_u16x2(a, b, c) ^ __vimin3_s16x2_relu(a, b, c);
  out[128 + t] = __vibmin_s16x2(a, b, &high, &low);
  out[192 + t] = high + 2 * low + __viaddmax_u32(a, b, c) +
                 static_cast<unsigned>(
                     __viaddmin_s32_relu(static_cast<int>(a), static_cast<int>(b), static_cast<int>(c)));
}
// run dynamic_knapsack 2 256 0 1024
KERNEL(dynamic_knapsack) {
  __shared__ unsigned best[2][512];
  best[0][threadIdx.x] = best[0][256 + threadIdx.x] = 0;
  for (unsigned item = 0; item < 40; ++item) {
    __syncthreads();
    const unsigned weight = 1 + in[blockIdx.x * 100 + item] % 60,
                   value = in[500 + blockIdx.x * 100 + item] % 1000;
    for (unsigned c = threadIdx.x; c < 512; c += 256)
      best[(item + 1) % 2][c] =
          c < weight ? best[item % 2][c] : max(best[item % 2][c], best[item % 2][c - weight] + value);
  }
  __syncthreads();
  for (unsigned c = threadIdx.x; c < 512; c += 256) out[blockIdx.x * 512 + c] = best[0][c];
}
// Viterbi's algorithm on logarithms, with the path back.
// run dynamic_viterbi 2 16 0 128
KERNEL(dynamic_viterbi) {
  __shared__ float score[2][16];
  __shared__ unsigned char from[64][16];
  const unsigned state = threadIdx.x;
  score[0][state] = logf(unit(in[state]) + 0.01f);
  for (unsigned step = 1; step < 64; ++step) {
    __syncthreads();
    float most = -INFINITY;
    unsigned where = 0;
    for (unsigned k = 0; k < 16; ++k) {
      const float value = score[(step + 1) % 2][k] + logf(unit(in[256 + k * 16 + state]) + 0.01f);
      if (value > most) most = value, where = k;
    }
    score[step % 2][state] = most + between(in[600 + blockIdx.x * 1024 + step * 16 + state], -2, 0);
    from[step][state] = static_cast<unsigned char>(where);
  }
  __syncthreads();
  if (state != 0) return;
  unsigned at = 0;
  for (unsigned k = 1; k < 16; ++k)
    if (score[1][k] > score[1][at]) at = k;
  for (unsigned step = 63;; --step) {
    out[blockIdx.x * 64 + step] = at;
    if (step == 0) break;
    at = from[step][at];
  }
}
// Shortest paths between all pairs, in blocks of shared memory.
// run dynamic_all_paths 1 256 0 1024
KERNEL(dynamic_all_paths) {
  __shared__ unsigned distance[32][33];
  for (unsigned i = threadIdx.x; i < 1024; i += 256)
    distance[i / 32][i % 32] = i / 32 == i % 32 ? 0 : in[i] % 4 == 0 ? 1 + in[i + 1024] % 100 : 1000000;
  for (unsigned k = 0; k < 32; ++k) {
    __syncthreads();
    unsigned made[4];
    for (unsigned p = 0; p < 4; ++p) {
      const unsigned i = threadIdx.x + p * 256;
      made[p] = min(distance[i / 32][i % 32], distance[i / 32][k] + distance[k][i % 32]);
    }
    __syncthreads();
    for (unsigned p = 0; p < 4; ++p) distance[(threadIdx.x + p * 256) / 32][threadIdx.x % 32] = made[p];
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 1024; i += 256) out[i] = distance[i / 32][i % 32];
}
// A sudoku of 4 x 4 blocks by backtracking without recursion.
// run search_sudoku 2 32 0 320
KERNEL(search_sudoku) {
  const unsigned t = index_in_grid();
  unsigned char cells[16];
  unsigned rows[4] = {}, columns[4] = {}, boxes[4] = {}, given = 0, tried = 0;
  for (unsigned k = 0; k < 16; ++k) cells[k] = 0;
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned at = in[t * 8 + k] % 16, bit = 1u << in[t * 8 + 4 + k] % 4;
    const unsigned r = at / 4, c = at % 4, b = r / 2 * 2 + c / 2;
    if ((rows[r] | columns[c] | boxes[b]) & bit || given >> at & 1) continue;
    given |= 1u << at;
    rows[r] |= bit, columns[c] |= bit, boxes[b] |= bit;
    cells[at] = static_cast<unsigned char>(bit);
  }
  int at = 0, direction = 1;
  while (at >= 0 && at < 16 && tried < 5000) {
    if (given >> at & 1) {
      at += direction;
      continue;
    }
    const int r = at / 4, c = at % 4, b = r / 2 * 2 + c / 2;
    const unsigned old = cells[at];
    rows[r] &= ~old, columns[c] &= ~old, boxes[b] &= ~old;
    const unsigned free = ~(rows[r] | columns[c] | boxes[b]) & 15 & (old ? ~(2 * old - 1) : ~0u);
    const unsigned bit = free & (0u - free);
    cells[at] = static_cast<unsigned char>(bit);
    rows[r] |= bit, columns[c] |= bit, boxes[b] |= bit;
    direction = bit ? 1 : -1;
    at += direction;
    ++tried;
  }
  out[t] = tried * 32 + static_cast<unsigned>(at + 1);
  for (unsigned k = 0; k < 4; ++k)
    out[64 + t * 4 + k] =
        cells[4 * k] | cells[4 * k + 1] << 8 | cells[4 * k + 2] << 16 | cells[4 * k + 3] << 24;
}
// A regular expression with '*' and '.', matched by recursion.
__device__ bool matches(const char *pattern, const unsigned char *text, unsigned count) {
  if (*pattern == 0) return count == 0;
  const bool first = count != 0 && (*pattern == '.' || *pattern == 'a' + *text % 3);
  if (pattern[1] == '*')
    return matches(pattern + 2, text, count) || (first && matches(pattern, text + 1, count - 1));
  return first && matches(pattern + 1, text + 1, count - 1);
}
// run search_expression 2 64 0 128
KERNEL(search_expression) {
  const auto *const text = reinterpret_cast<const unsigned char *>(in) + index_in_grid() * 16;
  const char *const patterns[] = {"a*b*c*", ".*abc.*", "a.*c", "b*.*b.*c*", "c*a*b.*c*a*"};
  unsigned found = 0;
  for (unsigned k = 0; k < 5; ++k) found |= matches(patterns[k], text, 4 + in[index_in_grid()] % 9) << k;
  out[index_in_grid()] = found;
}
// Alpha-beta search in a game of takeaway heaps.
__device__ int searched(unsigned heaps, int depth, int alpha, int beta, unsigned &visited) {
  ++visited;
  if (depth == 0 || heaps == 0)
    return heaps == 0 ? -100 + depth : static_cast<int>(__popc(heaps * 0x9e3779b9)) - 16;
  for (unsigned heap = 0; heap < 4; ++heap)
    for (unsigned take = 1; take <= (heaps >> 4 * heap & 15) && take <= 3; ++take) {
      const int value = -searched(heaps - (take << 4 * heap), depth - 1, -beta, -alpha, visited);
      if (value >= beta) return value;
      alpha = max(alpha, value);
    }
  return alpha;
}
// run search_game 1 64 0 128
KERNEL(search_game) {
  unsigned visited = 0;
  out[threadIdx.x] = static_cast<unsigned>(searched(in[threadIdx.x] & 0x3737, 4, -1000, 1000, visited));
  out[64 + threadIdx.x] = visited;
}
