// SPDX-License-Identifier: Apache-2.0
// Conditional nodes of graphs: launches, captures and updates.
#include "graphs_conditional.hpp"

#if CONFORMANCE_HAS_GRAPHS

namespace conformance {
namespace {

// ---- Launches ----

TEST_F(GraphConditions, If_runs_its_body_unless_the_value_is_0) {
  for (const unsigned value : {0u, 1u, 7u}) {
    const CUgraph g = graph();
    const Node node = conditional(g, handle(g, value), CU_GRAPH_COND_TYPE_IF);
    add_to(node.bodies[0], to, 1);
    EXPECT_ANSWER(run(executable(g)), CUDA_SUCCESS);
  }
  EXPECT_VALUE(word(to), 2u);
}
TEST_F(GraphConditions, If_runs_its_second_body_if_the_value_is_0) {
  for (const unsigned value : {0u, 1u}) {
    const CUgraph g = graph();
    const Node node = conditional(g, handle(g, value), CU_GRAPH_COND_TYPE_IF, 2);
    add_to(node.bodies[0], to, 1);
    add_to(node.bodies[1], to, 100);
    EXPECT_ANSWER(run(executable(g)), CUDA_SUCCESS);
  }
  EXPECT_VALUE(word(to), 101u);
}
TEST_F(GraphConditions, Switch_runs_the_body_of_the_value) {
  for (const unsigned value : {0u, 2u, 3u, 99u}) {
    const CUgraph g = graph();
    const Node node = conditional(g, handle(g, value), CU_GRAPH_COND_TYPE_SWITCH, 3);
    for (unsigned i = 0; i < 3; ++i) add_to(node.bodies[i], to + 4 * i, 1);
    EXPECT_ANSWER(run(executable(g)), CUDA_SUCCESS);
  }
  EXPECT_VALUE(word(to), 1u);
  EXPECT_VALUE(word(to + 4), 0u);
  EXPECT_VALUE(word(to + 8), 1u);
}
TEST_F(GraphConditions, While_runs_its_body_until_the_value_is_0) {
  const CUgraph g = graph();
  const auto h = handle(g, 1);
  const CUgraphNode before = set(g, to, 10);
  const Node node = conditional(g, h, CU_GRAPH_COND_TYPE_WHILE, 1, {before});
  const CUgraphNode added = add_to(node.bodies[0], to + 4, 2);
  count_down(node.bodies[0], h, to, {added});
  add_to(g, to + 4, 1000, {node.node});
  const CUgraphExec e = executable(g);
  EXPECT_ANSWER(run(e), CUDA_SUCCESS);
  EXPECT_VALUE(word(to), 0u);
  EXPECT_VALUE(word(to + 4), 1020u);
  EXPECT_ANSWER(run(e), CUDA_SUCCESS);
  EXPECT_VALUE(word(to + 4), 2040u);
}
TEST_F(GraphConditions, While_with_the_value_0_runs_nothing) {
  const CUgraph g = graph();
  const Node node = conditional(g, handle(g, 0), CU_GRAPH_COND_TYPE_WHILE);
  add_to(node.bodies[0], to, 1);
  EXPECT_ANSWER(run(executable(g)), CUDA_SUCCESS);
  EXPECT_VALUE(word(to), 0u);
}
TEST_F(GraphConditions, A_kernel_sets_the_value) {
  const CUgraph g = graph();
  const auto h = handle(g);
  const CUgraphNode setting = set_handle(g, h, 1);
  const Node node = conditional(g, h, CU_GRAPH_COND_TYPE_SWITCH, 2, {setting});
  add_to(node.bodies[0], to, 1);
  add_to(node.bodies[1], to, 100);
  EXPECT_ANSWER(run(executable(g)), CUDA_SUCCESS);
  EXPECT_VALUE(word(to), 100u);
}
TEST_F(GraphConditions, The_default_value_is_assigned_at_each_launch) {
  const CUgraph g = graph();
  const auto h = handle(g, 1);
  const Node node = conditional(g, h, CU_GRAPH_COND_TYPE_IF);
  add_to(node.bodies[0], to, 1);
  set_handle(g, h, 0, {node.node});
  const CUgraphExec e = executable(g);
  EXPECT_ANSWER(run(e), CUDA_SUCCESS);
  EXPECT_ANSWER(run(e), CUDA_SUCCESS);
  EXPECT_VALUE(word(to), 2u);
}
TEST_F(GraphConditions, Bodies_contain_conditional_nodes) {
  const CUgraph g = graph();
  const auto outer = handle(g, 1), inner = handle(g);
  const CUgraphNode rounds = set(g, to, 3);
  const Node loop = conditional(g, outer, CU_GRAPH_COND_TYPE_WHILE, 1, {rounds});
  const CUgraph body = loop.bodies[0];
  const CUgraphNode again = set(body, to + 4, 4);
  const CUgraphNode start = set_handle(body, inner, 1, {again});
  const Node second = conditional(body, inner, CU_GRAPH_COND_TYPE_WHILE, 1, {start});
  const CUgraphNode added = add_to(second.bodies[0], to + 8, 1);
  count_down(second.bodies[0], inner, to + 4, {added});
  count_down(body, outer, to, {second.node});
  EXPECT_ANSWER(run(executable(g)), CUDA_SUCCESS);
  EXPECT_VALUE(word(to + 8), 12u);
}
TEST_F(GraphConditions, Work_of_the_stream_follows_all_rounds) {
  const CUgraph g = graph();
  add_loop(g, 20);
  const CUgraphExec e = executable(g);
  const CUstream work = stream();
  auto *const seen = static_cast<unsigned *>(pinned());
  NEED(driver().cuGraphLaunch(e, work));
  EXPECT_ANSWER(driver().cuMemcpyDtoHAsync(seen, to + 4, 4, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_VALUE(seen[0], 20u);
}
TEST_F(GraphConditions, Launches_continue_after_the_graphs_are_destroyed) {
  const CUgraph g = own_graph();
  add_loop(g, 20);
  CUgraphExec e = nullptr;
  NEED(driver().cuGraphInstantiate(&e, g, 0));
  NEED(driver().cuGraphDestroy(g));
  EXPECT_ANSWER(driver().cuGraphLaunch(e, stream()), CUDA_SUCCESS);
  NEED(driver().cuGraphExecDestroy(e));
  EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_VALUE(word(to + 4), 20u);
}

// ---- Captures and updates ----

TEST_F(GraphConditions, Work_is_captured_into_a_body) {
  const CUgraph g = graph();
  const Node node = conditional(g, handle(g, 1), CU_GRAPH_COND_TYPE_IF);
  const CUstream work = stream();
  EXPECT_ANSWER(driver().cuStreamBeginCaptureToGraph(work, node.bodies[0], nullptr, nullptr, 0,
                                                     CU_STREAM_CAPTURE_MODE_GLOBAL),
                CUDA_SUCCESS);
  NEED(driver().cuMemsetD8Async(to, 5, 1, work));
  CUgraph captured = nullptr;
  EXPECT_ANSWER(driver().cuStreamEndCapture(work, &captured), CUDA_SUCCESS);
  EXPECT_VALUE(captured == node.bodies[0], true);
  EXPECT_VALUE(node_count(node.bodies[0]), std::size_t{1});
  EXPECT_ANSWER(run(executable(g)), CUDA_SUCCESS);
  EXPECT_VALUE(word(to), 5u);
}
TEST_F(GraphConditions, The_parameters_of_a_node_in_an_executable_body_are_set) {
  const CUgraph g = graph();
  const Node node = conditional(g, handle(g, 1), CU_GRAPH_COND_TYPE_IF);
  const CUgraphNode adding = add_to(node.bodies[0], to, 1);
  const CUgraphExec e = executable(g);
  unsigned value = 50;
  std::vector<void *> arguments{&to, &value};
  const CUDA_KERNEL_NODE_PARAMS parameters = launch_of("add", arguments);
  EXPECT_ANSWER(driver().cuGraphExecKernelNodeSetParams(e, adding, &parameters), CUDA_SUCCESS);
  EXPECT_ANSWER(run(e), CUDA_SUCCESS);
  EXPECT_VALUE(word(to), 50u);
}
TEST_F(GraphConditions, An_update_replaces_the_default_value_and_the_nodes_of_bodies) {
  const CUgraph before = graph(), after = graph();
  const Node first = conditional(before, handle(before, 0), CU_GRAPH_COND_TYPE_SWITCH, 2);
  const Node second = conditional(after, handle(after, 1), CU_GRAPH_COND_TYPE_SWITCH, 2);
  for (unsigned i = 0; i < 2; ++i) {
    add_to(first.bodies[i], to + 4 * i, 1);
    add_to(second.bodies[i], to + 4 * i, 30);
  }
  const CUgraphExec e = executable(before);
  CUgraphExecUpdateResultInfo info{};
  EXPECT_ANSWER(driver().cuGraphExecUpdate(e, after, &info), CUDA_SUCCESS);
  EXPECT_ANSWER(run(e), CUDA_SUCCESS);
  EXPECT_VALUE(word(to), 0u);
  EXPECT_VALUE(word(to + 4), 30u);
}
TEST_F(GraphConditions, An_update_does_not_change_the_type_or_size) {
  const CUgraph before = graph(), type = graph(), size = graph();
  conditional(before, handle(before, 0), CU_GRAPH_COND_TYPE_IF);
  conditional(type, handle(type, 0), CU_GRAPH_COND_TYPE_WHILE);
  conditional(size, handle(size, 0), CU_GRAPH_COND_TYPE_IF, 2);
  const CUgraphExec e = executable(before);
  CUgraphExecUpdateResultInfo info{};
  EXPECT_ANSWER(driver().cuGraphExecUpdate(e, type, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_VALUE(int{info.result}, int{CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED});
  EXPECT_ANSWER(driver().cuGraphExecUpdate(e, size, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_VALUE(int{info.result}, int{CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED});
}

}  // namespace
}  // namespace conformance

#endif
