// SPDX-License-Identifier: Apache-2.0
// Stream capture: how calls become a graph, arguments, and captures in progress.
#include "capture.hpp"

#if CONFORMANCE_HAS_GRAPHS

namespace conformance {
namespace {

TEST_F(Captures, Of_no_calls_are_empty_graphs) {
  const CUstream work = stream();
  EXPECT_ANSWER(driver().cuStreamBeginCapture(work, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_VALUE(status(work), kActive);
  EXPECT_ANSWER(driver().cuStreamEndCapture(work, &graph_out), CUDA_SUCCESS);
  EXPECT_VALUE(status(work), kNone);
  EXPECT_VALUE(node_count(graph_out), std::size_t{0});
}
TEST_F(Captures, Chain_the_calls_of_a_stream) {
  const CUdeviceptr to = memory();
  const CUstream work = capturing();
  EXPECT_ANSWER(driver().cuMemsetD8Async(to, 1, 16, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemsetD8Async(to, 2, 16, work), CUDA_SUCCESS);
  const CUgraph g = end(work);
  EXPECT_VALUE(node_count(g), std::size_t{2});
  EXPECT_VALUE(edge_count(g), std::size_t{1});
}
TEST_F(Captures, Do_not_run_the_calls) {
  const CUdeviceptr to = memory();
  unsigned char value = 0;
  NEED(driver().cuMemsetD8(to, 7, 1));
  const CUstream work = capturing();
  NEED(driver().cuMemsetD8Async(to, 1, 1, work));
  const CUgraph g = end(work);
  NEED(driver().cuMemcpyDtoH(&value, to, 1));
  EXPECT_VALUE(int{value}, 7);
  EXPECT_ANSWER(run(executable(g)), CUDA_SUCCESS);
  NEED(driver().cuMemcpyDtoH(&value, to, 1));
  EXPECT_VALUE(int{value}, 1);
}

// ---- Arguments ----

STATEMENT(Captures, The_null_stream_is_not_captured,
          driver().cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED),
          CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
STATEMENT(Captures, The_legacy_stream_is_not_captured,
          driver().cuStreamBeginCapture(legacy(), CU_STREAM_CAPTURE_MODE_RELAXED),
          CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
TEST_F(Captures, The_per_thread_stream_is_captured) {
  EXPECT_ANSWER(driver().cuStreamBeginCapture(per_thread(), CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamEndCapture(per_thread(), &graph_out), CUDA_SUCCESS);
}
TEST_F(Captures, Of_an_unknown_mode) {
  EXPECT_ANSWER(driver().cuStreamBeginCapture(stream(), static_cast<CUstreamCaptureMode>(3)),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Captures, That_did_not_begin_do_not_end) {
  EXPECT_ANSWER(driver().cuStreamEndCapture(stream(), &graph_out), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_ANSWER(driver().cuStreamEndCapture(legacy(), &graph_out), CUDA_ERROR_ILLEGAL_STATE);
}
TEST_F(Captures, End_without_an_output) {
  const CUstream work = capturing();
  EXPECT_ANSWER(driver().cuStreamEndCapture(work, nullptr), CUDA_SUCCESS);
  EXPECT_VALUE(status(work), kNone);
}
TEST_F(Captures, The_status_of_the_legacy_stream) {
  CUstreamCaptureStatus found = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  EXPECT_ANSWER(driver().cuStreamIsCapturing(legacy(), &found), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamIsCapturing(legacy(), nullptr), CUDA_ERROR_INVALID_VALUE);
  const CUstream blocking = capturing(CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_DEFAULT);
  EXPECT_ANSWER(driver().cuStreamIsCapturing(legacy(), &found), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_VALUE(status(blocking), kActive);
}

// ---- Captures in progress ----

TEST_F(Captures, In_progress_tell_graph_and_dependencies) {
  make_objects();
  const CUstream work = capturing();
  EXPECT_VALUE(int{info_of(work).status}, kActive);
  EXPECT_VALUE(info_of(work).id != 0, true);
  EXPECT_VALUE(info_of(work).graph != nullptr, true);
  EXPECT_VALUE(info_of(work).dependencies.size(), std::size_t{0});
  NEED(driver().cuMemsetD8Async(objects.memory, 1, 1, work));
  EXPECT_VALUE(info_of(work).dependencies.size(), std::size_t{1});
  EXPECT_VALUE(node_count(info_of(work).graph), std::size_t{1});
  const CUgraph during = info_of(work).graph;
  EXPECT_VALUE(end(work) == during, true);
}
TEST_F(Captures, That_do_not_exist_have_no_graph) {
  const Info info = info_of(stream());
  EXPECT_VALUE(int{info.status}, kNone);
  EXPECT_VALUE(info.graph == nullptr, true);
}
TEST_F(Captures, Take_nodes_that_the_program_adds) {
  make_objects();
  const CUstream work = capturing();
  NEED(driver().cuMemsetD8Async(objects.memory, 1, 1, work));
  const CUgraph g = info_of(work).graph;
  CUgraphNode added = empty(g, info_of(work).dependencies);
  EXPECT_ANSWER(driver().cuStreamUpdateCaptureDependencies(work, &added, nullptr, 1,
                                                           CU_STREAM_SET_CAPTURE_DEPENDENCIES),
                CUDA_SUCCESS);
  EXPECT_VALUE(info_of(work).dependencies == Nodes{added}, true);
  CUgraphNode more = empty(g);
  EXPECT_ANSWER(
      driver().cuStreamUpdateCaptureDependencies(work, &more, nullptr, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES),
      CUDA_SUCCESS);
  EXPECT_VALUE(info_of(work).dependencies.size(), std::size_t{2});
  NEED(driver().cuMemsetD8Async(objects.memory, 1, 1, work));
  EXPECT_VALUE(info_of(work).dependencies.size(), std::size_t{1});
  EXPECT_VALUE(edge_count(end(work)), std::size_t{3});
}
TEST_F(Captures, Leave_out_nodes_that_are_not_joined) {
  make_objects();
  const CUstream work = capturing();
  NEED(driver().cuMemsetD8Async(objects.memory, 1, 1, work));
  EXPECT_ANSWER(driver().cuStreamUpdateCaptureDependencies(work, nullptr, nullptr, 0,
                                                           CU_STREAM_SET_CAPTURE_DEPENDENCIES),
                CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamEndCapture(work, &graph_out), CUDA_SUCCESS);
  EXPECT_VALUE(graph_out != nullptr, true);
}
TEST_F(Captures, Of_dependencies_of_a_stream_that_does_not_capture) {
  EXPECT_ANSWER(driver().cuStreamUpdateCaptureDependencies(stream(), nullptr, nullptr, 0,
                                                           CU_STREAM_SET_CAPTURE_DEPENDENCIES),
                CUDA_ERROR_ILLEGAL_STATE);
}
TEST_F(Captures, To_a_graph_append_nodes) {
  make_objects();
  const CUgraph g = graph();
  const CUgraphNode first = empty(g);
  const CUstream work = stream();
  EXPECT_ANSWER(
      driver().cuStreamBeginCaptureToGraph(work, g, &first, nullptr, 1, CU_STREAM_CAPTURE_MODE_RELAXED),
      CUDA_SUCCESS);
  NEED(driver().cuMemsetD8Async(objects.memory, 1, 1, work));
  CUgraph ended = nullptr;
  EXPECT_ANSWER(driver().cuStreamEndCapture(work, &ended), CUDA_SUCCESS);
  EXPECT_VALUE(ended == g, true);
  EXPECT_VALUE(node_count(g), std::size_t{2});
  EXPECT_VALUE(edge_count(g), std::size_t{1});
}
TEST_F(Captures, To_a_null_graph) {
  EXPECT_ANSWER(driver().cuStreamBeginCaptureToGraph(stream(), nullptr, nullptr, nullptr, 0,
                                                     CU_STREAM_CAPTURE_MODE_RELAXED),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Captures, Allocate_and_free_memory) {
  const CUstream work = capturing();
  CUdeviceptr made = 0;
  EXPECT_ANSWER(driver().cuMemAllocAsync(&made, 1024, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemsetD8Async(made, 1, 1024, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemFreeAsync(made, work), CUDA_SUCCESS);
  const CUgraph g = end(work);
  EXPECT_VALUE(node_count(g), std::size_t{3});
  const CUgraphExec e = executable(g);
  EXPECT_ANSWER(run(e), CUDA_SUCCESS);
  EXPECT_ANSWER(run(e), CUDA_SUCCESS);
}
TEST_F(Captures, Have_numbers_that_differ) {
  const CUstream first = capturing(), second = capturing();
  EXPECT_VALUE(info_of(first).id != info_of(second).id, true);
}
TEST_F(Captures, Tell_the_data_of_edges) {
  const CUdeviceptr to = memory();
  const CUstream work = capturing();
  for (int i = 0; i < 2; ++i) NEED(driver().cuMemsetD8Async(to, 1, 4, work));
  CUstreamCaptureStatus found = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUgraphNode *nodes = nullptr;
  const CUgraphEdgeData *edges = nullptr;
  std::size_t count = 0;
  NEED(driver().cuStreamGetCaptureInfo(work, &found, nullptr, nullptr, &nodes, &edges, &count));
  EXPECT_VALUE(count, std::size_t{1});
  EXPECT_VALUE(edges != nullptr, true);
  const int data = edges != nullptr ? edges[0].from_port + edges[0].to_port + edges[0].type : -1;
  EXPECT_VALUE(data, 0);
}
TEST_F(Captures, By_the_first_ABI_of_the_information) {
  CUstreamCaptureStatus found = CU_STREAM_CAPTURE_STATUS_NONE;
  EXPECT_ANSWER(
      driver().cuStreamGetCaptureInfo(stream(), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr),
      CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(
      driver().cuStreamGetCaptureInfo(capturing(), &found, nullptr, nullptr, nullptr, nullptr, nullptr),
      CUDA_SUCCESS);
}

}  // namespace
}  // namespace conformance

#endif
