// SPDX-License-Identifier: Apache-2.0
// Occupancy over tables of block sizes, shared memory and cluster sizes.
#include "kernels.hpp"

#if CUDA_VERSION >= 11080

namespace conformance {
namespace {

constexpr int kLargestShared = 232448;

class OccupancyTables : public OnClusters {
 public:
  // Returns a kernel that may use all shared memory, and clusters of 16 blocks.
  CUfunction unbounded_kernel() {
    const CUfunction made = kernel("dynamic_size");
    NEED(driver().cuFuncSetAttribute(made, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kLargestShared));
    NEED(driver().cuFuncSetAttribute(made, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    return made;
  }
};

std::string words(const char *what, std::size_t number) { return what + std::to_string(number); }

[[maybe_unused]] const bool blocks_added = [] {
  for (const int threads : {1, 32, 64, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 896, 1024, 1025})
    for (const std::size_t shared : {0, 1024, 8192, 24576, 65536, 101376, 166912, kLargestShared})
      ADD_TEST(OccupancyTables,
               words("Blocks_of_", static_cast<unsigned>(threads)) + words("_threads_and_bytes_", shared),
               [=](OccupancyTables &t) {
                 answer("cuOccupancyMaxActiveBlocksPerMultiprocessor",
                        driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&t.number, t.unbounded_kernel(),
                                                                             threads, shared));
                 answer("blocks", t.number);
               });
  for (const unsigned choice : {0u, 1u, 2u, 3u, 4u})
    for (const int threads : {64, 1024})
      ADD_TEST(OccupancyTables,
               words("Blocks_with_flags_", choice) + words("_of_threads_", static_cast<unsigned>(threads)),
               [=](OccupancyTables &t) {
                 answer("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
                        driver().cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                            &t.number, t.kernel("write"), threads, 0, choice));
                 answer("blocks", t.number);
               });
  return true;
}();

[[maybe_unused]] const bool shared_added = [] {
  for (const int blocks : {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32, 33})
    for (const int threads : {32, 128, 256, 512, 1024})
      ADD_TEST(OccupancyTables,
               words("Shared_memory_of_blocks_", static_cast<unsigned>(blocks)) +
                   words("_of_threads_", static_cast<unsigned>(threads)),
               [=](OccupancyTables &t) {
                 answer("cuOccupancyAvailableDynamicSMemPerBlock",
                        driver().cuOccupancyAvailableDynamicSMemPerBlock(&t.size, t.unbounded_kernel(),
                                                                         blocks, threads));
                 answer("bytes", t.size);
               });
  return true;
}();

[[maybe_unused]] const bool best_blocks_added = [] {
  for (const char *const name : {"bounded", "write"})
    for (const std::size_t shared : {0, 1000, 8192, 49152})
      for (const int limit : {0, 1, 31, 32, 100, 256, 1000, 1024, 2000})
        ADD_TEST(OccupancyTables,
                 std::string("Best_block_of_") + name + words("_with_bytes_", shared) +
                     words("_and_at_most_", static_cast<unsigned>(limit)),
                 [=](OccupancyTables &t) {
                   int grid = 77, block = 77;
                   answer("cuOccupancyMaxPotentialBlockSize",
                          driver().cuOccupancyMaxPotentialBlockSize(&grid, &block, t.kernel(name), nullptr,
                                                                    shared, limit));
                   answer("grid", grid);
                   answer("block", block);
                 });
  return true;
}();

[[maybe_unused]] const bool clusters_added = [] {
  for (const unsigned threads : {32u, 128u, 256u, 384u, 512u, 768u, 1024u})
    for (const unsigned shared : {0u, 32768u, 66000u, 100000u, 200000u}) {
      const std::string use = words("_of_threads_", threads) + words("_and_bytes_", shared);
      for (const unsigned cluster : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u, 12u, 14u, 15u, 16u})
        ADD_TEST(OccupancyTables, words("Clusters_of_blocks_", cluster) + use, [=](OccupancyTables &t) {
          const auto made = t.configuration(cluster, threads, shared, 1000 * cluster);
          answer("cuOccupancyMaxActiveClusters",
                 driver().cuOccupancyMaxActiveClusters(&t.number, t.unbounded_kernel(), &made));
          answer("clusters", t.number);
        });
      ADD_TEST(OccupancyTables, "Largest_cluster" + use, [=](OccupancyTables &t) {
        const auto made = t.configuration(1, threads, shared, 1000);
        answer("cuOccupancyMaxPotentialClusterSize",
               driver().cuOccupancyMaxPotentialClusterSize(&t.number, t.unbounded_kernel(), &made));
        answer("blocks", t.number);
      });
    }
  return true;
}();

}  // namespace
}  // namespace conformance

#endif
