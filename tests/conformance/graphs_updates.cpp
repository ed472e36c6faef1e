// SPDX-License-Identifier: Apache-2.0
// Updates of executable graphs by graphs.
#include "graphs_launches.hpp"

#if CONFORMANCE_HAS_GRAPHS

namespace conformance {
namespace {

TEST_F(GraphLaunches, An_update_takes_the_parameters_of_a_like_graph) {
  const CUdeviceptr to = memory();
  const CUgraph g = setting(to, 1), other = setting(to, 2);
  const CUgraphExec e = executable(g);
  EXPECT_VALUE(update(e, other), std::string("0: 0"));
  expect_run(e, to, 2u);
}
TEST_F(GraphLaunches, An_update_by_a_graph_with_more_nodes) {
  const CUdeviceptr to = memory();
  const CUgraph g = setting(to, 1), other = setting(to, 1);
  set(other, to, 2);
  EXPECT_VALUE(update(executable(g), other), std::string("910: 2"));
  EXPECT_VALUE(info.errorNode == nullptr, true);
}
TEST_F(GraphLaunches, An_update_by_a_graph_with_another_edge) {
  const CUdeviceptr to = memory();
  const CUgraph g = setting(to, 1), other = graph();
  set(g, to, 1);
  set(other, to, 2, 1, {set(other, to, 1)});
  EXPECT_VALUE(update(executable(g), other), std::string("910: 2"));
  EXPECT_VALUE(info.errorNode != nullptr, false);
}
TEST_F(GraphLaunches, An_update_by_a_graph_with_another_type_of_node) {
  const CUdeviceptr to = memory();
  int calls = 0;
  const CUgraph g = setting(to, 1), other = graph();
  const CUgraphNode node = calling(other, &calls);
  EXPECT_VALUE(update(executable(g), other), std::string("910: 3"));
  EXPECT_VALUE(info.errorNode == node, true);
}
TEST_F(GraphLaunches, An_update_with_other_sizes_of_a_memset) {
  const CUdeviceptr to = memory();
  const CUgraph g = setting(to, 1), other = graph();
  set(other, to, 1, 64);
  EXPECT_VALUE(update(executable(g), other), std::string("0: 0"));
}
TEST_F(GraphLaunches, An_update_with_another_kernel) {
  const CUdeviceptr to = memory();
  const CUgraph g = graph(), other = graph();
  write(g, to, 1);
  const CUDA_KERNEL_NODE_PARAMS parameters = one_thread(kernel("empty"));
  NEED(driver().cuGraphAddKernelNode(&node_out, other, nullptr, 0, &parameters));
  EXPECT_VALUE(update(executable(g), other), std::string("0: 0"));
}
TEST_F(GraphLaunches, An_update_needs_a_graph) {
  const CUgraphExec e = executable(graph());
  EXPECT_VALUE(update(e, nullptr), std::string("1: 0"));
  EXPECT_VALUE(update(nullptr, graph()), std::string("1: 0"));
  EXPECT_ANSWER(driver().cuGraphExecUpdate(e, graph(), nullptr), CUDA_SUCCESS);
}

}  // namespace
}  // namespace conformance

#endif
