// SPDX-License-Identifier: Apache-2.0
// Events that a launch records by its attributes.
#include "graph_calls.hpp"
#include "support/empty_kernel.hpp"
#include "support/structures.hpp"

#if CUDA_VERSION >= 12030

namespace cushim::sim {
namespace {

class LaunchEvents : public ::testing::Test {
 protected:
  CUresult launch(CUstream stream, CUlaunchAttributeID which, CUevent event) const {
    CUlaunchAttribute attribute{};
    attribute.id = which;
    if (which == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)
      attribute.value.programmaticEvent.event = event;
    else
      attribute.value.launchCompletionEvent.event = event;
    const CUlaunchConfig config = test::launch_of_one_thread(stream, attribute);
    return driver().cuLaunchKernelEx(&config, test::empty_kernel(), nullptr, nullptr);
  }

  Running running{Options{.devices = "h200x2", .schedule = Schedule::stepped}};
};

TEST_F(LaunchEvents, Complete_with_the_kernel) {
  for (const auto which :
       {CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT}) {
    const CUevent event = running.event(CU_EVENT_DISABLE_TIMING);
    const CUstream stream = running.stream();
    EXPECT_EQ(launch(stream, which, event), CUDA_SUCCESS);
    EXPECT_EQ(driver().cuEventQuery(event), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(driver().cuEventSynchronize(event), CUDA_SUCCESS);
    EXPECT_EQ(driver().cuStreamQuery(stream), CUDA_SUCCESS);
  }
}

TEST_F(LaunchEvents, Of_another_context_or_of_other_processes_are_refused) {
  const auto which = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
  EXPECT_EQ(launch(running.stream(), which, running.event(CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS)),
            CUDA_ERROR_NOT_SUPPORTED);
  const CUstream stream = running.stream();
  CUcontext primary = nullptr, other = nullptr;
  need(driver().cuCtxGetCurrent(&primary));
  need(driver().cuDevicePrimaryCtxRetain(&other, 1));
  need(driver().cuCtxSetCurrent(other));
  const CUevent event = running.event(CU_EVENT_DISABLE_TIMING);
  need(driver().cuCtxSetCurrent(primary));
  EXPECT_EQ(launch(stream, which, event), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(LaunchEvents, Of_a_captured_kernel_are_edges_from_its_port) {
  const CUevent event = running.event(CU_EVENT_DISABLE_TIMING);
  const CUstream stream = running.stream(), other = running.stream();
  need(driver().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_EQ(launch(stream, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, event), CUDA_SUCCESS);
  need(driver().cuStreamWaitEvent(other, event, 0));
  CUstreamCaptureStatus status{};
  const CUgraphNode *nodes = nullptr;
  const CUgraphEdgeData *edges = nullptr;
  std::size_t count = 0;
  need(driver().cuStreamGetCaptureInfo_v3(other, &status, nullptr, nullptr, &nodes, &edges, &count));
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(edges[0].from_port, CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER);
  EXPECT_EQ(edges[0].type, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
}

}  // namespace
}  // namespace cushim::sim

#endif
