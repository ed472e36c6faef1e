// SPDX-License-Identifier: Apache-2.0
// Occupancy of clusters of thread blocks. Measured on an H200, driver 580.
#include <algorithm>

#include "api/service.hpp"

namespace cushim::sim {

namespace {

constexpr int kPortableSize = 8, kLargestSize = 16;

// Returns the largest cluster that a kernel may have. NOT_SUPPORTED on devices whose processing clusters are
// unknown, and on devices without clusters: neither is measured.
int largest_cluster(const Function &function) {
  const Device &device = *function.module->context->device;
  require(device.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) >= 9 &&
              !device.profile.processing_clusters.empty(),
          CUDA_ERROR_NOT_SUPPORTED);
  const auto larger = function.set.find(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
  return larger != function.set.end() && larger->second != 0 ? kLargestSize : kPortableSize;
}

// Returns the cluster of a launch; {0, 0, 0} without the attribute.
ptx::Dim3 cluster_of(const CUlaunchConfig &config) {
  require(config.numAttrs == 0 || config.attrs != nullptr);
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute &attribute = config.attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      return {attribute.value.clusterDim.x, attribute.value.clusterDim.y, attribute.value.clusterDim.z};
  }
  return {0, 0, 0};
}

// A multiprocessor runs at most 8 blocks of clusters. A cluster of more than 2 blocks is in one processing
// cluster of the device; smaller ones also run on multiprocessors that are in none.
int active_clusters(const Function &function, int size, int threads, std::size_t dynamic_shared) {
  constexpr int kMostBlocks = 8;
  const Device &device = *function.module->context->device;
  const int blocks = std::min(kMostBlocks, resident_blocks(function, threads, dynamic_shared));
  if (size <= 2) return device.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) * blocks / size;
  int clusters = 0;
  for (const int multiprocessors : device.profile.processing_clusters)
    clusters += multiprocessors * blocks / size;
  return clusters;
}

CUresult max_active_clusters(Call &call, int *clusters, CUfunction handle, const CUlaunchConfig *config) {
  require(clusters != nullptr && handle != nullptr && config != nullptr);
  const Function &function = call.function_or_kernel(handle);
  const ptx::Dim3 cluster = cluster_of(*config);
  if (cluster.count() == 0) return *clusters = 0, CUDA_SUCCESS;
  const std::uint64_t size = cluster.count();
  require(size <= static_cast<std::uint64_t>(largest_cluster(function)), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  require(config->gridDimX % cluster.x == 0 && config->gridDimY % cluster.y == 0 &&
              config->gridDimZ % cluster.z == 0,
          CUDA_ERROR_INVALID_CLUSTER_SIZE);
  const std::uint64_t threads = ptx::Dim3{config->blockDimX, config->blockDimY, config->blockDimZ}.count();
  require(threads != 0);
  const bool is_possible = threads <= 1024;
  *clusters = is_possible ? active_clusters(function, static_cast<int>(size), static_cast<int>(threads),
                                            config->sharedMemBytes)
                          : 0;
  return CUDA_SUCCESS;
}

// Measured for an empty kernel.
CUresult potential_cluster_size(Call &call, int *size, CUfunction handle, const CUlaunchConfig *config) {
  const Function &function = call.function_or_kernel(handle);
  require(size != nullptr && config != nullptr);
  *size = largest_cluster(function);
  return CUDA_SUCCESS;
}

}  // namespace

void serve_cluster_occupancy(Service &service) {
  service.serve<"cuOccupancyMaxActiveClusters", max_active_clusters>();
  service.serve<"cuOccupancyMaxPotentialClusterSize", potential_cluster_size>();
}

}  // namespace cushim::sim
