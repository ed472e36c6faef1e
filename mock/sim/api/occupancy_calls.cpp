// SPDX-License-Identifier: Apache-2.0
// Occupancy of kernels, and of clusters of thread blocks. Measured on an H200, driver 580.
#include <algorithm>
#include <span>

#include "api/launch_options.hpp"
#include "api/service.hpp"

namespace cushim::sim {

namespace {

// ---- Kernels ----

CUresult max_blocks(Call &call, int *blocks, CUfunction handle, int threads, std::size_t dynamic_shared) {
  call.context();
  require(blocks != nullptr);  // before the function
  const Function &function = call.function_or_kernel(handle);
  require(threads > 0);
  *blocks = resident_blocks(function, threads, dynamic_shared);
  return CUDA_SUCCESS;
}

CUresult max_blocks_with_flags(Call &call, int *blocks, CUfunction handle, int threads,
                               std::size_t dynamic_shared, unsigned flags) {
  call.context();
  require((flags & ~unsigned{CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE}) == 0);
  return max_blocks(call, blocks, handle, threads, dynamic_shared);
}

CUresult potential_block_size(Call &call, int *grid, int *block, CUfunction handle,
                              CUoccupancyB2DSize shared_of, std::size_t dynamic_shared, int limit) {
  call.context();
  require(grid != nullptr && block != nullptr);  // before the function
  const Function &function = call.function_or_kernel(handle);
  require(limit >= 0);
  const Device &device = *function.module->context->device;
  int most = static_cast<int>(max_threads(*function.entry));
  if (limit > 0) most = std::min(most, limit);
  int best_threads = 0, best_block = 0, best_blocks = 0;
  // Finds the largest of the block sizes with the most resident threads.
  for (int threads = most; threads > 0; threads -= threads % 32 != 0 ? threads % 32 : 32) {
    const std::size_t shared = shared_of != nullptr ? shared_of(threads) : dynamic_shared;
    const int blocks = resident_blocks(function, threads, shared, Carveout::only_none);
    if (blocks * threads <= best_threads) continue;
    best_threads = blocks * threads;
    best_block = threads;
    best_blocks = blocks;
  }
  *block = best_block;
  *grid = best_blocks * device.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  return CUDA_SUCCESS;
}

CUresult potential_block_size_with_flags(Call &call, int *grid, int *block, CUfunction handle,
                                         CUoccupancyB2DSize shared_of, std::size_t dynamic_shared, int limit,
                                         unsigned flags) {
  call.context();
  require((flags & ~unsigned{CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE}) == 0);
  return potential_block_size(call, grid, block, handle, shared_of, dynamic_shared, limit);
}

// Returns the dynamic shared memory per block with `blocks` blocks on a multiprocessor.
CUresult available_shared(Call &call, std::size_t *size, CUfunction handle, int blocks, int threads) {
  call.context();
  require(size != nullptr && blocks > 0);
  const Function &function = call.function_or_kernel(handle);
  require(threads > 0);
  const int most = resident_blocks(function, threads, 0);
  require(blocks <= most);
  const auto limit = static_cast<std::size_t>(max_dynamic_shared(function));
  if (blocks == 1) return *size = limit, CUDA_SUCCESS;
  constexpr std::size_t kUnit = 128;  // a block has a multiple of this
  const std::size_t share = shared_capacity(function, 0) / static_cast<std::size_t>(blocks) / kUnit * kUnit;
  const std::size_t fixed = static_shared(*function.entry);
  *size = std::min(limit, share > fixed ? share - fixed : 0);
  return CUDA_SUCCESS;
}

// ---- Clusters ----

// Returns the launch with its cluster. NOT_SUPPORTED on devices whose processing clusters are unknown, and on
// devices without clusters: neither is measured.
LaunchOptions options_of(Call &call, const Function &function, const CUlaunchConfig &config) {
  const Device &device = *function.module->context->device;
  require(device.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) >= 9 &&
              !device.profile.processing_clusters.empty(),
          CUDA_ERROR_NOT_SUPPORTED);
  // Only the null stream needs a current context, which must be that of the function.
  if (config.hStream == nullptr)
    require(&call.context() == function.module->context, CUDA_ERROR_INVALID_HANDLE);
  else if (call.current() != nullptr)
    call.context();
  require(config.numAttrs == 0 || config.attrs != nullptr);
  LaunchOptions launch{{{config.gridDimX, config.gridDimY, config.gridDimZ},
                        {config.blockDimX, config.blockDimY, config.blockDimZ},
                        {},
                        config.sharedMemBytes}};
  take_attributes(call, *function.module->context, std::span(config.attrs, config.numAttrs), false, launch);
  check_grid(device, launch.shape.grid);
  launch.shape.cluster = {0, 0, 0};
  set_cluster(function, launch);
  require(launch.shape.block.count() != 0);
  const auto is_positive = [](unsigned extent) { return static_cast<int>(extent) > 0; };
  require(is_positive(config.blockDimX) && is_positive(config.blockDimY) && is_positive(config.blockDimZ));
  return launch;
}

// Returns the blocks of clusters that a multiprocessor runs: at most 8.
int resident_blocks_of(const Function &function, const ptx::LaunchShape &shape) {
  constexpr int kMostBlocks = 8;
  const std::uint64_t threads = shape.block.count();
  if (threads > 1024) return 0;
  return std::min(kMostBlocks,
                  resident_blocks(function, static_cast<int>(threads), shape.dynamic_shared_bytes));
}

// A cluster of more than 2 blocks is in one processing cluster of the device that has a multiprocessor for
// each block; smaller ones also run on multiprocessors that are in none.
int active_clusters(const Function &function, const ptx::LaunchShape &shape) {
  const Device &device = *function.module->context->device;
  const int blocks = resident_blocks_of(function, shape), size = static_cast<int>(shape.cluster.count());
  if (size <= 2) return device.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) * blocks / size;
  int clusters = 0;
  for (const int multiprocessors : device.profile.processing_clusters)
    if (multiprocessors >= size) clusters += multiprocessors * blocks / size;
  return clusters;
}

CUresult max_active_clusters(Call &call, int *clusters, CUfunction handle, const CUlaunchConfig *config) {
  require(clusters != nullptr && handle != nullptr && config != nullptr);
  const Function &function = call.function_or_kernel(handle);
  const ptx::LaunchShape shape = options_of(call, function, *config).shape;
  *clusters = shape.cluster.count() != 0 ? active_clusters(function, shape) : 0;
  return CUDA_SUCCESS;
}

CUresult potential_cluster_size(Call &call, int *size, CUfunction handle, const CUlaunchConfig *config) {
  require(size != nullptr && handle != nullptr && config != nullptr);
  const Function &function = call.function_or_kernel(handle);
  const ptx::LaunchShape shape = options_of(call, function, *config).shape;
  *size = resident_blocks_of(function, shape) != 0 ? static_cast<int>(largest_cluster(function)) : 0;
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_occupancy = {
    entry<"cuOccupancyMaxActiveBlocksPerMultiprocessor", max_blocks>,
    entry<"cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", max_blocks_with_flags>,
    entry<"cuOccupancyMaxPotentialBlockSize", potential_block_size>,
    entry<"cuOccupancyMaxPotentialBlockSizeWithFlags", potential_block_size_with_flags>,
    entry<"cuOccupancyAvailableDynamicSMemPerBlock", available_shared>,
    entry<"cuOccupancyMaxActiveClusters", max_active_clusters>,
    entry<"cuOccupancyMaxPotentialClusterSize", potential_cluster_size>,
};

}  // namespace cushim::sim
