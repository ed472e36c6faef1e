// SPDX-License-Identifier: Apache-2.0
// Checks of arguments, as measured on an H200 with driver 580: by calls with one word of a parameter changed.
#include <cstring>
#include <string>

#include "graph_calls.hpp"
#include "support/structures.hpp"

#if CUDA_VERSION >= 13000

namespace cushim::sim {
namespace {

CUcontext current() {
  CUcontext context = nullptr;
  need(driver().cuCtxGetCurrent(&context));
  return context;
}

CUfunction function(const char *parameters = "") {
  const std::string code =
      std::string(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry run(") + parameters +
      ") { ret; }\n";
  return test::kernel_of(test::loaded_module(code), "run");
}

CUDA_KERNEL_NODE_PARAMS one_thread() { return test::node_of_one_thread(function(), nullptr); }

CUDA_MEMSET_NODE_PARAMS rows_at(CUdeviceptr to) {
  CUDA_MEMSET_NODE_PARAMS made = test::memset_node(to, 0, 16, 4);
  made.pitch = 128;
  made.height = 2;
  return made;
}

TEST(ArgumentChecks, Memsets_of_rows_in_executable_graphs_change_their_value_alone) {
  const Running running;
  const CUgraph graph = make_graph();
  CUDA_MEMSET_NODE_PARAMS with = rows_at(running.memory());
  CUgraphNode node = nullptr;
  need(driver().cuGraphAddMemsetNode(&node, graph, nullptr, 0, &with, current()));
  const CUgraphExec executable = instantiate(graph);
  with.value = 7;
  EXPECT_EQ(driver().cuGraphExecMemsetNodeSetParams(executable, node, &with, current()), CUDA_SUCCESS);
  need(driver().cuGraphLaunch(executable, nullptr));
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(word_at(with.dst + 128), 7u);
  with.width = 8;
  EXPECT_EQ(driver().cuGraphExecMemsetNodeSetParams(executable, node, &with, current()),
            CUDA_ERROR_INVALID_VALUE);
}

TEST(ArgumentChecks, Copies_of_rows_in_executable_graphs_keep_each_byte_of_their_parameters) {
  const Running running;
  const CUgraph graph = make_graph();
  CUDA_MEMCPY3D with{};
  with.srcMemoryType = with.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  with.srcDevice = running.memory();
  with.dstDevice = running.memory();
  with.srcPitch = with.dstPitch = 128;
  with.WidthInBytes = 64;
  with.Height = 4;
  with.Depth = 1;
  CUgraphNode node = nullptr;
  need(driver().cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &with, current()));
  const CUgraphExec executable = instantiate(graph);
  EXPECT_EQ(driver().cuGraphExecMemcpyNodeSetParams(executable, node, &with, current()), CUDA_SUCCESS);
  with.srcLOD = 1;  // has no effect
  EXPECT_EQ(driver().cuGraphExecMemcpyNodeSetParams(executable, node, &with, current()),
            CUDA_ERROR_INVALID_VALUE);
}

TEST(ArgumentChecks, Nodes_of_kernels_without_parameters_do_not_read_extra_options) {
  const Running running;
  const CUgraph graph = make_graph();
  CUDA_KERNEL_NODE_PARAMS with = one_thread();
  with.extra = reinterpret_cast<void **>(std::uintptr_t{1});
  CUgraphNode node = nullptr;
  EXPECT_EQ(driver().cuGraphAddKernelNode(&node, graph, nullptr, 0, &with), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuGraphKernelNodeSetParams(node, &with), CUDA_SUCCESS);
}

TEST(ArgumentChecks, Nodes_need_unused_bytes_that_are_0) {
  const Running running;
  const CUgraph graph = make_graph();
  CUgraphNodeParams with{};
  with.type = CU_GRAPH_NODE_TYPE_HOST;
  with.host.fn = [](void *) {};
  CUgraphNode node = nullptr;
  EXPECT_EQ(driver().cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &with), CUDA_SUCCESS);
  with.reserved1[10] = 1;
  EXPECT_EQ(driver().cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &with), CUDA_ERROR_INVALID_VALUE);
  with = {};
  with.type = CU_GRAPH_NODE_TYPE_KERNEL;  // without a function, which is another error
  with.reserved1[20] = 1;
  EXPECT_EQ(driver().cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &with), CUDA_ERROR_INVALID_VALUE);
  with = {};
  with.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  with.memcpy.copyCtx = current();
  with.memcpy.copyParams.srcMemoryType = with.memcpy.copyParams.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  with.memcpy.copyParams.srcDevice = with.memcpy.copyParams.dstDevice = running.memory();
  with.memcpy.copyParams.WidthInBytes = with.memcpy.copyParams.Height = with.memcpy.copyParams.Depth = 1;
  EXPECT_EQ(driver().cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &with), CUDA_SUCCESS);
  with.memcpy.flags = 1;
  EXPECT_EQ(driver().cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &with), CUDA_ERROR_INVALID_VALUE);
}

