// SPDX-License-Identifier: Apache-2.0
// Matchers for results and arguments.
#include <gtest/gtest.h>
#include <cushim/cushim.hpp>
#include <cushim/mock/mock_driver.hpp>

#include "failing.hpp"

namespace cushim::mock {
namespace {

using testing::_;
using testing::HasSubstr;
using testing::Not;

TEST(Matchers, HasFlags_requires_its_flags_and_allows_others) {
  EXPECT_THAT(6u, HasFlags(CU_EVENT_DISABLE_TIMING));
  EXPECT_THAT(6u, HasFlags(6u));
  EXPECT_THAT(4u, Not(HasFlags(CU_EVENT_DISABLE_TIMING)));
  EXPECT_THAT(4u, Not(HasFlags(6u)));
  const testing::Matcher<unsigned> matcher = HasFlags(CU_EVENT_DISABLE_TIMING);
  EXPECT_EQ(testing::DescribeMatcher<unsigned>(matcher), "has flags CU_EVENT_DISABLE_TIMING");
}

TEST(Matchers, Succeeds_prints_what_was_wrong) {
  EXPECT_THAT(CUDA_SUCCESS, Succeeds());
  EXPECT_THAT(failures_of([] { EXPECT_THAT(CUDA_ERROR_NO_DEVICE, Succeeds()); }),
              HasSubstr("CUDA_ERROR_NO_DEVICE (100, no device)"));
}

TEST(Matchers, Fails_takes_the_error_that_a_wrapper_throws) {
  MockDriver mock;
  EXPECT_CALL(mock, cuEventCreate).WillRepeatedly(Returns(CUDA_ERROR_OUT_OF_MEMORY));
  EXPECT_THAT([&] { Event::create({}, mock); }, Fails(CUDA_ERROR_OUT_OF_MEMORY));
  EXPECT_THAT([&] { Event::create({}, mock); }, Not(Fails(CUDA_ERROR_NO_DEVICE)));
}

TEST(Matchers, Operations_of_a_batch) {
  CUstreamBatchMemOpParams operations[2] = {};
  operations[0].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, 0x1000, {7}, 0, 0};
  operations[1].waitValue = {CU_STREAM_MEM_OP_WAIT_VALUE_32, 0x2000, {8}, 0, 0};
  MockDriver mock;
  EXPECT_CALL(mock, cuStreamBatchMemOp(_, 2, _, 0))
      .With(testing::Args<2, 1>(testing::ElementsAre(WritesValue32(0x1000, 7), WaitsForValue32(0x2000, 8))));
  EXPECT_EQ(mock.driver().cuStreamBatchMemOp(nullptr, 2, operations, 0), CUDA_SUCCESS);
  EXPECT_THAT(operations[0], Not(WritesValue32(0x1000, 8)));
  EXPECT_THAT(operations[0], Not(WaitsForValue32(0x1000, 7)));
}

TEST(Matchers, KernelParameters_see_typed_arguments) {
  const auto kernel = reinterpret_cast<CUfunction>(0x10);
  MockDriver mock;
  EXPECT_CALL(mock,
              cuLaunchKernel(kernel, _, _, _, _, _, _, _, _,
                             KernelParameters<int, float, CUdeviceptr>(testing::Gt(2), 1.5F, _), nullptr));
  int n = 3;
  float a = 1.5F;
  CUdeviceptr x = 0x1000;
  void *parameters[] = {&n, &a, &x};
  EXPECT_EQ(mock.driver().cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr),
            CUDA_SUCCESS);
  EXPECT_THAT(parameters, Not((KernelParameters<int, float>(3, 2.0F))));
  EXPECT_THAT(static_cast<void **>(nullptr), KernelParameters<>());
  EXPECT_THAT(static_cast<void **>(nullptr), Not(KernelParameters<int>(3)));
}

TEST(Matchers, KernelParameters_explain_the_difference) {
  const testing::Matcher<void **> matcher = KernelParameters<int, float>(3, _);
  EXPECT_EQ(testing::DescribeMatcher<void **>(matcher),
            "are kernel parameters whose #0 is equal to 3, and whose #1 is anything");
  int n = 4;
  float a = 0;
  void *parameters[] = {&n, &a};
  testing::StringMatchResultListener listener;
  EXPECT_FALSE(matcher.MatchAndExplain(parameters, &listener));
  EXPECT_EQ(listener.str(), "whose #0 is 4");
}

}  // namespace
}  // namespace cushim::mock
