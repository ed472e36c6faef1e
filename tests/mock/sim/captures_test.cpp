// SPDX-License-Identifier: Apache-2.0
// Rules of stream capture that an H200 (driver 580) showed in random programs.
#include "graph_calls.hpp"
#include "support/ptx_header.hpp"
#include "support/structures.hpp"

#if CUDA_VERSION >= 12030

namespace cushim::sim {
namespace {

constexpr CUstreamCaptureMode kGlobal = CU_STREAM_CAPTURE_MODE_GLOBAL;
constexpr CUstreamCaptureMode kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;

constexpr const char *kPtx = CUSHIM_PTX_HEADER R"(
.visible .entry nothing(.param .u64 to, .param .u32 value) { ret; }
)";

struct Captures : ::testing::Test {
  // Returns a stream that captures.
  CUstream capturing(CUstreamCaptureMode mode = kRelaxed) const {
    const CUstream stream = running.stream();
    need(driver().cuStreamBeginCapture(stream, mode));
    return stream;
  }
  static CUstreamCaptureStatus status(CUstream stream) {
    CUstreamCaptureStatus found{};
    need(driver().cuStreamIsCapturing(stream, &found));
    return found;
  }
  // Returns a kernel with 12 bytes of parameters.
  CUfunction kernel() const { return test::kernel_of(test::loaded_module(kPtx), "nothing"); }
  // Launches a kernel with blocks of this number of threads.
  static CUresult launch(CUfunction kernel, CUstream stream, void **pointers, void **extra = nullptr,
                         unsigned threads = 32) {
    return driver().cuLaunchKernel(kernel, 1, 1, 1, threads, 1, 1, 0, stream, pointers, extra);
  }
  static CUgraphExec waiting_for(CUevent event) {
    const CUgraph graph = make_graph();
    CUgraphNode node = nullptr;
    need(driver().cuGraphAddEventWaitNode(&node, graph, nullptr, 0, event));
    return instantiate(graph);
  }
  // Invalidates the capture of a stream.
  void invalidate(CUstream stream) const {
    const CUgraphExec executable = instantiate(make_graph());
    EXPECT_EQ(driver().cuGraphLaunch(executable, stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(status(stream), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  }

  Running running;
};

TEST_F(Captures, To_a_graph_destroy_it_if_they_end_invalid) {
  const CUgraph graph = make_graph();
  const CUstream stream = running.stream();
  need(driver().cuStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, kRelaxed));
  invalidate(stream);
  std::size_t count = 0;
  EXPECT_EQ(driver().cuGraphGetNodes(graph, nullptr, &count), CUDA_SUCCESS);
  CUgraph ended = nullptr;
  EXPECT_EQ(driver().cuStreamEndCapture(stream, &ended), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(ended, nullptr);
  EXPECT_EQ(driver().cuGraphGetNodes(graph, nullptr, &count), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Captures, That_are_global_forbid_allocations_of_no_bytes) {
  const CUstream stream = capturing(kGlobal);
  CUdeviceptr address = 1;
  EXPECT_EQ(driver().cuMemAllocAsync(&address, 0, running.stream()), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(status(stream), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
}

TEST_F(Captures, Stay_valid_after_a_launch_without_its_parameters) {
  const CUfunction nothing = kernel();
  const CUstream stream = capturing();
  char bytes[16] = {};
  std::size_t size = sizeof bytes;
  void *too_many[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, bytes, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                      CU_LAUNCH_PARAM_END};
  EXPECT_EQ(launch(nothing, stream, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(nothing, stream, nullptr, too_many), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(status(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(launch(nothing, running.stream(), nullptr, too_many), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  void *pointers[] = {bytes, bytes};
  EXPECT_EQ(launch(nothing, stream, pointers, nullptr, 2000), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(status(stream), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
}

TEST_F(Captures, Are_invalid_after_a_launch_with_a_cluster_that_does_not_divide_the_grid) {
  const CUfunction nothing = kernel();
  char bytes[8] = {};
  void *pointers[] = {bytes, bytes};
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim = {0, 1, 1};
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.hStream = capturing();
  config.attrs = &attribute;
  config.numAttrs = 1;
  EXPECT_EQ(driver().cuLaunchKernelEx(&config, nothing, pointers, nullptr), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(status(config.hStream), CU_STREAM_CAPTURE_STATUS_ACTIVE);  // an attribute alone
  attribute.value.clusterDim = {2, 1, 1};
  EXPECT_EQ(driver().cuLaunchKernelEx(&config, nothing, pointers, nullptr), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(status(config.hStream), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  EXPECT_EQ(driver().cuLaunchKernelEx(&config, nothing, pointers, nullptr),
            CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(Captures, That_are_invalid_are_an_error_before_a_null_function) {
  const CUstream stream = capturing();
  EXPECT_EQ(launch(nullptr, stream, nullptr), CUDA_ERROR_INVALID_HANDLE);
  invalidate(stream);
  EXPECT_EQ(launch(nullptr, stream, nullptr), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  need(driver().cuStreamBeginCapture(CU_STREAM_PER_THREAD, kRelaxed));
  invalidate(CU_STREAM_PER_THREAD);
  EXPECT_EQ(launch(kernel(), CU_STREAM_PER_THREAD, nullptr), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(Captures, Of_an_event_are_joined_by_the_launch_of_a_graph_that_waits_for_it) {
  const CUevent event = running.event();
  const CUgraphExec executable = waiting_for(event);
  const CUstream origin = capturing(), stream = running.stream();
  need(driver().cuEventRecord(event, origin));
  EXPECT_EQ(driver().cuGraphLaunch(executable, stream), CUDA_SUCCESS);
  EXPECT_EQ(status(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CUgraph ended = nullptr;
  EXPECT_EQ(driver().cuStreamEndCapture(stream, &ended), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
}

TEST_F(Captures, Of_an_event_are_invalid_after_a_graph_waits_for_it_in_the_legacy_stream) {
  const CUevent event = running.event();
  const CUgraphExec executable = waiting_for(event);
  const CUstream origin = capturing();
  need(driver().cuEventRecord(event, origin));
  EXPECT_EQ(driver().cuGraphLaunch(executable, nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(status(origin), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
}

TEST_F(Captures, Of_launches_keep_their_attributes_and_the_priority_of_the_stream) {
  CUstream stream = nullptr;
  need(driver().cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -2));
  need(driver().cuStreamBeginCapture(stream, kRelaxed));
  CUlaunchAttribute domain{};
  domain.id = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
  domain.value.memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
  const CUlaunchConfig config = test::launch_of_one_thread(stream, domain);
  CUdeviceptr to = 0;
  unsigned value = 0;
  void *parameters[] = {&to, &value};
  need(driver().cuLaunchKernelEx(&config, kernel(), parameters, nullptr));
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  std::size_t count = 1;
  need(driver().cuStreamEndCapture(stream, &graph));
  need(driver().cuGraphGetNodes(graph, &node, &count));
  const auto attribute = [&](CUlaunchAttributeID id) {
    int found[2] = {0x55555555, 0x55555555};
    EXPECT_EQ(
        driver().cuGraphKernelNodeGetAttribute(node, id, reinterpret_cast<CUlaunchAttributeValue *>(found)),
        CUDA_SUCCESS);
    EXPECT_EQ(found[1], 0x55555555) << "is not written";
    return found[0];
  };
  EXPECT_EQ(attribute(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN), CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE);
  EXPECT_EQ(attribute(CU_LAUNCH_ATTRIBUTE_PRIORITY), -2);
  EXPECT_EQ(attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE),
            CU_CLUSTER_SCHEDULING_POLICY_SPREAD);
}

TEST_F(Captures, Are_invalid_after_calls_for_sparse_arrays_and_compressed_memory) {
  const auto invalidates = [this](const auto &make_call) {
    const CUstream stream = capturing();
    EXPECT_EQ(make_call(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(status(stream), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  };
  invalidates([](CUstream stream) {
    CUarrayMapInfo mapping{};
    return driver().cuMemMapArrayAsync(&mapping, 1, stream);
  });
#if CUDA_VERSION >= 12060
  invalidates([](CUstream stream) {
    CUmemDecompressParams compressed{};
    return driver().cuMemBatchDecompressAsync(&compressed, 1, 0, nullptr, stream);
  });
#endif
}

TEST_F(Captures, Keep_work_joined_when_its_dependencies_are_replaced) {
  const CUdeviceptr memory = running.memory();
  for (const bool is_joined : {false, true}) {
    const CUstream stream = capturing(), fork = running.stream();
    const CUevent event = running.event(CU_EVENT_DISABLE_TIMING);
    need(driver().cuMemsetD32Async(memory, 1, 1, stream));
    need(driver().cuEventRecord(event, stream));
    need(driver().cuStreamWaitEvent(fork, event, 0));
    need(driver().cuMemsetD32Async(memory, 2, 1, fork));
    need(driver().cuEventRecord(event, fork));
    if (is_joined) need(driver().cuStreamWaitEvent(stream, event, 0));
    need(exact::cuStreamUpdateCaptureDependencies_v11030(driver())(stream, nullptr, 0,
                                                                   CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    CUgraph made = nullptr;
    EXPECT_EQ(driver().cuStreamEndCapture(stream, &made),
              is_joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  }
}

}  // namespace
}  // namespace cushim::sim

#endif