TEST(ArgumentChecks, Allocations_of_graphs_need_reserved_bytes_that_are_0_and_handle_types_of_the_system) {
  const Running running;
  const CUgraph graph = make_graph();
  CUDA_MEM_ALLOC_NODE_PARAMS with = test::allocation_node(4096);
  CUgraphNode node = nullptr;
  with.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  EXPECT_EQ(driver().cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &with), CUDA_ERROR_NOT_SUPPORTED);
  with.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_WIN32;
  EXPECT_EQ(driver().cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &with), CUDA_ERROR_INVALID_VALUE);
  with.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
  with.poolProps.reserved[2] = 1;
  EXPECT_EQ(driver().cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &with), CUDA_ERROR_INVALID_VALUE);
}

TEST(ArgumentChecks, The_first_condition_of_a_graph_has_handle_1_and_no_upper_half) {
  const Running running;
  for (int i = 0; i < 2; ++i) {
    const CUgraph graph = make_graph();
    CUgraphConditionalHandle handle = 0;
    EXPECT_EQ(driver().cuGraphConditionalHandleCreate(&handle, graph, current(), 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(handle, 1u);
    CUgraphNodeParams with = test::conditional_node(handle | (CUgraphConditionalHandle{1} << 32),
                                                    CU_GRAPH_COND_TYPE_IF, 1, current());
    CUgraphNode node = nullptr;
    EXPECT_EQ(driver().cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &with), CUDA_ERROR_INVALID_VALUE);
    need(driver().cuGraphDestroy(graph));
  }
}

TEST(ArgumentChecks, Attributes_of_kernel_nodes_may_be_no_cluster_and_no_updates_by_kernels) {
  const Running running;
  const CUgraph graph = make_graph();
  const CUDA_KERNEL_NODE_PARAMS with = one_thread();
  CUgraphNode node = nullptr;
  need(driver().cuGraphAddKernelNode(&node, graph, nullptr, 0, &with));
  CUkernelNodeAttrValue value{};
  EXPECT_EQ(driver().cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value),
            CUDA_SUCCESS);
  EXPECT_EQ(
      driver().cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value),
      CUDA_SUCCESS);
  value.clusterDim.x = 1;
  EXPECT_EQ(driver().cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value),
            CUDA_ERROR_INVALID_CLUSTER_SIZE);
}

