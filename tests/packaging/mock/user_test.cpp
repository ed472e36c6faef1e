// SPDX-License-Identifier: Apache-2.0
// A user's test of code that calls the driver, through the typed wrappers and with raw calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cushim/cushim.hpp>
#include <cushim/mock/mock_driver.hpp>

namespace {

using cushim::mock::Gives;
using cushim::mock::MockDriver;
using cushim::mock::Returns;
using testing::_;

CUresult zeroed(CUdeviceptr *memory, size_t bytes) {
  const CUresult result = cushim::driver().cuMemAlloc(memory, bytes);
  return result != CUDA_SUCCESS ? result : cushim::driver().cuMemsetD8(*memory, 0, bytes);
}

TEST(UsersTest, Memory_is_allocated_and_then_cleared) {
  MockDriver mock;
  const cushim::ScopedDriver scope(mock);
  testing::InSequence in_order;
  EXPECT_CALL(mock, cuMemAlloc(_, 256)).WillOnce(Gives(CUdeviceptr{0x1000}));
  EXPECT_CALL(mock, cuMemsetD8(0x1000, 0, 256));
  CUdeviceptr memory = 0;
  EXPECT_EQ(zeroed(&memory, 256), CUDA_SUCCESS);
}

TEST(UsersTest, Without_memory_nothing_is_cleared) {
  MockDriver mock;
  const cushim::ScopedDriver scope(mock);
  EXPECT_CALL(mock, cuMemAlloc).WillOnce(Returns(CUDA_ERROR_OUT_OF_MEMORY));
  CUdeviceptr memory = 0;
  EXPECT_EQ(zeroed(&memory, 256), CUDA_ERROR_OUT_OF_MEMORY);
}

}  // namespace
