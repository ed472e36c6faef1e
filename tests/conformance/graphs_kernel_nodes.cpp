// SPDX-License-Identifier: Apache-2.0
// Kernel nodes of graphs.
#include "graphs.hpp"

#if CONFORMANCE_HAS_GRAPHS

namespace conformance {
namespace {

TEST_F(Graphs, A_kernel_node) {
  const CUdeviceptr to = memory();
  const CUgraphNode node = write(graph(), to, 7);
  EXPECT_VALUE(type_of(node), int{CU_GRAPH_NODE_TYPE_KERNEL});
  CUDA_KERNEL_NODE_PARAMS found{};
  EXPECT_ANSWER(driver().cuGraphKernelNodeGetParams(node, &found), CUDA_SUCCESS);
  EXPECT_VALUE(found.func == kernel("write"), true);
  EXPECT_VALUE(found.kern == nullptr, true);
  EXPECT_VALUE(found.ctx == context, true);
  EXPECT_VALUE(found.gridDimX, 1u);
  EXPECT_VALUE(found.extra == nullptr, true);
  EXPECT_VALUE(found.kernelParams != nullptr, true);
  if (found.kernelParams != nullptr) {
    EXPECT_VALUE(*static_cast<CUdeviceptr *>(found.kernelParams[0]) == to, true);
    EXPECT_VALUE(*static_cast<unsigned *>(found.kernelParams[1]), 7u);
  }
}
TEST_F(Graphs, A_kernel_node_of_an_empty_grid) {
  CUDA_KERNEL_NODE_PARAMS parameters = one_thread(kernel("empty"));
  parameters.gridDimX = 0;
  EXPECT_ANSWER(driver().cuGraphAddKernelNode(&node_out, graph(), nullptr, 0, &parameters),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Graphs, A_kernel_node_of_a_block_that_is_too_large) {
  CUDA_KERNEL_NODE_PARAMS parameters = one_thread(kernel("empty"));
  parameters.blockDimX = 2048;
  EXPECT_ANSWER(driver().cuGraphAddKernelNode(&node_out, graph(), nullptr, 0, &parameters),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Graphs, A_kernel_node_without_a_function) {
  const CUDA_KERNEL_NODE_PARAMS parameters = one_thread(nullptr);
  EXPECT_ANSWER(driver().cuGraphAddKernelNode(&node_out, graph(), nullptr, 0, &parameters),
                CUDA_ERROR_INVALID_HANDLE);
}
TEST_F(Graphs, A_kernel_node_without_arguments) {
  const CUDA_KERNEL_NODE_PARAMS parameters = one_thread(kernel("write"));
  EXPECT_ANSWER(driver().cuGraphAddKernelNode(&node_out, graph(), nullptr, 0, &parameters),
                CUDA_ERROR_INVALID_VALUE);
}

// ---- Attributes of kernel nodes ----

TEST_F(Graphs, A_kernel_node_is_not_cooperative_unless_set) {
  const CUgraphNode node = write(graph(), memory(), 7);
  CUkernelNodeAttrValue value{};
  EXPECT_ANSWER(driver().cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value),
                CUDA_SUCCESS);
  EXPECT_VALUE(value.cooperative, 0);
  value.cooperative = 1;
  EXPECT_ANSWER(driver().cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value),
                CUDA_SUCCESS);
  value.cooperative = 0;
  NEED(driver().cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
  EXPECT_VALUE(value.cooperative, 1);
}
TEST_F(Graphs, A_kernel_node_gets_the_attributes_of_another) {
  const CUgraph g = graph();
  const CUdeviceptr to = memory();
  const CUgraphNode first = write(g, to, 7), second = write(g, to + 4, 8, {first});
  CUkernelNodeAttrValue value{};
  value.cooperative = 1;
  NEED(driver().cuGraphKernelNodeSetAttribute(first, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
  EXPECT_ANSWER(driver().cuGraphKernelNodeCopyAttributes(second, first), CUDA_SUCCESS);
  value.cooperative = 0;
  NEED(driver().cuGraphKernelNodeGetAttribute(second, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
  EXPECT_VALUE(value.cooperative, 1);
  EXPECT_ANSWER(run(executable(g)), CUDA_SUCCESS);
}
TEST_F(Graphs, An_attribute_of_another_type_of_node) {
  const CUgraph g = graph();
  const CUgraphNode other = empty(g), node = write(g, memory(), 7);
  CUkernelNodeAttrValue value{};
  EXPECT_ANSWER(driver().cuGraphKernelNodeGetAttribute(other, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGraphKernelNodeSetAttribute(other, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGraphKernelNodeCopyAttributes(other, node), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGraphKernelNodeCopyAttributes(node, other), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace conformance

#endif
