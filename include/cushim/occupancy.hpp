// SPDX-License-Identifier: Apache-2.0
// Occupancy: how many blocks or clusters of a kernel run at the same time. Takes a Function, a Kernel or a
// TypedKernel; a Kernel needs a current context.
#pragma once

#include <cushim/launch.hpp>

namespace cushim {
inline namespace v1 {

// Returns the number of blocks that a multiprocessor runs at the same time. shared is the dynamic shared
// memory of a block in bytes. Driver calls: cuOccupancyMaxActiveBlocksPerMultiprocessor.
inline int max_active_blocks(const LaunchTarget &kernel, int threads_per_block, std::size_t shared = 0,
                             Where where = Where::current()) {
  int blocks = 0;
  detail::check(kernel.driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel.handle(),
                                                                            threads_per_block, shared),
                "cuOccupancyMaxActiveBlocksPerMultiprocessor", where, kernel,
                detail::Argument{"threads per block", threads_per_block});
  return blocks;
}

// The block size with the highest occupancy, and the smallest grid that fills the device with such blocks.
struct PotentialBlockSize {
  int grid_size;
  int block_size;
};
// Returns the block size, at most `limit` threads (0: no limit), with the highest occupancy. Driver calls:
// cuOccupancyMaxPotentialBlockSize.
inline PotentialBlockSize max_potential_block_size(const LaunchTarget &kernel, std::size_t shared = 0,
                                                   int limit = 0, Where where = Where::current()) {
  PotentialBlockSize size{};
  detail::check(kernel.driver().cuOccupancyMaxPotentialBlockSize(&size.grid_size, &size.block_size,
                                                                 kernel.handle(), nullptr, shared, limit),
                "cuOccupancyMaxPotentialBlockSize", where, kernel);
  return size;
}

// Returns the dynamic shared memory in bytes that each of `blocks` blocks on one multiprocessor can have.
// Driver calls: cuOccupancyAvailableDynamicSMemPerBlock.
inline std::size_t available_shared_memory(const LaunchTarget &kernel, int blocks, int threads_per_block,
                                           Where where = Where::current()) {
  std::size_t bytes = 0;
  detail::check(kernel.driver().cuOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel.handle(), blocks,
                                                                        threads_per_block),
                "cuOccupancyAvailableDynamicSMemPerBlock", where, kernel, detail::Argument{"blocks", blocks},
                detail::Argument{"threads per block", threads_per_block});
  return bytes;
}

namespace detail {

// Returns the number that a query of a launch writes.
inline int ask_of_launch(const LaunchTarget &kernel, const LaunchConfig &config,
                         NamedCall<CUresult(int *, CUfunction, const CUlaunchConfig *)> call) {
  const RawLaunchConfig raw(config, nullptr, call.name);
  int number = 0;
  check(call(kernel.driver(), &number, kernel.handle(), &raw.raw), call.name, config.where, kernel,
        LaunchWords{config});
  return number;
}

}  // namespace detail

// Returns the number of clusters of a launch that the device runs at the same time. config.where names the
// call site. Driver calls: cuOccupancyMaxActiveClusters.
inline int max_active_clusters(const LaunchTarget &kernel, const LaunchConfig &config) {
  return detail::ask_of_launch(kernel, config,
                               {"cuOccupancyMaxActiveClusters", &Driver::cuOccupancyMaxActiveClusters});
}

// Returns the largest cluster size in blocks of a launch. config.where names the call site. Driver calls:
// cuOccupancyMaxPotentialClusterSize.
inline int max_potential_cluster_size(const LaunchTarget &kernel, const LaunchConfig &config) {
  return detail::ask_of_launch(
      kernel, config, {"cuOccupancyMaxPotentialClusterSize", &Driver::cuOccupancyMaxPotentialClusterSize});
}

}  // namespace v1
}  // namespace cushim
