// SPDX-License-Identifier: Apache-2.0
// Attributes of launches (cuLaunchKernelEx), with the answers of an H200 to random programs.
#include "kernels.hpp"

#if CUDA_VERSION >= 13000

namespace conformance {
namespace {

class LaunchAttributes : public OnModule {
 protected:
  CUresult launch(const CUlaunchAttribute &attribute) {
    CUlaunchAttribute copy = attribute;
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    config.attrs = &copy;
    config.numAttrs = 1;
    const CUresult code = driver().cuLaunchKernelEx(&config, kernel("empty"), nullptr, nullptr);
    NEED(driver().cuCtxSynchronize());
    return code;
  }
  CUlaunchAttribute attribute{};
};

TEST_F(LaunchAttributes, A_cluster_of_zeros_is_none) {
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  EXPECT_ANSWER(launch(attribute), CUDA_SUCCESS);
}
TEST_F(LaunchAttributes, A_cluster_without_blocks) {
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
  EXPECT_ANSWER(launch(attribute), CUDA_ERROR_INVALID_CLUSTER_SIZE);
}
TEST_F(LaunchAttributes, An_unknown_cluster_schedule) {
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
  attribute.value.clusterSchedulingPolicyPreference = static_cast<CUclusterSchedulingPolicy>(3);
  EXPECT_ANSWER(launch(attribute), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(LaunchAttributes, An_unknown_attribute) {
  attribute.id = static_cast<CUlaunchAttributeID>(20);
  EXPECT_ANSWER(launch(attribute), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace conformance

#endif
