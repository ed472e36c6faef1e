// SPDX-License-Identifier: Apache-2.0
// Primitives of NVIDIA's CUB library. This file is never committed as PTX: it contains NVIDIA's code.
#include <cub/block/block_shuffle.cuh>
#include <cub/cub.cuh>

#include "corpus.cuh"

// run cub_reduce 2 128 0 16
KERNEL(cub_reduce) {
  using Reduce = cub::BlockReduce<float, 128>;
  using Raking = cub::BlockReduce<unsigned, 128, cub::BLOCK_REDUCE_RAKING>;
  __shared__ typename Reduce::TempStorage storage;
  __shared__ typename Raking::TempStorage raking;
  const unsigned word = in[index_in_grid()];
  const float sum = Reduce(storage).Sum(between(word, -1, 1));
  const unsigned most = Raking(raking).Reduce(
      word, [](unsigned a, unsigned b) { return a > b ? a : b; }, 100);
  if (threadIdx.x == 0) {
    out[4 * blockIdx.x] = __float_as_uint(sum);
    out[4 * blockIdx.x + 1] = most;
  }
}
// run cub_scan 2 128 0 1024
KERNEL(cub_scan) {
  using Scan = cub::BlockScan<unsigned, 128>;
  __shared__ typename Scan::TempStorage storage;
  unsigned values[4], total;
  for (int k = 0; k < 4; ++k) values[k] = in[index_in_grid() * 4 + k] & 0xff;
  Scan(storage).ExclusiveSum(values, values, total);
  for (int k = 0; k < 4; ++k) out[index_in_grid() * 4 + k] = values[k] + total * 1000;
}
// run cub_sort 2 128 0 1024
KERNEL(cub_sort) {
  using Sort = cub::BlockRadixSort<unsigned, 128, 4, unsigned short>;
  __shared__ typename Sort::TempStorage storage;
  unsigned keys[4];
  unsigned short values[4];
  for (unsigned k = 0; k < 4; ++k) {
    keys[k] = in[index_in_grid() * 4 + k] >> 12;
    values[k] = static_cast<unsigned short>(threadIdx.x * 4 + k);
  }
  if (blockIdx.x == 0)
    Sort(storage).Sort(keys, values);
  else
    Sort(storage).SortDescendingBlockedToStriped(keys, values, 4, 16);
  for (unsigned k = 0; k < 4; ++k) out[index_in_grid() * 4 + k] = keys[k] << 9 | values[k];
}
struct Differs {
  __device__ bool operator()(unsigned a, unsigned b) const { return a != b; }
};
struct Less {
  __device__ bool operator()(float a, float b) const { return a < b; }
};
// run cub_merge_sort 2 64 0 640
KERNEL(cub_merge_sort) {
  using Sort = cub::BlockMergeSort<float, 64, 3>;
  using WarpSort = cub::WarpMergeSort<float, 4, 16>;
  __shared__ typename Sort::TempStorage storage;
  __shared__ typename WarpSort::TempStorage warp_storage[4];
  float keys[3], small[4];
  for (int k = 0; k < 3; ++k) keys[k] = spread(in[index_in_grid() * 3 + k], 9);
  for (int k = 0; k < 4; ++k) small[k] = unit(in[index_in_grid() * 4 + k]);
  Sort(storage).Sort(keys, Less());
  WarpSort(warp_storage[threadIdx.x / 16]).Sort(small, Less());
  for (int k = 0; k < 3; ++k) out[index_in_grid() * 3 + k] = __float_as_uint(keys[k]);
  out[384 + index_in_grid()] = __float_as_uint(small[0] + small[3]);
  out[512 + index_in_grid()] = __float_as_uint(small[1] - small[2]);
}
// run cub_exchange 1 128 0 1024
KERNEL(cub_exchange) {
  using Load = cub::BlockLoad<unsigned, 128, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Store = cub::BlockStore<unsigned, 128, 4, cub::BLOCK_STORE_TRANSPOSE>;
  using Exchange = cub::BlockExchange<unsigned, 128, 4>;
  using Vectors = cub::BlockLoad<unsigned, 128, 4, cub::BLOCK_LOAD_VECTORIZE>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
    typename Exchange::TempStorage exchange;
  } storage;
  unsigned values[4], others[4];
  Load(storage.load).Load(in, values, 500, 7u);
  Vectors().Load(const_cast<unsigned *>(in) + 512, others);
  __syncthreads();
  Exchange(storage.exchange).BlockedToStriped(values, values);
  __syncthreads();
  for (int k = 0; k < 4; ++k) values[k] += others[k] * k;
  Store(storage.store).Store(out, values);
  __syncthreads();
  Exchange(storage.exchange).WarpStripedToBlocked(values, values);
  cub::StoreDirectStriped<128>(threadIdx.x, out + 512, values);
}
// run cub_discontinuity 1 128 0 640
KERNEL(cub_discontinuity) {
  using Flags = cub::BlockDiscontinuity<unsigned, 128>;
  using Difference = cub::BlockAdjacentDifference<int, 128>;
  using Shuffle = cub::BlockShuffle<unsigned, 128>;
  using Histogram = cub::BlockHistogram<unsigned char, 128, 4, 256, cub::BLOCK_HISTO_SORT>;
  __shared__ typename Flags::TempStorage flags_storage;
  __shared__ typename Difference::TempStorage difference_storage;
  __shared__ typename Shuffle::TempStorage shuffle_storage;
  __shared__ typename Histogram::TempStorage histogram_storage;
  __shared__ unsigned counts[256];
  unsigned one[1] = {in[threadIdx.x] % 4};
  int heads[1], tails[1];
  Flags(flags_storage).FlagHeadsAndTails(heads, tails, one, Differs());
  int numbers[1] = {static_cast<int>(in[threadIdx.x])}, differences[1];
  Difference(difference_storage).SubtractLeft(numbers, differences, [](int a, int b) { return a - b; });
  unsigned shuffled = 0;
  Shuffle(shuffle_storage).Rotate(in[threadIdx.x], shuffled, 5);
  out[threadIdx.x] = static_cast<unsigned>(heads[0] * 2 + tails[0]) + shuffled * 4;
  out[128 + threadIdx.x] = static_cast<unsigned>(differences[0]);
  unsigned char bytes[4];
  for (int k = 0; k < 4; ++k) bytes[k] = static_cast<unsigned char>(in[threadIdx.x] >> 8 * k);
  Histogram(histogram_storage).InitHistogram(counts);
  __syncthreads();
  Histogram(histogram_storage).Composite(bytes, counts);
  __syncthreads();
  out[256 + threadIdx.x] = counts[threadIdx.x];
  out[384 + threadIdx.x] = counts[128 + threadIdx.x];
}
// run cub_warps 2 64 0 512
KERNEL(cub_warps) {
  using Reduce = cub::WarpReduce<int, 16>;
  using Scan = cub::WarpScan<double>;
  using Exchange = cub::WarpExchange<unsigned, 4, 32>;
  __shared__ typename Reduce::TempStorage reduce[4];
  __shared__ typename Scan::TempStorage scan[2];
  __shared__ typename Exchange::TempStorage exchange[2];
  const unsigned i = index_in_grid(), warp = threadIdx.x / 32;
  out[i] = static_cast<unsigned>(
      Reduce(reduce[threadIdx.x / 16]).HeadSegmentedSum(static_cast<int>(in[i]), in[i] % 5 == 0));
  double sum;
  Scan(scan[warp]).InclusiveSum(unit(in[i], in[i + 1]), sum);
  put(out, 64 + i, sum);
  unsigned values[4];
  for (int k = 0; k < 4; ++k) values[k] = in[i * 4 + k];
  Exchange(exchange[warp]).StripedToBlocked(values, values);
  out[384 + i] = values[0] + values[1] * 3 + values[2] * 5 + values[3] * 7;
}
// run cub_run_lengths 1 64 0 512
KERNEL(cub_run_lengths) {
  using Decode = cub::BlockRunLengthDecode<unsigned, 64, 1, 2>;
  __shared__ typename Decode::TempStorage storage;
  unsigned values[1] = {in[threadIdx.x]}, lengths[1] = {in[threadIdx.x + 64] % 5 + 1}, total;
  Decode decode(storage, values, lengths, total);
  for (unsigned at = 0; at < total; at += 128) {
    unsigned decoded[2];
    decode.RunLengthDecode(decoded, at);
    for (unsigned k = 0; k < 2; ++k)
      if (at + threadIdx.x * 2 + k < total) out[at + threadIdx.x * 2 + k] = decoded[k];
  }
}
