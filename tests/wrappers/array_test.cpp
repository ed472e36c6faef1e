// SPDX-License-Identifier: Apache-2.0
// Arrays in a given context and on a device. described_functions.hpp has the other calls.
#include <gmock/gmock.h>

#include "recording_driver.hpp"

namespace cushim::test {
namespace {

using testing::ElementsAre;

TEST(Array, Is_allocated_in_a_given_context) {
  Recording recording;
  { const auto array = Array::create(context_c1(), {.width = 4}); }
  EXPECT_THAT(recording.calls(), ElementsAre("cuCtxPushCurrent_v2(0xc1)", "cuArrayCreate_v2(&, &)",
                                             "cuCtxPopCurrent_v2(&)", "cuArrayDestroy(null)"));
  { const auto array = MipmappedArray::create(context_c1(), {.width = 4}, 2); }
  EXPECT_THAT(recording.calls(), ElementsAre("cuCtxPushCurrent_v2(0xc1)", "cuMipmappedArrayCreate(&, &, 2)",
                                             "cuCtxPopCurrent_v2(&)", "cuMipmappedArrayDestroy(null)"));
}

TEST(Array, Retains_the_primary_context_of_a_given_device) {
  Recording recording;
  { const auto array = Array::create(device_3(), {.width = 4}); }
  EXPECT_THAT(recording.calls(), ElementsAre("cuDevicePrimaryCtxRetain(&, 3)", "cuCtxPushCurrent_v2(0xc0)",
                                             "cuArrayCreate_v2(&, &)", "cuCtxPopCurrent_v2(&)",
                                             "cuArrayDestroy(null)", "cuDevicePrimaryCtxRelease_v2(3)"));
  { const auto array = MipmappedArray::create(device_3(), {.width = 4}, 2); }
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuDevicePrimaryCtxRetain(&, 3)", "cuCtxPushCurrent_v2(0xc0)",
                          "cuMipmappedArrayCreate(&, &, 2)", "cuCtxPopCurrent_v2(&)",
                          "cuMipmappedArrayDestroy(null)", "cuDevicePrimaryCtxRelease_v2(3)"));
}

TEST(Array, That_cannot_be_allocated_leaves_nothing_behind) {
  Recording recording;
  recording.answer(Entry::cuArrayCreate_v3020, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(error_of([] { Array::create(context_c1(), {.width = 4}); }).result(), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(error_of([] { Array::create(device_3(), {.width = 4}); }).result(), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_THAT(recording.live(), testing::IsEmpty());
}

}  // namespace
}  // namespace cushim::test
