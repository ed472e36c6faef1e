// SPDX-License-Identifier: Apache-2.0
// Resources of devices, and green contexts.
#include <cushim/exact.hpp>
#include <vector>

#include "kernels.hpp"

#if CUDA_VERSION >= 12050

namespace conformance {
namespace {

constexpr auto kSm = CU_DEV_RESOURCE_TYPE_SM;

class Resources : public OnModule {
 public:
  CUdevResource whole() {
    CUdevResource found{};
    NEED(driver().cuDeviceGetDevResource(device, &found, kSm));
    return found;
  }
  // Returns at most `wanted` groups of at least `least` multiprocessors.
  std::vector<CUdevResource> groups_of(unsigned least, unsigned wanted) {
    const CUdevResource input = whole();
    std::vector<CUdevResource> groups(wanted);
    NEED(driver().cuDevSmResourceSplitByCount(groups.data(), &wanted, &input, &rest, 0, least));
    groups.resize(wanted);
    return groups;
  }
  CUresult describe(std::vector<CUdevResource> parts) {
    return driver().cuDevResourceGenerateDesc(&descriptor, parts.data(), static_cast<unsigned>(parts.size()));
  }

  CUdevResource resource{}, rest{};
  CUdevResourceDesc descriptor = nullptr;
  unsigned count = 0;
};

STATEMENT(Resources, Of_a_device_need_a_place, driver().cuDeviceGetDevResource(device, nullptr, kSm),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Resources, Of_a_device_have_a_known_type,
          driver().cuDeviceGetDevResource(device, &resource, static_cast<CUdevResourceType>(99)),
          CUDA_ERROR_INVALID_RESOURCE_TYPE)
STATEMENT(Resources, Of_no_device, driver().cuDeviceGetDevResource(99, &resource, kSm),
          CUDA_ERROR_INVALID_DEVICE)
TEST_F(Resources, Of_a_device_are_all_its_multiprocessors) {
  int all = 0;
  NEED(driver().cuDeviceGetAttribute(&all, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
  EXPECT_ANSWER(driver().cuDeviceGetDevResource(device, &resource, kSm), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(resource.type), int{kSm});
  EXPECT_VALUE(resource.sm.smCount == static_cast<unsigned>(all), true);
  EXPECT_ANSWER(driver().cuCtxGetDevResource(nullptr, &rest, kSm), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuCtxGetDevResource(context, &rest, kSm), CUDA_SUCCESS);
  EXPECT_VALUE(rest.sm.smCount == resource.sm.smCount, true);
}
TEST_F(Resources, Are_split_into_groups_of_equal_size) {
  const CUdevResource input = whole();
  std::vector<CUdevResource> groups(2);
  count = 2;
  EXPECT_ANSWER(driver().cuDevSmResourceSplitByCount(groups.data(), &count, &input, &rest, 0,
                                                     input.sm.minSmPartitionSize),
                CUDA_SUCCESS);
  EXPECT_VALUE(count, 2u);
  EXPECT_VALUE(groups[0].sm.smCount >= input.sm.minSmPartitionSize, true);
  EXPECT_VALUE(groups[0].sm.smCount == groups[1].sm.smCount, true);
  EXPECT_VALUE(groups[0].sm.smCount + groups[1].sm.smCount + rest.sm.smCount <= input.sm.smCount, true);
}
TEST_F(Resources, Are_counted_without_a_split) {
  const CUdevResource input = whole();
  EXPECT_ANSWER(driver().cuDevSmResourceSplitByCount(nullptr, &count, &input, nullptr, 0, 2), CUDA_SUCCESS);
  EXPECT_VALUE(count != 0, true);
}
TEST_F(Resources, Are_not_split_into_groups_larger_than_all) {
  const CUdevResource input = whole();
  EXPECT_ANSWER(
      driver().cuDevSmResourceSplitByCount(nullptr, &count, &input, nullptr, 0, input.sm.smCount + 1),
      CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
}
TEST_F(Resources, Without_a_type_are_not_split) {
  EXPECT_ANSWER(driver().cuDevSmResourceSplitByCount(nullptr, &count, &resource, nullptr, 0, 2),
                CUDA_ERROR_INVALID_RESOURCE_TYPE);
}
TEST_F(Resources, Of_one_split_are_described_together) {
  EXPECT_ANSWER(describe(groups_of(8, 2)), CUDA_SUCCESS);
  EXPECT_VALUE(descriptor != nullptr, true);
}
TEST_F(Resources, Of_two_splits_are_described_together) {
  EXPECT_ANSWER(describe({groups_of(8, 1)[0], groups_of(8, 1)[0]}), CUDA_SUCCESS);
}

class GreenContexts : public Resources {
 protected:
  void TearDown() override {
    if (green != nullptr) driver().cuGreenCtxDestroy(green);
    OnModule::TearDown();
  }

 public:
  void create() {
    NEED(describe(groups_of(8, 1)));
    NEED(driver().cuGreenCtxCreate(&green, descriptor, device, CU_GREEN_CTX_DEFAULT_STREAM));
  }
  CUstream green_stream() {
    CUstream made = nullptr;
    NEED(driver().cuGreenCtxStreamCreate(&made, green, CU_STREAM_NON_BLOCKING, 0));
    return made;
  }

  CUgreenCtx green = nullptr, green_out = nullptr;
  CUcontext converted = nullptr;
};

TEST_F(GreenContexts, Need_the_flag_of_the_default_stream) {
  NEED(describe(groups_of(8, 1)));
  EXPECT_ANSWER(driver().cuGreenCtxCreate(&green_out, descriptor, device, 0), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(GreenContexts, Have_the_multiprocessors_of_their_descriptor) {
  create();
  EXPECT_ANSWER(driver().cuGreenCtxGetDevResource(green, &resource, kSm), CUDA_SUCCESS);
  EXPECT_VALUE(resource.sm.smCount < whole().sm.smCount, true);
  NEED(driver().cuCtxFromGreenCtx(&converted, green));
  EXPECT_ANSWER(driver().cuCtxGetDevResource(converted, &rest, kSm), CUDA_SUCCESS);
  EXPECT_VALUE(rest.sm.smCount == resource.sm.smCount, true);
}
TEST_F(GreenContexts, Are_made_current) {
  create();
  EXPECT_ANSWER(driver().cuCtxFromGreenCtx(&converted, green), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxPushCurrent(converted), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxGetCurrent(&context_out), CUDA_SUCCESS);
  EXPECT_VALUE(context_out == converted, true);
  EXPECT_ANSWER(driver().cuStreamGetGreenCtx(nullptr, &green_out), CUDA_SUCCESS);
  EXPECT_VALUE(green_out == green, true);
  EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxPopCurrent(&context_out), CUDA_SUCCESS);
  EXPECT_VALUE(context_out == converted, true);
}
TEST_F(GreenContexts, Have_streams) {
  create();
  const CUstream work = green_stream();
  NEED(driver().cuCtxFromGreenCtx(&converted, green));
  EXPECT_ANSWER(driver().cuStreamGetGreenCtx(work, &green_out), CUDA_SUCCESS);
  EXPECT_VALUE(green_out == green, true);
  EXPECT_ANSWER(cushim::exact::cuStreamGetCtx_v9020(driver())(work, &context_out), CUDA_SUCCESS);
  EXPECT_VALUE(context_out == converted, true);
  EXPECT_ANSWER(driver().cuStreamDestroy(work), CUDA_SUCCESS);
}
TEST_F(GreenContexts, Have_no_blocking_streams) {
  create();
  CUstream work = nullptr;
  EXPECT_ANSWER(driver().cuGreenCtxStreamCreate(&work, green, CU_STREAM_DEFAULT, 0),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(GreenContexts, Run_kernels_of_the_primary_context) {
  create();
  const CUstream work = green_stream();
  EXPECT_ANSWER(driver().cuLaunchKernel(kernel("empty"), 1, 1, 1, 1, 1, 1, 0, work, nullptr, nullptr),
                CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  NEED(driver().cuStreamDestroy(work));
}
TEST_F(GreenContexts, End_the_use_of_their_streams) {
  create();
  const CUstream work = green_stream();
  EXPECT_ANSWER(driver().cuGreenCtxDestroy(green), CUDA_SUCCESS);
  green = nullptr;
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_ANSWER(driver().cuStreamDestroy(work), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

}  // namespace
}  // namespace conformance

#endif