TEST(ArgumentChecks, Graphs_hold_less_than_2_to_the_31_references_of_a_user_object) {
  const Running running;
  const CUgraph graph = make_graph();
  CUuserObject object = nullptr;
  need(driver().cuUserObjectCreate(
      &object, nullptr, [](void *) {}, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  EXPECT_EQ(driver().cuGraphRetainUserObject(graph, object, 0xffffffff, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuGraphRetainUserObject(graph, object, 0x7fffffff, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuGraphReleaseUserObject(graph, object, 0xffffffff), CUDA_ERROR_INVALID_VALUE);
}

TEST(ArgumentChecks, Streams_have_one_of_two_memory_domains_and_need_no_place_for_their_context) {
  const Running running;
  const CUstream stream = running.stream();
  CUstreamAttrValue value{};
  std::memset(&value, 2, 4);
  EXPECT_EQ(driver().cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &value),
            CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &value),
            CUDA_ERROR_INVALID_VALUE);
  std::memset(&value, 0xff, 4);
  EXPECT_EQ(driver().cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &value),
            CUDA_ERROR_INVALID_VALUE);
  CUgreenCtx green = nullptr;
  EXPECT_EQ(driver().cuStreamGetCtx_v2(stream, nullptr, &green), CUDA_SUCCESS);
}

TEST(ArgumentChecks, The_edges_of_a_capture_are_returned_with_its_dependencies) {
  const Running running;
  const CUstream stream = running.stream();
  need(driver().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUgraphEdgeData *edges = nullptr;
  std::size_t count = 9;
  EXPECT_EQ(driver().cuStreamGetCaptureInfo(stream, &status, nullptr, nullptr, nullptr, &edges, &count),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(count, 9u);
}

TEST(ArgumentChecks, Calls_without_a_context_fail_before_their_other_arguments) {
  const Running running;
  const CUfunction run = function();
  need(driver().cuCtxSetCurrent(nullptr));
  EXPECT_EQ(driver().cuLaunch(nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(driver().cuLaunchGridAsync(run, 0, 0, nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(driver().cuParamSetTexRef(nullptr, 0, nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(driver().cuCtxSetSharedMemConfig(static_cast<CUsharedconfig>(3)), CUDA_ERROR_INVALID_CONTEXT);
}

TEST(ArgumentChecks, Sizes_of_shared_memory_and_of_parameters_wrap_at_32_bits) {
  const Running running;
  const CUfunction run = function();
  int blocks = 0;
  int of_none = 0;
  need(driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&of_none, run, 128, 0));
  for (const std::size_t bytes : {std::size_t{1} << 50, ~std::size_t{0}}) {
    need(driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, run, 128, bytes));
    EXPECT_EQ(blocks, of_none);
  }
  EXPECT_EQ(driver().cuLaunchCooperativeKernel(run, 1, 1, 1, 1, 1, 1, 0xffffffff, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuLaunchCooperativeKernel(run, 1, 1, 1, 1, 1, 1, 0x80000000, nullptr, nullptr),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  EXPECT_EQ(driver().cuParamSetSize(run, 0xfffffffe), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuParamSetSize(run, 0x80000000), CUDA_ERROR_INVALID_VALUE);
}

TEST(ArgumentChecks, Blocks_of_clusters_have_extents_below_2_to_the_31) {
  const Running running;
  CUlaunchConfig with{};
  with.gridDimX = with.gridDimY = with.gridDimZ = with.blockDimX = with.blockDimY = 1;
  with.blockDimZ = 0xffffffff;
  int clusters = 0;
  const CUfunction run = function();
  EXPECT_EQ(driver().cuOccupancyMaxActiveClusters(&clusters, run, &with), CUDA_ERROR_INVALID_VALUE);
  with.blockDimZ = 0x7fffffff;
  EXPECT_EQ(driver().cuOccupancyMaxActiveClusters(&clusters, run, &with), CUDA_SUCCESS);
}

TEST(ArgumentChecks, Splits_need_a_resource_as_the_driver_made_it_and_ignore_unknown_flags) {
  const Running running;
  CUdevResource whole{};
  need(driver().cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
  const auto split = [](const CUdevResource &resource, unsigned flags) {
    unsigned groups = 1;
    return driver().cuDevSmResourceSplitByCount(nullptr, &groups, &resource, nullptr, flags, 8);
  };
  EXPECT_EQ(split(whole, 4), CUDA_SUCCESS);
  EXPECT_EQ(split(whole, 3), CUDA_ERROR_INVALID_VALUE);
  for (std::size_t at = sizeof whole.type; at < sizeof whole; ++at) {
    CUdevResource changed = whole;
    reinterpret_cast<unsigned char *>(&changed)[at] ^= 1;
    EXPECT_EQ(split(changed, 0), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION) << at;
  }
}

}  // namespace
}  // namespace cushim::sim

#endif
