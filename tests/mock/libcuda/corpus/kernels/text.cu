// SPDX-License-Identifier: Apache-2.0
#include "corpus.cuh"

// run text_search 4 128 0 8
KERNEL(text_search) {
  __shared__ char pattern[4];
  if (threadIdx.x < 3) pattern[threadIdx.x] = static_cast<char>('a' + in[threadIdx.x] % 4);
  __syncthreads();
  const auto *const bytes = reinterpret_cast<const unsigned char *>(in);
  unsigned found = 0, first = ~0u;
  for (unsigned i = index_in_grid(); i < 8000; i += 512) {
    bool is_match = true;
    for (unsigned k = 0; k < 3 && is_match; ++k) is_match = 'a' + bytes[i + k] % 4 == pattern[k];
    if (is_match) {
      ++found;
      first = min(first, i);
    }
  }
  atomicAdd(&out[0], found);
  atomicMax(&out[1], ~first);
}
// run text_distance 1 32 0 32
KERNEL(text_distance) {
  const auto *const a = reinterpret_cast<const unsigned char *>(in), *const b = a + 100 + threadIdx.x * 16;
  unsigned char row[17];
  for (unsigned j = 0; j <= 16; ++j) row[j] = static_cast<unsigned char>(j);
  for (unsigned i = 1; i <= 16; ++i) {
    unsigned char diagonal = row[0];
    row[0] = static_cast<unsigned char>(i);
    for (unsigned j = 1; j <= 16; ++j) {
      const unsigned char above = row[j];
      row[j] =
          static_cast<unsigned char>(min(min(row[j] + 1, row[j - 1] + 1), diagonal + (a[i] % 6 != b[j] % 6)));
      diagonal = above;
    }
  }
  out[threadIdx.x] = row[16];
}
// run text_base64 1 64 0 64
KERNEL(text_base64) {
  const char *const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto *const bytes = reinterpret_cast<const unsigned char *>(in) + threadIdx.x * 3;
  const unsigned three = bytes[0] << 16 | bytes[1] << 8 | bytes[2];
  char4 four;
  four.x = alphabet[three >> 18];
  four.y = alphabet[three >> 12 & 63];
  four.z = alphabet[three >> 6 & 63];
  four.w = alphabet[three & 63];
  reinterpret_cast<char4 *>(out)[threadIdx.x] = four;
}
// Numbers to text and back.
// run text_numbers 1 64 0 384
KERNEL(text_numbers) {
  char text[24];
  int value = static_cast<int>(in[threadIdx.x]) >> threadIdx.x % 20, count = 0;
  unsigned rest = value < 0 ? 0u - static_cast<unsigned>(value) : static_cast<unsigned>(value);
  do text[count++] = static_cast<char>('0' + rest % 10);
  while (rest /= 10);
  if (value < 0) text[count++] = '-';
  for (int i = 0; i < count / 2; ++i) {
    const char kept = text[i];
    text[i] = text[count - 1 - i];
    text[count - 1 - i] = kept;
  }
  text[count] = 0;
  char *const to = reinterpret_cast<char *>(out + 64 + threadIdx.x * 4);
  int parsed = 0;
  for (const char *at = text + (*text == '-'); *at; ++at) parsed = parsed * 10 + *at - '0';
  for (int i = 0; text[i]; ++i) to[i] = text[i];
  out[threadIdx.x] = static_cast<unsigned>(*text == '-' ? -parsed : parsed);
}
// Longest common subsequence by diagonals.
// run text_subsequence 1 64 0 64
KERNEL(text_subsequence) {
  __shared__ unsigned short rows[3][65];
  const auto *const bytes = reinterpret_cast<const unsigned char *>(in);
  for (unsigned i = threadIdx.x; i < 195; i += 64) rows[i / 65][i % 65] = 0;
  __syncthreads();
  const unsigned i = threadIdx.x + 1;
  for (unsigned d = 2; d <= 128; ++d) {
    const int j = static_cast<int>(d) - static_cast<int>(i);
    if (j >= 1 && j <= 64)
      rows[d % 3][i] = bytes[i] % 5 == bytes[500 + j] % 5
                           ? rows[(d + 1) % 3][i - 1] + 1
                           : max(rows[(d + 2) % 3][i], rows[(d + 2) % 3][i - 1]);
    else if (j < 1)
      rows[d % 3][i] = 0;
    __syncthreads();
  }
  out[threadIdx.x] = rows[128 % 3][i] + rows[127 % 3][i] * 1000u;
}
