// SPDX-License-Identifier: Apache-2.0
// Links two files with different default streams into one program. Each keeps its own, whichever of their
// inline functions the linker keeps.
#include <gmock/gmock.h>

#include "default_stream_calls.hpp"

namespace cushim::test {
namespace {

using testing::ElementsAre;

TEST(DefaultStream, Is_the_legacy_stream_in_a_file_without_the_macro) {
  EXPECT_THAT(calls_with_this_default_stream(),
              ElementsAre("cuEventRecord", "cuStreamSynchronize", "cuStreamWaitValue32_v2",
                          "cuStreamWriteValue32", "cuStreamBatchMemOp_v2", "cuStreamGetCaptureInfo_v2",
                          "cuLaunchHostFunc", "cuMemcpyHtoD_v2", "cuMemsetD32Async"));
}

TEST(DefaultStream, Is_the_per_thread_stream_in_a_file_with_the_macro) {
  EXPECT_THAT(
      calls_with_per_thread_default_stream(),
      ElementsAre("cuEventRecord_ptsz", "cuStreamSynchronize_ptsz", "cuStreamWaitValue32_v2_ptsz",
                  "cuStreamWriteValue32_ptsz", "cuStreamBatchMemOp_v2_ptsz", "cuStreamGetCaptureInfo_v2_ptsz",
                  "cuLaunchHostFunc_ptsz", "cuMemcpyHtoD_v2_ptds", "cuMemsetD32Async_ptsz"));
}

}  // namespace
}  // namespace cushim::test
