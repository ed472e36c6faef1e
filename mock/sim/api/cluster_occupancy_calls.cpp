// SPDX-License-Identifier: Apache-2.0
// Occupancy of clusters of thread blocks. Measured on an H200, driver 580.
#include <algorithm>
#include <span>

#include "api/launch_options.hpp"
#include "api/service.hpp"

namespace cushim::sim {

namespace {

// Returns the launch with its cluster. NOT_SUPPORTED on devices whose processing clusters are unknown, and on
// devices without clusters: neither is measured.
LaunchOptions options_of(Call &call, const Function &function, const CUlaunchConfig &config) {
  const Device &device = *function.module->context->device;
  require(device.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) >= 9 &&
              !device.profile.processing_clusters.empty(),
          CUDA_ERROR_NOT_SUPPORTED);
  // Only the null stream needs a current context.
  if (config.hStream == nullptr || call.current() != nullptr)
    require(&call.context() == function.module->context, CUDA_ERROR_INVALID_HANDLE);
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

void serve_cluster_occupancy(Service &service) {
  service.serve<"cuOccupancyMaxActiveClusters", max_active_clusters>();
  service.serve<"cuOccupancyMaxPotentialClusterSize", potential_cluster_size>();
}

}  // namespace cushim::sim
