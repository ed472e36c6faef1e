// SPDX-License-Identifier: Apache-2.0
// Checks of arguments that the documentation does not describe: which members of structures are compared,
// truncated or ignored.
#include <cstring>

#include "graphs.hpp"

#if CONFORMANCE_HAS_GRAPHS

namespace conformance {
namespace {

class ArgumentChecks : public OnGraph {
 public:
  CUDA_KERNEL_NODE_PARAMS one_thread() {
    CUDA_KERNEL_NODE_PARAMS made{};
    made.func = kernel("empty");
    made.gridDimX = made.gridDimY = made.gridDimZ = 1;
    made.blockDimX = made.blockDimY = made.blockDimZ = 1;
    return made;
  }
  CUlaunchConfig block_of(unsigned depth) {
    CUlaunchConfig made{};
    made.gridDimX = made.gridDimY = made.gridDimZ = made.blockDimX = made.blockDimY = 1;
    made.blockDimZ = depth;
    return made;
  }
  CUresult cuDevSmResourceSplitByCount(const CUdevResource &resource, unsigned with_flags) {
    unsigned groups = 1;
    return driver().cuDevSmResourceSplitByCount(nullptr, &groups, &resource, nullptr, with_flags, 8);
  }

  CUgraphNodeParams any{};
  CUDA_MEM_ALLOC_NODE_PARAMS allocation{};
  CUlaunchConfig config{};
};

TEST_F(ArgumentChecks, Memsets_of_rows_in_executable_graphs_change_their_value_alone) {
  const CUgraph g = graph();
  CUDA_MEMSET_NODE_PARAMS with = set_parameters(memory(), 1, 16);
  with.pitch = 128;
  with.height = 2;
  NEED(driver().cuGraphAddMemsetNode(&node_out, g, nullptr, 0, &with, context));
  const CUgraphExec made = executable(g);
  with.value = 7;
  EXPECT_ANSWER(driver().cuGraphExecMemsetNodeSetParams(made, node_out, &with, context), CUDA_SUCCESS);
  with.width = 8;
  EXPECT_ANSWER(driver().cuGraphExecMemsetNodeSetParams(made, node_out, &with, nullptr),
                CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ArgumentChecks, Copies_of_rows_in_executable_graphs_keep_each_byte_of_their_parameters) {
  const CUgraph g = graph();
  CUDA_MEMCPY3D with = copy_parameters(memory(), pinned(), 64);
  with.Height = 2;
  with.srcPitch = with.dstPitch = 128;
  NEED(driver().cuGraphAddMemcpyNode(&node_out, g, nullptr, 0, &with, context));
  const CUgraphExec made = executable(g);
  EXPECT_ANSWER(driver().cuGraphExecMemcpyNodeSetParams(made, node_out, &with, context), CUDA_SUCCESS);
  with.srcLOD = 1;
  EXPECT_ANSWER(driver().cuGraphExecMemcpyNodeSetParams(made, node_out, &with, nullptr),
                CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ArgumentChecks, Nodes_of_kernels_without_parameters_do_not_read_extra_options) {
  CUDA_KERNEL_NODE_PARAMS with = one_thread();
  with.extra = reinterpret_cast<void **>(std::uintptr_t{1});
  EXPECT_ANSWER(driver().cuGraphAddKernelNode(&node_out, graph(), nullptr, 0, &with), CUDA_SUCCESS);
}

TEST_F(ArgumentChecks, Nodes_need_unused_bytes_that_are_0) {
  any.type = CU_GRAPH_NODE_TYPE_HOST;
  any.host.fn = [](void *) {};
  any.reserved1[10] = 1;
  EXPECT_ANSWER(driver().cuGraphAddNode(&node_out, graph(), nullptr, nullptr, 0, &any),
                CUDA_ERROR_INVALID_VALUE);
}

STATEMENT(ArgumentChecks, Allocations_of_graphs_have_handle_types_of_the_system,
          (allocation.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
           allocation.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE, allocation.bytesize = 4096,
           allocation.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_WIN32,
           driver().cuGraphAddMemAllocNode(&node_out, graph(), nullptr, 0, &allocation)),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(ArgumentChecks, Allocations_of_graphs_have_reserved_bytes_that_are_0,
          (allocation.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
           allocation.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE, allocation.bytesize = 4096,
           allocation.poolProps.reserved[2] = 1,
           driver().cuGraphAddMemAllocNode(&node_out, graph(), nullptr, 0, &allocation)),
          CUDA_ERROR_INVALID_VALUE)

TEST_F(ArgumentChecks, The_first_condition_of_a_graph_has_handle_1_and_no_upper_half) {
  const CUgraph g = graph();
  CUgraphConditionalHandle handle = 0;
  EXPECT_ANSWER(driver().cuGraphConditionalHandleCreate(&handle, g, context, 0, 0), CUDA_SUCCESS);
  EXPECT_VALUE(handle, CUgraphConditionalHandle{1});
  any.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  any.conditional.handle = handle | (CUgraphConditionalHandle{1} << 32);
  any.conditional.type = CU_GRAPH_COND_TYPE_IF;
  any.conditional.size = 1;
  any.conditional.ctx = context;
  EXPECT_ANSWER(driver().cuGraphAddNode(&node_out, g, nullptr, nullptr, 0, &any), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ArgumentChecks, Attributes_of_kernel_nodes_may_be_no_cluster_and_no_updates_by_kernels) {
  const CUDA_KERNEL_NODE_PARAMS with = one_thread();
  NEED(driver().cuGraphAddKernelNode(&node_out, graph(), nullptr, 0, &with));
  const CUkernelNodeAttrValue none{};
  EXPECT_ANSWER(
      driver().cuGraphKernelNodeSetAttribute(node_out, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &none),
      CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuGraphKernelNodeSetAttribute(
                    node_out, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &none),
                CUDA_SUCCESS);
}

TEST_F(ArgumentChecks, Graphs_hold_less_than_2_to_the_31_references_of_a_user_object) {
  const CUgraph g = graph();
  CUuserObject object = nullptr;
  NEED(driver().cuUserObjectCreate(
      &object, nullptr, [](void *) {}, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  EXPECT_ANSWER(driver().cuGraphRetainUserObject(g, object, 0xffffffff, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGraphReleaseUserObject(g, object, 0xffffffff), CUDA_ERROR_INVALID_VALUE);
  NEED(driver().cuUserObjectRelease(object, 1));
}

TEST_F(ArgumentChecks, Streams_have_one_of_two_memory_domains) {
  CUstreamAttrValue value{};
  std::memset(&value, 2, 4);
  EXPECT_ANSWER(driver().cuStreamSetAttribute(stream(), CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &value),
                CUDA_ERROR_INVALID_VALUE);
  std::memset(&value, 0xff, 4);
  EXPECT_ANSWER(driver().cuStreamSetAttribute(stream(), CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &value),
                CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ArgumentChecks, The_edges_of_a_capture_are_returned_with_its_dependencies) {
  CUstreamCaptureStatus found = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUgraphEdgeData *edges = nullptr;
  EXPECT_ANSWER(
      driver().cuStreamGetCaptureInfo(capturing(), &found, nullptr, nullptr, nullptr, &edges, &count),
      CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(static_cast<int>(found), int{CU_STREAM_CAPTURE_STATUS_ACTIVE});
}

TEST_F(ArgumentChecks, Calls_without_a_context_fail_before_their_other_arguments) {
  const CUfunction run = kernel("empty");
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuLaunch(nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuLaunchGridAsync(run, 0, 0, nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuParamSetTexRef(nullptr, 0, nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuCtxSetSharedMemConfig(static_cast<CUsharedconfig>(3)), CUDA_ERROR_INVALID_CONTEXT);
  NEED(driver().cuCtxSetCurrent(context));
}

TEST_F(ArgumentChecks, Sizes_of_shared_memory_and_of_parameters_wrap_at_32_bits) {
  const CUfunction run = kernel("empty");
  int of_none = 0;
  NEED(driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&of_none, run, 128, 0));
  EXPECT_ANSWER(driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, run, 128, ~std::size_t{0}),
                CUDA_SUCCESS);
  EXPECT_VALUE(number == of_none, true);
  EXPECT_ANSWER(driver().cuLaunchCooperativeKernel(run, 1, 1, 1, 1, 1, 1, 0xffffffff, nullptr, nullptr),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuParamSetSize(run, 0xfffffffe), CUDA_SUCCESS);
}

STATEMENT(ArgumentChecks, Blocks_of_clusters_have_extents_below_2_to_the_31,
          (config = block_of(0xffffffff),
           driver().cuOccupancyMaxActiveClusters(&number, kernel("empty"), &config)),
          CUDA_ERROR_INVALID_VALUE)

TEST_F(ArgumentChecks, Splits_need_a_resource_as_the_driver_made_it_and_ignore_unknown_flags) {
  CUdevResource whole{};
  NEED(driver().cuDeviceGetDevResource(device, &whole, CU_DEV_RESOURCE_TYPE_SM));
  EXPECT_ANSWER(cuDevSmResourceSplitByCount(whole, 4), CUDA_SUCCESS);
  EXPECT_ANSWER(cuDevSmResourceSplitByCount(whole, 3), CUDA_ERROR_INVALID_VALUE);
  reinterpret_cast<char *>(&whole)[sizeof whole - 1] = 1;
  EXPECT_ANSWER(cuDevSmResourceSplitByCount(whole, 0), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
}

}  // namespace
}  // namespace conformance

#endif
