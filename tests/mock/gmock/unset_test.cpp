// SPDX-License-Identifier: Apache-2.0
// Calls without an expectation, and calls to a destroyed mock.
#include <gtest/gtest.h>
#include <cushim/mock/mock_driver.hpp>

#include "failing.hpp"
#include "per_thread.hpp"

namespace cushim::mock {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Unset, The_call_fails_the_test_with_its_arguments_and_does_not_succeed) {
  MockDriver mock;
  CUresult result = CUDA_SUCCESS;
  const std::string text = failures_of(
      [&] { result = mock.driver().cuEventRecord(reinterpret_cast<CUevent>(0x10), CU_STREAM_LEGACY); });
  EXPECT_EQ(result, CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_THAT(text, HasSubstr("cuEventRecord(hEvent = event 0x10, hStream = legacy stream)"));
  EXPECT_THAT(text, HasSubstr("Returned: CUDA_ERROR_NOT_SUPPORTED (801, not supported)"));
  EXPECT_THAT(text, Not(HasSubstr("An expectation exists")));
}

TEST(Unset, A_per_thread_variant_that_has_an_expectation_is_named) {
  MockDriver mock;
  EXPECT_CALL(mock, cuStreamQuery(nullptr)).Times(0);
  const std::string text = failures_of([&] { query_per_thread(mock, nullptr); });
  EXPECT_THAT(text, HasSubstr("cuStreamQuery_ptsz(hStream = null stream)"));
  EXPECT_THAT(
      text,
      HasSubstr("An expectation exists for cuStreamQuery: one file was compiled with per-thread default"));
}

TEST(Unset, Another_ABI_that_has_an_expectation_is_named) {
  MockDriver mock;
  EXPECT_CALL(mock, cuMemFree).Times(0);
  Driver &driver = mock;
#undef cuMemFree
  const std::string text = failures_of([&] { driver.cuMemFree(0x10); });
#define cuMemFree cuMemFree_v2
  EXPECT_THAT(text, HasSubstr("An expectation exists for cuMemFree_v2: the ABI of CUDA 3.2"));
}

TEST(Unset, What_is_allowed_returns_the_given_code_and_fails_nothing) {
  MockDriver mock;
  mock.allow_unset(CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_CALL(mock, cuInit(0)).WillOnce(Returns(CUDA_SUCCESS));
  const std::string text = failures_of([&] {
    EXPECT_EQ(mock.driver().cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(mock.driver().cuCtxSynchronize(), CUDA_ERROR_NOT_SUPPORTED);
  });
  EXPECT_THAT(text, IsEmpty());
}

TEST(Ended, A_call_to_an_ended_mock_fails_the_test_and_is_deinitialized) {
  Driver *driver = nullptr;
  {
    MockDriver mock;
    driver = &mock.driver();
  }
  CUresult result = CUDA_SUCCESS;
  const std::string text = failures_of([&] { result = driver->cuCtxSynchronize(); });
  EXPECT_EQ(result, CUDA_ERROR_DEINITIALIZED);
  EXPECT_THAT(text, HasSubstr("cuCtxSynchronize was called on the mock driver, which was destroyed"));
}

TEST(Ended, A_mock_that_ends_inside_its_own_call_ends_the_program) {
  EXPECT_DEATH(
      {
        auto *mock = new MockDriver;
        EXPECT_CALL(*mock, cuInit).WillOnce([&](unsigned) {
          delete mock;
          return CUDA_SUCCESS;
        });
        mock->driver().cuInit(0);
      },
      "the mock driver is destroyed by a thread that is inside one of its calls");
}

TEST(OlderDriver, It_lacks_later_entry_points) {
  MockDriver mock(11020);
  EXPECT_EQ(mock.driver().version(), 11020);
  EXPECT_TRUE(mock.driver().supports("cuMemAllocAsync", 11020));
  EXPECT_FALSE(mock.driver().supports<&cuCtxGetExecAffinity>());
  EXPECT_EQ(mock.driver().cuCtxGetExecAffinity(nullptr, CU_EXEC_AFFINITY_TYPE_SM_COUNT),
            CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND);
}

TEST(OlderDriver, Expecting_a_later_entry_point_fails_the_test_at_once) {
  MockDriver mock(11020);
  const std::string text = failures_of([&] { EXPECT_CALL(mock, cuCtxGetExecAffinity).Times(0); });
  EXPECT_THAT(text,
              HasSubstr("emulates CUDA 11.2, which does not have cuCtxGetExecAffinity; CUDA 11.4 added it"));
}

}  // namespace
}  // namespace cushim::mock
