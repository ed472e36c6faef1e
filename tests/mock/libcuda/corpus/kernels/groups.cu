// SPDX-License-Identifier: Apache-2.0
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "corpus.cuh"

namespace cg = cooperative_groups;

// run group_tiles 2 128 0 1280
KERNEL(group_tiles) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  auto pair = cg::tiled_partition<2>(tile);
  const unsigned i = index_in_grid(), word = in[i];
  out[i] =
      tile.shfl(word, 3) + tile.shfl_up(word, 1) * 3 + tile.shfl_down(word, 2) * 5 + pair.shfl_xor(word, 1);
  out[256 + i] = tile.ballot(word & 1) + 256 * tile.any(word % 9 == 0) + 512 * tile.all(word % 9 != 0);
  out[512 + i] = tile.match_any(word % 3) + 1000 * tile.thread_rank() + 100000 * tile.meta_group_rank() +
                 tile.meta_group_size();
  out[768 + i] = block.thread_rank() + block.size() * block.group_index().x;
  out[1024 + i] = cg::reduce(tile, word, cg::plus<unsigned>()) +
                  cg::reduce(pair, static_cast<int>(word), cg::less<int>());
}
// run group_coalesced 2 128 0 1024
KERNEL(group_coalesced) {
  const unsigned i = index_in_grid(), word = in[i];
  if (word % 3 != 0) {
    auto group = cg::coalesced_threads();
    out[i] = group.size() + 100 * group.thread_rank() + 10000 * group.shfl(threadIdx.x, 0);
    out[256 + i] = cg::reduce(group, word, cg::plus<unsigned>());
    if (word % 2) {
      auto inner = cg::coalesced_threads();
      out[512 + i] = inner.shfl_down(word, 1) ^ inner.ballot(word & 2) ^ inner.shfl_up(word, 2);
      out[768 + i] = cg::inclusive_scan(inner, word & 0xff);
    }
  }
}
// run group_partitions 2 64 0 512
KERNEL(group_partitions) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const unsigned i = index_in_grid(), word = in[i];
  auto labeled = cg::labeled_partition(warp, static_cast<int>(word % 4));
  out[i] = cg::reduce(labeled, word, cg::bit_xor<unsigned>()) + labeled.size();
  auto binary = cg::binary_partition(warp, word & 8);
  out[128 + i] = cg::exclusive_scan(binary, word & 0xfff, cg::plus<unsigned>()) + binary.num_threads();
  out[256 + i] = static_cast<unsigned>(cg::reduce(warp, static_cast<int>(word), cg::greater<int>()));
  const float f = unit(word);
  out[384 + i] = __float_as_uint(cg::inclusive_scan(warp, f, cg::plus<float>()));
}
// run group_grid 12 64 0 768 cooperative
KERNEL(group_grid) {
  cg::grid_group grid = cg::this_grid();
  const unsigned i = grid.thread_rank();
  out[i] = in[i];
  for (unsigned round = 1; round <= 4; ++round) {
    grid.sync();
    const unsigned value = out[(i + 67 * round) % 768];
    grid.sync();
    out[i] = value * 3 + round + (grid.is_valid() ? 0 : 1) + grid.num_blocks();
  }
}
// run group_wide_tiles 2 256 0 1024
KERNEL(group_wide_tiles) {
  __shared__ cg::block_tile_memory<256> memory;
  auto block = cg::this_thread_block(memory);
  auto tile = cg::tiled_partition<128>(block);
  const unsigned i = index_in_grid(), word = in[i];
  out[i] = cg::reduce(tile, word, cg::plus<unsigned>());
  out[512 + i] = tile.shfl(word, 77) + cg::exclusive_scan(tile, word & 7, cg::plus<unsigned>());
}
// run group_one_thread 2 96 0 192
KERNEL(group_one_thread) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  const unsigned i = index_in_grid();
  __shared__ unsigned told;
  cg::invoke_one(block, [&] { told = in[blockIdx.x]; });
  block.sync();
  out[i] = told + cg::invoke_one_broadcast(warp, [&] { return in[i] & ~31u; }) % 7;
  auto token = block.barrier_arrive();
  out[i] += block.thread_index().x;
  block.barrier_wait(cuda::std::move(token));
}
