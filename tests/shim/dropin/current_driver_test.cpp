// SPDX-License-Identifier: Apache-2.0
// Unmodified code calls the current driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cushim/mock/hook.hpp>
#include <cushim/mock/mock_driver.hpp>

#include "unmodified.h"

namespace cushim::mock {
namespace {

using testing::_;

const CUfunction kFunction = reinterpret_cast<CUfunction>(0x10);
const CUstream kStream = reinterpret_cast<CUstream>(0x20);

TEST(DropIn, A_mock_gets_the_calls_of_unmodified_code) {
  MockDriver mock;
  const ScopedDriver scope(mock);
  EXPECT_CALL(mock, cuMemAlloc(_, 1024)).WillOnce(Gives(CUdeviceptr{0x1000}));
  CUdeviceptr pointer = 0;
  EXPECT_EQ(unmodified_alloc(&pointer, 1024), CUDA_SUCCESS);
  EXPECT_EQ(pointer, 0x1000u);
}

TEST(DropIn, Arguments_on_the_stack_arrive) {
  MockDriver mock;
  const ScopedDriver scope(mock);
  EXPECT_CALL(mock, cuLaunchKernel(kFunction, 1, 2, 3, 4, 5, 6, 7, kStream, nullptr, nullptr))
      .WillOnce(Returns(CUDA_ERROR_LAUNCH_FAILED));
  EXPECT_EQ(unmodified_launch(kFunction, kStream), CUDA_ERROR_LAUNCH_FAILED);
}

TEST(DropIn, Hooks_reach_unmodified_code) {
  MockDriver mock;
  const ScopedDriver scope(mock);
  const auto out_of_memory =
      hook::replace<&cuMemAlloc>(mock, [](CUdeviceptr *, size_t) { return CUDA_ERROR_OUT_OF_MEMORY; });
  CUdeviceptr pointer = 0;
  EXPECT_EQ(unmodified_alloc(&pointer, 1024), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST(DropIn, The_address_of_a_function_can_be_taken_and_follows_the_current_driver) {
  CUresult (*const init)(unsigned) = unmodified_address_of_init();
  MockDriver first;
  MockDriver second;
  EXPECT_CALL(first, cuInit(1)).WillOnce(Returns(CUDA_ERROR_NO_DEVICE));
  EXPECT_CALL(second, cuInit(1)).WillOnce(Returns(CUDA_ERROR_STUB_LIBRARY));
  const ScopedDriver first_scope(first);
  EXPECT_EQ(init(1), CUDA_ERROR_NO_DEVICE);
  const ScopedDriver second_scope(second);
  EXPECT_EQ(init(1), CUDA_ERROR_STUB_LIBRARY);
}

}  // namespace
}  // namespace cushim::mock
