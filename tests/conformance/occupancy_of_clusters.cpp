// SPDX-License-Identifier: Apache-2.0
// How many clusters of blocks run at once. The numbers are those of a device's processing clusters.
#include "kernels.hpp"

namespace conformance {
namespace {

class OccupancyOfClusters : public OnClusters {
 public:
  int clusters = 77;
};

struct Use {
  unsigned cluster, block, shared;
  int clusters;
};
const Use uses[] = {
    {1, 32, 0, 1056},    {1, 1024, 0, 264}, {2, 32, 0, 528},  {2, 1024, 0, 132},    {4, 32, 0, 248},
    {4, 1024, 0, 62},    {8, 32, 0, 124},   {8, 1024, 0, 30}, {2, 256, 49152, 264}, {4, 256, 49152, 124},
    {8, 256, 49152, 62}, {8, 128, 0, 124},  {8, 512, 0, 62},  {8, 512, 32768, 62},
};
[[maybe_unused]] const bool uses_added = [] {
  for (const Use &use : uses)
    ADD_TEST(OccupancyOfClusters,
             "Of_" + std::to_string(use.cluster) + "_blocks_of_" + std::to_string(use.block) +
                 "_threads_and_" + std::to_string(use.shared) + "_bytes",
             [=](OccupancyOfClusters &t) {
               const auto made = t.configuration(use.cluster, use.block, use.shared);
               EXPECT_ANSWER(driver().cuOccupancyMaxActiveClusters(&t.clusters, t.kernel("empty"), &made),
                             CUDA_SUCCESS);
               EXPECT_VALUE(t.clusters, use.clusters);
             });
  return true;
}();
TEST_F(OccupancyOfClusters, Without_clusters) {
  const auto made = configuration(0);
  EXPECT_ANSWER(driver().cuOccupancyMaxActiveClusters(&clusters, kernel("empty"), &made), CUDA_SUCCESS);
  EXPECT_VALUE(clusters, 0);
}
TEST_F(OccupancyOfClusters, Of_16_blocks) {
  const auto made = configuration(16);
  EXPECT_ANSWER(driver().cuOccupancyMaxActiveClusters(&clusters, kernel("empty"), &made),
                CUDA_ERROR_INVALID_CLUSTER_SIZE);
  const CUfunction function = kernel("empty");
  NEED(driver().cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
  EXPECT_ANSWER(driver().cuOccupancyMaxActiveClusters(&clusters, function, &made), CUDA_SUCCESS);
  RECORD_VALUE(clusters);
  EXPECT_ANSWER(driver().cuOccupancyMaxPotentialClusterSize(&clusters, function, &made), CUDA_SUCCESS);
  EXPECT_VALUE(clusters, 16);
}
TEST_F(OccupancyOfClusters, Of_17_blocks) {
  const auto made = configuration(17);
  EXPECT_ANSWER(driver().cuOccupancyMaxActiveClusters(&clusters, kernel("empty"), &made),
                CUDA_ERROR_INVALID_CLUSTER_SIZE);
}
TEST_F(OccupancyOfClusters, Of_3_blocks) {
  const auto made = configuration(3);
  EXPECT_ANSWER(driver().cuOccupancyMaxActiveClusters(&clusters, kernel("empty"), &made),
                CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_VALUE(clusters, 77);
  const auto of_six = configuration(3, 32, 0, 6);
  EXPECT_ANSWER(driver().cuOccupancyMaxActiveClusters(&clusters, kernel("empty"), &of_six), CUDA_SUCCESS);
  EXPECT_VALUE(clusters, 327);
}
TEST_F(OccupancyOfClusters, Of_a_small_grid) {
  const auto made = configuration(4, 32, 0, 8);
  EXPECT_ANSWER(driver().cuOccupancyMaxActiveClusters(&clusters, kernel("empty"), &made), CUDA_SUCCESS);
  EXPECT_VALUE(clusters, 248);
}
TEST_F(OccupancyOfClusters, Of_a_grid_that_is_no_multiple) {
  const auto made = configuration(4, 32, 0, 7);
  EXPECT_ANSWER(driver().cuOccupancyMaxActiveClusters(&clusters, kernel("empty"), &made),
                CUDA_ERROR_INVALID_CLUSTER_SIZE);
}
TEST_F(OccupancyOfClusters, Of_blocks_that_are_too_large) {
  const auto made = configuration(2, 2048);
  EXPECT_ANSWER(driver().cuOccupancyMaxActiveClusters(&clusters, kernel("empty"), &made), CUDA_SUCCESS);
  const auto shared = configuration(2, 32, 1 << 20);
  EXPECT_ANSWER(driver().cuOccupancyMaxActiveClusters(&clusters, kernel("empty"), &shared), CUDA_SUCCESS);
}
TEST_F(OccupancyOfClusters, Need_their_arguments) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  OnModule::SetUp();
  const auto made = configuration(2);
  EXPECT_ANSWER(driver().cuOccupancyMaxActiveClusters(nullptr, kernel("empty"), &made),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuOccupancyMaxActiveClusters(&clusters, kernel("empty"), nullptr),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuOccupancyMaxActiveClusters(&clusters, nullptr, &made), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace conformance
