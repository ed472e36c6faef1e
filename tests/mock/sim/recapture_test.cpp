// SPDX-License-Identifier: Apache-2.0
// Captures into a graph that has the nodes already, from the documentation: no real driver was asked.
#include <utility>
#include <vector>

#include "graph_calls.hpp"

#if CUDA_VERSION >= 12020

namespace cushim::sim {
namespace {

constexpr CUstreamCaptureMode kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
constexpr auto kFailure = static_cast<CUresult>(918);  // CUDA_ERROR_GRAPH_RECAPTURE_FAILURE
constexpr int kEligible = 0, kIneligible = 1;          // CUgraphRecaptureStatus

struct Recaptures : ::testing::Test {
  struct Difference {
    CUgraphNode node;
    CUgraphNodeParams before, after;
    int status;
  };

  static CUresult note(void *data, CUgraphNode node, const CUgraphNodeParams *before,
                       const CUgraphNodeParams *after, CushimGraphRecaptureStatus status) {
    auto &test = *static_cast<Recaptures *>(data);
    test.differences.push_back({node, *before, *after, status});
    return test.result_of_callback;
  }

  // Captures two memsets, the second of which sets `value`.
  void capture_work(unsigned value) const {
    need(driver().cuMemsetD32Async(memory, 1, 4, stream));
    need(driver().cuMemsetD32Async(memory + 64, value, 4, stream));
  }
  CUgraph captured(unsigned value) const {
    CUgraph made = nullptr;
    need(driver().cuStreamBeginCapture(stream, kRelaxed));
    capture_work(value);
    need(driver().cuStreamEndCapture(stream, &made));
    return made;
  }
  void begin(CUgraph graph, CushimGraphRecaptureCallback callback = note) {
    need(driver().cuStreamBeginRecaptureToGraph(stream, kRelaxed, graph, callback, this));
  }
  CUresult end(CUgraph expected) const {
    CUgraph ended = nullptr;
    const CUresult code = driver().cuStreamEndCapture(stream, &ended);
    EXPECT_EQ(ended, code == CUDA_SUCCESS ? expected : nullptr);
    return code;
  }
  // A failed recapture leaves the graph to the program.
  static void destroy(CUgraph graph) { EXPECT_EQ(driver().cuGraphDestroy(graph), CUDA_SUCCESS); }

