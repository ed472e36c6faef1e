// SPDX-License-Identifier: Apache-2.0
// Two streams share a frame; an event marks that the frame is complete.
#include <cushim/testing.hpp>

namespace {

using cushim::driver;
using cushim::testing::Hold;
using cushim::testing::hold;

class Frames : public ::testing::Test {
 protected:
  void SetUp() override {
    CUSHIM_NEEDS(gpus(1));
    ASSERT_EQ(driver().cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(driver().cuCtxSetCurrent(context), CUDA_SUCCESS);
    ASSERT_EQ(driver().cuStreamCreate(&producer, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(driver().cuStreamCreate(&consumer, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(driver().cuEventCreate(&done, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  }
  CUcontext context = nullptr;
  CUstream producer = nullptr, consumer = nullptr;
  CUevent done = nullptr;
};

TEST_F(Frames, Are_not_consumed_before_they_are_produced) {
  Hold held = hold(producer);
  ASSERT_EQ(driver().cuEventRecord(done, producer), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuStreamWaitEvent(consumer, done, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamQuery(consumer), CUDA_ERROR_NOT_READY);
  held.release();
  EXPECT_EQ(driver().cuStreamSynchronize(consumer), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuEventQuery(done), CUDA_SUCCESS);
}

TEST_F(Frames, Are_given_to_another_gpu) {
  CUSHIM_NEEDS(gpus(2), peer);
  int can = 0;
  ASSERT_EQ(driver().cuDeviceCanAccessPeer(&can, 0, 1), CUDA_SUCCESS);
  EXPECT_EQ(can, 1);
}

}  // namespace
