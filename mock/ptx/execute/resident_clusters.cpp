// SPDX-License-Identifier: Apache-2.0
#include "execute/resident_clusters.hpp"

#include <algorithm>
#include <cstring>

#include "check/kernel_checker.hpp"

namespace cushim::ptx::execute {
namespace {

std::byte *aligned(std::vector<std::byte> &storage, std::size_t bytes) {
  storage.resize(bytes + 64);
  return reinterpret_cast<std::byte *>((reinterpret_cast<std::uintptr_t>(storage.data()) + 63) &
                                       ~std::uintptr_t{63});
}

Dim3 position(std::uint64_t index, const Dim3 &size) {
  return {static_cast<std::uint32_t>(index % size.x), static_cast<std::uint32_t>(index / size.x % size.y),
          static_cast<std::uint32_t>(index / (std::uint64_t{size.x} * size.y))};
}

// The cached ranges of warps all of whose accesses are checked: they contain no address, and never change.
CachedRange no_ranges[cached_ranges];

// Makes a block and sets the state that all blocks that reuse its memory share.
std::unique_ptr<Block> make_block(Worker &worker, bool is_sampled) {
  const Launch &launch = *worker.launch;
  const FunctionCode &kernel = is_sampled ? *launch.sampled_kernel : *launch.kernel;
  auto block = std::make_unique<Block>();
  block->code = is_sampled ? launch.sampled_code : launch.code;
  block->is_sampled = is_sampled;
  block->shared = aligned(block->shared_storage, launch.shared_bytes);
  const bool checks_all = launch.checker != nullptr && launch.checker->needs_all_accesses();
  for (std::uint32_t i = 0; i < launch.warps; ++i) {
    auto &w = *block->warps.emplace_back(std::make_unique<WarpState>());
    const std::uint32_t threads = std::min<std::uint32_t>(lanes, launch.threads - i * lanes);
    w.lanes_mask = threads == lanes ? ~0u : (1u << threads) - 1;
    w.index = i;
    w.checker = launch.checker;
    w.reads = checks_all ? no_ranges : worker.reads;
    w.writes = checks_all ? no_ranges : worker.writes;
    w.parameters = launch.parameters.data();
    w.parameter_bytes = launch.parameters.size();
    w.shared = block->shared;
    w.shared_bytes = checks_all ? 0 : launch.shared_limit;
    w.block = block.get();
    w.worker = &worker;
    w.local_bytes = launch.local_bytes;
    w.local = aligned(w.local_storage, lanes * launch.local_bytes);
    w.kernel_frame.registers = aligned(w.kernel_frame.storage, kernel.frame_bytes);
    w.kernel_frame.function = &kernel;
    std::memcpy(w.kernel_frame.registers, kernel.constants.data(), kernel.constants.size());
    if (kernel.calls) w.free_frames.resize(launch.code->functions.size());
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      const Dim3 thread = position(std::uint64_t{i} * lanes + lane, launch.shape.block);
      w.special.tid[0][lane] = thread.x;
      w.special.tid[1][lane] = thread.y;
      w.special.tid[2][lane] = thread.z;
    }
  }
  return block;
}

void start(Block &block, const Launch &launch) {
  block.unfinished = launch.warps;
  block.next_warp = 0;
  std::fill(std::begin(block.barriers), std::end(block.barriers), Barrier{});
  for (const auto &one : block.warps) {
    WarpState &w = *one;
    w.live = w.lanes_mask;
    w.paths.assign(1, Path{w.kernel_frame.function->ops.data(), w.live, PathState::ready, 0, 0,
                           &w.kernel_frame, nullptr});
    w.kernel_frame.users = w.live;
    w.kernel_frame.local_top = launch.kernel->local_bytes;
    w.free_joins.insert(w.free_joins.end(), w.used_joins.begin(), w.used_joins.end());
    w.used_joins.clear();
    w.finished = false;
    w.waits = false;
    w.waiting_slices = 0;
    w.cluster_arrived = 0;
    std::fill(std::begin(w.arrived), std::end(w.arrived), 0u);
  }
  if (launch.checker != nullptr) [[unlikely]]
    launch.checker->block_starts(block);
}

}  // namespace

std::unique_ptr<Cluster> make_cluster(Worker &worker, bool is_sampled) {
  auto cluster = std::make_unique<Cluster>();
  cluster->is_sampled = is_sampled;
  for (std::uint64_t rank = 0; rank < worker.launch->shape.cluster.count(); ++rank) {
    auto &block = *cluster->blocks.emplace_back(make_block(worker, is_sampled));
    block.cluster = cluster.get();
    block.rank = static_cast<std::uint32_t>(rank);
  }
  return cluster;
}

void start(Cluster &cluster, const Launch &launch, std::uint64_t index) {
  const Dim3 &grid = launch.shape.grid, &size = launch.shape.cluster;
  if (cluster.blocks.size() == 1) {
    Block &block = *cluster.blocks.front();
    block.id = position(index, grid);
    block.index = index;
    return start(block, launch);
  }
  const Dim3 first = position(index, {grid.x / size.x, grid.y / size.y, grid.z / size.z});
  for (const auto &block : cluster.blocks) {
    const Dim3 within = position(block->rank, size);
    block->id = {first.x * size.x + within.x, first.y * size.y + within.y, first.z * size.z + within.z};
    block->index = block->id.x + std::uint64_t{grid.x} * (block->id.y + std::uint64_t{grid.y} * block->id.z);
    start(*block, launch);
  }
}

std::uint64_t cluster_bytes(const Launch &launch) {
  return launch.shape.cluster.count() *
         (launch.shared_bytes +
          launch.warps * (sizeof(WarpState) + launch.kernel->frame_bytes + lanes * launch.local_bytes));
}

}  // namespace cushim::ptx::execute
