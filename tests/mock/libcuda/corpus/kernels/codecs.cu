// SPDX-License-Identifier: Apache-2.0
// Compression, parsing, formats of numbers, and interpreters.
#include "corpus.cuh"

using u64 = unsigned long long;

// Integers of seven bits a byte: each thread writes its own, at an offset from a scan.
// run codec_varints 1 128 0 256
KERNEL(codec_varints) {
  __shared__ unsigned offsets[128];
  const unsigned t = threadIdx.x;
  unsigned value = in[t] >> in[t + 128] % 32;
  unsigned length = 1;
  for (unsigned rest = value >> 7; rest; rest >>= 7) ++length;
  unsigned sum = length;
  for (unsigned offset = 1; offset < 32; offset *= 2) {
    const unsigned other = __shfl_up_sync(~0u, sum, offset);
    if (t % 32 >= offset) sum += other;
  }
  offsets[t] = sum;
  __syncthreads();
  for (unsigned warp = 0; warp < t / 32; ++warp) sum += offsets[warp * 32 + 31];
  auto *to = reinterpret_cast<unsigned char *>(out + 1) + sum - length;
  for (; value >= 128; value >>= 7) *to++ = static_cast<unsigned char>(value | 128);
  *to = static_cast<unsigned char>(value);
  if (t == 127) out[0] = sum;
}
// LZ77 in a block of bytes with few symbols: compressed and decompressed.
// run codec_lz 1 16 0 1056
KERNEL(codec_lz) {
  unsigned char packed[400], unpacked[256];
  const auto *const bytes = reinterpret_cast<const unsigned char *>(in) + threadIdx.x * 256;
  const auto symbol = [&](unsigned i) {
    return static_cast<unsigned char>('a' + (bytes[i] & bytes[i / 2] & 1));
  };
  unsigned count = 0;
  for (unsigned at = 0; at < 256;) {
    unsigned best = 0, distance = 0;
    for (unsigned back = 1; back <= at && back < 64; ++back) {
      unsigned length = 0;
      while (at + length < 256 && length < 63 && symbol(at + length) == symbol(at + length - back)) ++length;
      if (length > best) best = length, distance = back;
    }
    if (best >= 3) {
      packed[count++] = static_cast<unsigned char>(128 | best);
      packed[count++] = static_cast<unsigned char>(distance);
      at += best;
    } else {
      packed[count++] = symbol(at++);
    }
  }
  unsigned made = 0, hash = 0;
  for (unsigned at = 0; at < count;) {
    if (packed[at] & 128) {
      for (unsigned k = packed[at] & 127, from = made - packed[at + 1]; k > 0; --k)
        unpacked[made++] = unpacked[from++];
      at += 2;
    } else {
      unpacked[made++] = packed[at++];
    }
  }
  bool is_same = made == 256;
  for (unsigned i = 0; i < 256; ++i) is_same &= unpacked[i] == symbol(i);
  for (unsigned i = 0; i < count; ++i) hash = hash * 31 + packed[i];
  out[threadIdx.x] = count + 1000 * is_same;
  out[16 + threadIdx.x] = hash;
  for (unsigned i = 0; i < 64; ++i)
    out[32 + threadIdx.x * 64 + i] =
        reinterpret_cast<const uchar4 *>(unpacked)[i].x << 8 | unpacked[4 * i + 3];
}
// Codes of Huffman with a given table, decoded bit by bit.
// run codec_huffman 2 32 0 1088
KERNEL(codec_huffman) {
  __shared__ short children[64][2];
  if (threadIdx.x == 0) {
    int count = 1;
    children[0][0] = children[0][1] = 0;
    for (int leaf = 0; leaf < 31; ++leaf) {
      int node = 0;
      unsigned bits = in[leaf];
      while (children[node][bits & 1] > 0) node = children[node][bits & 1], bits = bits >> 1 | bits << 31;
      if (leaf % 2 == 0 && count < 30) {
        children[count][0] = children[count][1] = 0;
        children[node][bits & 1] = static_cast<short>(count++);
      } else {
        children[node][bits & 1] = static_cast<short>(-1 - leaf);
      }
    }
  }
  __syncthreads();
  const unsigned t = index_in_grid();
  u64 window = 0;
  unsigned available = 0, next = t * 8, node = 0, made = 0;
  for (unsigned step = 0; step < 200 && made < 16; ++step) {
    if (available == 0) {
      window = static_cast<u64>(in[next]) << 32 | in[next + 1];
      next += 2, available = 64;
    }
    const int child = children[node][window & 1];
    window >>= 1, --available;
    if (child > 0) {
      node = static_cast<unsigned>(child);
    } else {
      out[64 + t * 16 + made++] = static_cast<unsigned>(-child);
      node = 0;
    }
  }
  out[t] = made + 100 * available;
}
// UTF-8 to code points, with errors.
// run codec_utf8 1 64 0 128
KERNEL(codec_utf8) {
  const auto *const bytes = reinterpret_cast<const unsigned char *>(in) + threadIdx.x * 40;
  unsigned sum = 0, errors = 0;
  for (unsigned i = 0; i < 36;) {
    const unsigned first = bytes[i];
    unsigned point = 0, length = 0;
    switch (first >> 4) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
      case 5:
      case 6:
      case 7:
        point = first, length = 1;
        break;
      case 12:
      case 13:
        point = first & 31, length = 2;
        break;
      case 14:
        point = first & 15, length = 3;
        break;
      case 15:
        point = first & 7, length = 4;
        break;
      default:
        break;
    }
    for (unsigned k = 1; k < length; ++k) {
      if ((bytes[i + k] & 0xc0) != 0x80) length = 0;
      point = point << 6 | (bytes[i + k] & 0x3f);
    }
    if (length == 0)
      ++errors, ++i;
    else
      sum = sum * 33 + point, i += length;
  }
  out[threadIdx.x] = sum;
  out[64 + threadIdx.x] = errors;
}
// A machine of bytecodes with a stack, one program a thread.
// run codec_machine 2 64 0 256
KERNEL(codec_machine) {
  const auto *const code = reinterpret_cast<const unsigned char *>(in) + index_in_grid() * 64;
  int stack[16] = {3, 5}, variables[4] = {1, 2, 3, 4};
  unsigned top = 2, at = 0, steps = 0;
  for (; steps < 300 && at < 64; ++steps) {
    const unsigned op = code[at++];
    int &first = stack[(top - 1) & 15], &second = stack[(top - 2) & 15];
    switch (op % 17) {
      case 0:
        second += first, --top;
        break;
      case 1:
        second -= first, --top;
        break;
      case 2:
        second *= first, --top;
        break;
      case 3:
        second = first ? second / first : -1, --top;
        break;
      case 4:
        second = first ? second % first : 7, --top;
        break;
      case 5:
        second ^= first, --top;
        break;
      case 6:
        second = second << (first & 31), --top;
        break;
      case 7:
        second = second >> (first & 31), --top;
        break;
      case 8:
        stack[top++ & 15] = variables[op >> 5 & 3];
        break;
      case 9:
        variables[op >> 5 & 3] = first;
        break;
      case 10:
        stack[top++ & 15] = first;
        break;
      case 11: {
        const int kept = first;
        first = second, second = kept;
      } break;
      case 12:
        first = -first;
        break;
      case 13:
        first = __popc(static_cast<unsigned>(first));
        break;
      case 14:
        if (first > second) at += op >> 5;
        break;
      case 15:
        if (first & 1) at = at > (op >> 4) ? at - (op >> 4) : 0;
        break;
      default:
        stack[top++ & 15] = static_cast<int>(op) * 1000 - 77;
        break;
    }
  }
  out[index_in_grid()] = static_cast<unsigned>(stack[(top - 1) & 15]) ^ steps << 20;
  out[128 + index_in_grid()] =
      static_cast<unsigned>(variables[0] + 3 * variables[1] + 5 * variables[2] + 7 * variables[3]);
}
// Nested brackets: depths by a scan, and the partner of each bracket.
// run codec_brackets 1 256 0 256
KERNEL(codec_brackets) {
  __shared__ int depths[256];
  __shared__ unsigned sums[8];
  const unsigned t = threadIdx.x, lane = t % 32;
  const bool opens = in[t] & 4;
  const unsigned mask = __ballot_sync(~0u, opens);
  if (lane == 0) sums[t / 32] = __popc(mask);
  __syncthreads();
  int depth = __popc(mask & (2u << lane) - 1) * 2 - static_cast<int>(lane) - 1;
  for (unsigned warp = 0; warp < t / 32; ++warp) depth += static_cast<int>(sums[warp]) * 2 - 32;
  depths[t] = depth;
  __syncthreads();
  unsigned partner = 999;
  if (opens) {
    for (unsigned k = t + 1; k < 256 && partner == 999; ++k)
      if (depths[k] == depth - 1) partner = k;
  } else {
    for (int k = static_cast<int>(t) - 1; k >= 0 && partner == 999; --k)
      if (depths[k] == depth + 1 && (k == 0 || depths[k - 1] == depth)) partner = static_cast<unsigned>(k);
  }
  out[t] = partner + 1000 * static_cast<unsigned>(depth + 300);
}
// Bits of 11 each, packed and unpacked by funnel shifts; then deltas and zigzags.
// run codec_packed_bits 1 128 0 256
KERNEL(codec_packed_bits) {
  __shared__ unsigned packed[46];
  const unsigned t = threadIdx.x;
  if (t < 46) packed[t] = 0;
  __syncthreads();
  const unsigned value = in[t] & 0x7ff, bit = t * 11;
  atomicOr(&packed[bit / 32], value << bit % 32);
  if (bit % 32 > 21) atomicOr(&packed[bit / 32 + 1], value >> (32 - bit % 32));
  __syncthreads();
  unsigned got;
  asm("bfe.u32 %0, %1, 0, 11;"
      : "=r"(got)
      : "r"(__funnelshift_r(packed[bit / 32], packed[bit / 32 + 1], bit % 32)));
  int delta = static_cast<int>(got) - static_cast<int>(__shfl_up_sync(~0u, got, 1));
  if (t % 32 == 0) delta = static_cast<int>(got);
  const unsigned zigzag = static_cast<unsigned>(delta << 1 ^ delta >> 31);
  out[t] = got;
  out[128 + t] = zigzag | (got == value) << 31;
}