  Running running{{.driver_version = 13050}};
  CUstream stream = running.stream();
  CUdeviceptr memory = running.memory();
  std::vector<Difference> differences;
  CUresult result_of_callback = CUDA_SUCCESS;
};

TEST_F(Recaptures, Of_the_same_work_calls_no_callback) {
  const CUgraph graph = captured(2);
  begin(graph);
  capture_work(2);
  EXPECT_EQ(end(graph), CUDA_SUCCESS);
  EXPECT_TRUE(differences.empty());
  std::size_t nodes = 0;
  need(driver().cuGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, 2u);
}

TEST_F(Recaptures, Tells_other_parameters_and_sets_them) {
  const CUgraph graph = captured(2);
  const CUgraphExec executable = instantiate(graph);
  begin(graph);
  capture_work(3);
  EXPECT_EQ(end(graph), CUDA_SUCCESS);
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(differences[0].before.type, CU_GRAPH_NODE_TYPE_MEMSET);
  EXPECT_EQ(differences[0].before.memset.value, 2u);
  EXPECT_EQ(differences[0].after.memset.value, 3u);
  EXPECT_EQ(differences[0].status, kEligible);
  CUDA_MEMSET_NODE_PARAMS now{};
  need(driver().cuGraphMemsetNodeGetParams(differences[0].node, &now));
  EXPECT_EQ(now.value, 3u);
  CUgraphExecUpdateResultInfo info{};
  need(driver().cuGraphExecUpdate(executable, graph, &info));
  need(driver().cuGraphLaunch(executable, stream));
  need(driver().cuStreamSynchronize(stream));
  EXPECT_EQ(word_at(memory + 64), 3u);
}

TEST_F(Recaptures, Sets_other_parameters_without_a_callback) {
  const CUgraph graph = captured(2);
  begin(graph, nullptr);
  capture_work(3);
  EXPECT_EQ(end(graph), CUDA_SUCCESS);
  need(driver().cuGraphLaunch(instantiate(graph), stream));
  need(driver().cuStreamSynchronize(stream));
  EXPECT_EQ(word_at(memory + 64), 3u);
}

TEST_F(Recaptures, Tells_parameters_that_an_update_cannot_set) {
  const CUgraph graph = captured(2);
  begin(graph);
  need(driver().cuMemsetD32Async(memory, 1, 4, stream));
  need(driver().cuMemsetD2D32Async(memory + 64, 32, 2, 4, 2, stream));
  EXPECT_EQ(end(graph), CUDA_SUCCESS);
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(differences[0].status, kIneligible);
}

TEST_F(Recaptures, Fails_if_the_callback_returns_an_error) {
  const CUgraph graph = captured(2);
  result_of_callback = CUDA_ERROR_UNKNOWN;
  begin(graph);
  need(driver().cuMemsetD32Async(memory, 1, 4, stream));
  EXPECT_EQ(driver().cuMemsetD32Async(memory + 64, 3, 4, stream), kFailure);
  EXPECT_EQ(driver().cuMemsetD32Async(memory + 64, 2, 4, stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(end(graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  destroy(graph);
}

TEST_F(Recaptures, Fails_for_a_node_of_another_type) {
  const CUgraph graph = captured(2);
  begin(graph);
  EXPECT_EQ(driver().cuLaunchHostFunc(
                stream, [](void *) {}, nullptr),
            kFailure);
  EXPECT_EQ(end(graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_TRUE(differences.empty());
  destroy(graph);
}

TEST_F(Recaptures, Fails_for_other_dependencies) {
  const CUgraph graph = captured(2);
  begin(graph);
  need(driver().cuMemsetD32Async(memory, 1, 4, stream));
  need(cushim::exact::cuStreamUpdateCaptureDependencies_v11030(driver())(stream, nullptr, 0,
                                                                         CU_STREAM_SET_CAPTURE_DEPENDENCIES));
  EXPECT_EQ(driver().cuMemsetD32Async(memory + 64, 2, 4, stream), kFailure);
  EXPECT_EQ(end(graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  destroy(graph);
}

TEST_F(Recaptures, Fails_for_more_nodes_and_for_fewer) {
  const CUgraph graph = captured(2), other = captured(2);
  begin(graph);
  capture_work(2);
  EXPECT_EQ(driver().cuMemsetD32Async(memory, 1, 4, stream), kFailure);
  EXPECT_EQ(end(graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin(other);
  need(driver().cuMemsetD32Async(memory, 1, 4, stream));
  EXPECT_EQ(end(other), kFailure);
  destroy(graph);
  destroy(other);
}

TEST_F(Recaptures, Gets_the_memory_of_the_allocation_node) {
  const auto capture_memory = [&](std::size_t size) {
    CUdeviceptr made = 0;
    const CUresult code = driver().cuMemAllocAsync(&made, size, stream);
    if (code == CUDA_SUCCESS) need(driver().cuMemFreeAsync(made, stream));
    return std::pair(code, made);
  };
  CUgraph graph = nullptr;
  need(driver().cuStreamBeginCapture(stream, kRelaxed));
  const CUdeviceptr made = capture_memory(4096).second;
  need(driver().cuStreamEndCapture(stream, &graph));
  begin(graph);
  EXPECT_EQ(capture_memory(4096), std::pair(CUDA_SUCCESS, made));
  EXPECT_EQ(end(graph), CUDA_SUCCESS);
  begin(graph);
  EXPECT_EQ(capture_memory(8192).first, kFailure);
  EXPECT_EQ(end(graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_TRUE(differences.empty());
  destroy(graph);
}

TEST_F(Recaptures, Releases_the_user_objects_of_the_graph) {
  const CUgraph graph = captured(2);
  int calls = 0;
  CUuserObject object = nullptr;
  need(driver().cuUserObjectCreate(
      &object, &calls, [](void *data) { ++*static_cast<int *>(data); }, 1,
      CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  need(driver().cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  begin(graph);
  capture_work(2);
  EXPECT_EQ(end(graph), CUDA_SUCCESS);
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(calls, 1);
}

TEST_F(Recaptures, Needs_a_graph_and_a_stream_that_capture_nothing) {
  const CUgraph graph = captured(2);
  const auto begin_with = [&](CUstream in, CUgraph into) {
    return driver().cuStreamBeginRecaptureToGraph(in, kRelaxed, into, nullptr, nullptr);
  };
  EXPECT_EQ(begin_with(stream, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(begin_with(CU_STREAM_LEGACY, graph), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  begin(graph);
  EXPECT_EQ(begin_with(running.stream(), graph), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(begin_with(stream, make_graph()), CUDA_ERROR_ILLEGAL_STATE);
  capture_work(2);
  EXPECT_EQ(end(graph), CUDA_SUCCESS);
}

}  // namespace
}  // namespace cushim::sim

#endif
