// SPDX-License-Identifier: Apache-2.0
// The data of edges in stream captures.
#include "capture.hpp"

#if CONFORMANCE_HAS_GRAPHS

namespace conformance {
namespace {

class CapturedEdges : public Captures {
 protected:
  // Captures a kernel after whose programmatic port the next kernel of the stream starts.
  CUstream after_a_programmatic_port() {
    const CUstream work = capturing(CU_STREAM_CAPTURE_MODE_RELAXED);
    launch(work);
    CUstreamCaptureStatus state{};
    const CUgraphNode *nodes = nullptr;
    const CUgraphEdgeData *known = nullptr;
    std::size_t count = 0;
    EXPECT_ANSWER(driver().cuStreamGetCaptureInfo(work, &state, nullptr, &captured, &nodes, &known, &count),
                  CUDA_SUCCESS);
    node_out = *nodes;
    EXPECT_ANSWER(driver().cuStreamUpdateCaptureDependencies(work, &node_out, &data, 1,
                                                             CU_STREAM_SET_CAPTURE_DEPENDENCIES),
                  CUDA_SUCCESS);
    return work;
  }
  void launch(CUstream into) {
    CUdeviceptr to = memory();
    unsigned value = 1;
    void *arguments[] = {&to, &value};
    NEED(driver().cuLaunchKernel(kernel("write"), 1, 1, 1, 1, 1, 1, 0, into, arguments, nullptr));
  }
  // The graph has one edge, from the programmatic port.
  void expect_programmatic_edge(CUgraph g) {
    CUgraphNode from = nullptr, to = nullptr;
    CUgraphEdgeData found{};
    count = 1;
    EXPECT_ANSWER(driver().cuGraphGetEdges(g, &from, &to, &found, &count), CUDA_SUCCESS);
    EXPECT_VALUE(int{found.type}, int{CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC});
    EXPECT_VALUE(int{found.from_port}, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
  }
  const CUgraphEdgeData data{.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
                             .to_port = 0,
                             .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC,
                             .reserved = {}};
  CUgraph captured = nullptr;
};

TEST_F(CapturedEdges, Have_the_data_of_the_dependencies) {
  const CUstream work = after_a_programmatic_port();
  launch(work);
  expect_programmatic_edge(end(work));
}
TEST_F(CapturedEdges, Of_the_programmatic_port_are_programmatic) {
  const CUstream work = capturing(CU_STREAM_CAPTURE_MODE_RELAXED);
  launch(work);
  CUgraphNode last = info_of(work).dependencies.at(0);
  CUgraphEdgeData other{};
  other.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  EXPECT_ANSWER(
      driver().cuStreamUpdateCaptureDependencies(work, &last, &other, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES),
      CUDA_ERROR_INVALID_VALUE);
  other = {};
  other.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  EXPECT_ANSWER(
      driver().cuStreamUpdateCaptureDependencies(work, &last, &other, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES),
      CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(status(work), kActive);
}
TEST_F(CapturedEdges, Have_data_after_kernels_only) {
  const CUdeviceptr to = memory();
  const CUstream work = capturing(CU_STREAM_CAPTURE_MODE_RELAXED);
  NEED(driver().cuMemsetD8Async(to, 1, 4, work));
  CUgraphNode last = info_of(work).dependencies.at(0);
  EXPECT_ANSWER(
      driver().cuStreamUpdateCaptureDependencies(work, &last, &data, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES),
      CUDA_ERROR_INVALID_VALUE);
}
TEST_F(CapturedEdges, Of_a_programmatic_launch_begin_at_the_programmatic_port) {
  const CUstream work = capturing(CU_STREAM_CAPTURE_MODE_RELAXED);
  launch(work);
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  const CUlaunchConfig config = cushim::test::launch_of_one_thread(work, attribute);
  EXPECT_ANSWER(driver().cuLaunchKernelEx(&config, kernel("empty"), nullptr, nullptr), CUDA_SUCCESS);
  expect_programmatic_edge(end(work));
}
TEST_F(CapturedEdges, Are_not_returned_without_their_data) {
  const CUstream work = after_a_programmatic_port();
  CUstreamCaptureStatus state{};
  const CUgraphNode *nodes = nullptr;
  EXPECT_ANSWER(driver().cuStreamGetCaptureInfo(work, &state, nullptr, nullptr, &nodes, nullptr, &count),
                CUDA_ERROR_LOSSY_QUERY);
  launch(work);
  const CUgraph g = end(work);
  CUgraphNode from = nullptr, to = nullptr;
  count = 1;
  EXPECT_ANSWER(driver().cuGraphGetEdges(g, &from, &to, nullptr, &count), CUDA_ERROR_LOSSY_QUERY);
}

}  // namespace
}  // namespace conformance

#endif
