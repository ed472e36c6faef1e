// SPDX-License-Identifier: Apache-2.0
// Conditional nodes of graphs: handles, nodes and their bodies.
#include "graphs_conditional.hpp"

#if CONFORMANCE_HAS_GRAPHS

namespace conformance {
namespace {

// ---- Handles ----

TEST_F(GraphConditions, A_handle_is_made_for_a_graph_and_a_context) {
  const CUgraph g = graph();
  EXPECT_ANSWER(driver().cuGraphConditionalHandleCreate(&handle_out, g, context, 5, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuGraphConditionalHandleCreate(&handle_out, g, context, 5, 1), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuGraphConditionalHandleCreate(&handle_out, g, context, 5, 2),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGraphConditionalHandleCreate(&handle_out, nullptr, context, 5, 0),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGraphConditionalHandleCreate(nullptr, g, context, 5, 0), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(GraphConditions, A_graph_with_an_unused_handle_is_not_instantiated) {
  const CUgraph g = graph();
  handle(g, 0);
  EXPECT_VALUE(int{instantiate(g)}, int{CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED});
  EXPECT_VALUE(int{code}, int{CUDA_ERROR_INVALID_VALUE});
}
TEST_F(GraphConditions, A_handle_is_used_by_one_node) {
  const CUgraph g = graph();
  const auto h = handle(g, 0);
  EXPECT_ANSWER(add(g, h, CU_GRAPH_COND_TYPE_IF, 1), CUDA_SUCCESS);
  EXPECT_ANSWER(add(g, h, CU_GRAPH_COND_TYPE_IF, 1), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(GraphConditions, A_handle_is_used_in_its_graph_and_in_bodies_there) {
  const CUgraph g = graph();
  const auto h = handle(g, 0), inner = handle(g, 0);
  EXPECT_ANSWER(add(graph(), h, CU_GRAPH_COND_TYPE_IF, 1), CUDA_ERROR_INVALID_VALUE);
  const Node outer = conditional(g, h, CU_GRAPH_COND_TYPE_IF);
  EXPECT_ANSWER(add(outer.bodies[0], inner, CU_GRAPH_COND_TYPE_IF, 1), CUDA_SUCCESS);
  EXPECT_ANSWER(add(g, 0, CU_GRAPH_COND_TYPE_IF, 1), CUDA_ERROR_INVALID_VALUE);
}

// ---- Nodes ----

TEST_F(GraphConditions, A_node_has_the_bodies_of_its_type) {
  const CUgraph g = graph();
  EXPECT_ANSWER(add(g, handle(g, 0), CU_GRAPH_COND_TYPE_IF, 1), CUDA_SUCCESS);
  EXPECT_VALUE(type_of(node_out), int{CU_GRAPH_NODE_TYPE_CONDITIONAL});
  EXPECT_ANSWER(add(g, handle(g, 0), CU_GRAPH_COND_TYPE_IF, 2), CUDA_SUCCESS);
  EXPECT_ANSWER(add(g, handle(g, 0), CU_GRAPH_COND_TYPE_WHILE, 1), CUDA_SUCCESS);
  EXPECT_ANSWER(add(g, handle(g, 0), CU_GRAPH_COND_TYPE_SWITCH, 1), CUDA_SUCCESS);
  EXPECT_ANSWER(add(g, handle(g, 0), CU_GRAPH_COND_TYPE_SWITCH, 5), CUDA_SUCCESS);
  const auto h = handle(g, 0);
  EXPECT_ANSWER(add(g, h, CU_GRAPH_COND_TYPE_IF, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(add(g, h, CU_GRAPH_COND_TYPE_IF, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(add(g, h, CU_GRAPH_COND_TYPE_WHILE, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(add(g, h, CU_GRAPH_COND_TYPE_SWITCH, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(add(g, h, static_cast<CUgraphConditionalNodeType>(3), 1), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(GraphConditions, A_node_in_another_context_than_its_handle) {
  const CUgraph g = graph();
  CUgraphNodeParams parameters = parameters_of(handle(g, 0), CU_GRAPH_COND_TYPE_IF, 1);
  parameters.conditional.ctx = other_context();
  EXPECT_ANSWER(driver().cuGraphAddNode(&node_out, g, nullptr, nullptr, 0, &parameters),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(GraphConditions, A_body_is_an_empty_graph_that_belongs_to_its_node) {
  const CUgraph g = graph();
  const Node node = conditional(g, handle(g, 0), CU_GRAPH_COND_TYPE_IF, 2);
  EXPECT_VALUE(node_count(node.bodies[0]), std::size_t{0});
  EXPECT_VALUE(node_count(node.bodies[1]), std::size_t{0});
  EXPECT_VALUE(node.bodies[0] != node.bodies[1], true);
  EXPECT_ANSWER(driver().cuGraphDestroy(node.bodies[0]), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(node_count(g), std::size_t{1});
}
TEST_F(GraphConditions, The_parameters_of_a_node_are_not_set) {
  const CUgraph g = graph();
  const auto h = handle(g, 0);
  const Node node = conditional(g, h, CU_GRAPH_COND_TYPE_IF);
  CUgraphNodeParams parameters = parameters_of(h, CU_GRAPH_COND_TYPE_IF, 1);
  EXPECT_ANSWER(driver().cuGraphNodeSetParams(node.node, &parameters), CUDA_ERROR_NOT_SUPPORTED);
}
TEST_F(GraphConditions, A_graph_with_a_conditional_node_is_not_cloned) {
  const CUgraph g = graph();
  conditional(g, handle(g, 0), CU_GRAPH_COND_TYPE_IF);
  EXPECT_ANSWER(driver().cuGraphClone(&graph_out, g), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_ANSWER(driver().cuGraphAddChildGraphNode(&node_out, graph(), nullptr, 0, g),
                CUDA_ERROR_NOT_SUPPORTED);
}
TEST_F(GraphConditions, A_graph_with_a_conditional_node_has_one_executable_graph_at_a_time) {
  const CUgraph g = graph();
  conditional(g, handle(g, 0), CU_GRAPH_COND_TYPE_IF);
  CUgraphExec first = nullptr;
  NEED(driver().cuGraphInstantiate(&first, g, 0));
  EXPECT_ANSWER(driver().cuGraphInstantiate(&executable_out, g, 0), CUDA_ERROR_NOT_SUPPORTED);
  NEED(driver().cuGraphExecDestroy(first));
  EXPECT_ANSWER(driver().cuGraphInstantiate(&executable_out, g, 0), CUDA_SUCCESS);
}
TEST_F(GraphConditions, A_destroyed_node_takes_its_bodies_along) {
  const CUgraph g = graph();
  const Node node = conditional(g, handle(g, 0), CU_GRAPH_COND_TYPE_IF);
  EXPECT_ANSWER(driver().cuGraphDestroyNode(node.node), CUDA_SUCCESS);
  EXPECT_VALUE(node_count(g), std::size_t{0});
}

// ---- The nodes of bodies ----

TEST_F(GraphConditions, A_host_function_is_not_in_a_body) {
  int calls = 0;
  const CUgraph g = graph();
  const Node node = conditional(g, handle(g, 0), CU_GRAPH_COND_TYPE_IF);
  calling(node.bodies[0], &calls);
  instantiate(g);
  EXPECT_VALUE(int{code}, int{CUDA_ERROR_INVALID_VALUE});
}
TEST_F(GraphConditions, An_event_record_is_not_in_a_body) {
  const CUgraph g = graph();
  const Node node = conditional(g, handle(g, 0), CU_GRAPH_COND_TYPE_IF);
  NEED(driver().cuGraphAddEventRecordNode(&node_out, node.bodies[0], nullptr, 0, event()));
  instantiate(g);
  EXPECT_VALUE(int{code}, int{CUDA_ERROR_INVALID_VALUE});
  EXPECT_VALUE(node_in_error == node_out, true);
}
TEST_F(GraphConditions, A_body_copies_to_and_from_pinned_memory) {
  auto *const bytes = static_cast<unsigned char *>(pinned());
  bytes[0] = 7;
  bytes[1] = 0;
  const CUgraph g = graph();
  const Node node = conditional(g, handle(g, 1), CU_GRAPH_COND_TYPE_IF);
  const CUgraphNode in = copy_in(node.bodies[0], to, bytes, 1);
  copy_out(node.bodies[0], bytes + 1, to, 1, {in});
  EXPECT_ANSWER(run(executable(g)), CUDA_SUCCESS);
  EXPECT_VALUE(unsigned{bytes[1]}, 7u);
}
TEST_F(GraphConditions, A_body_has_child_graphs) {
  const CUgraph g = graph(), child = graph();
  add_to(child, to, 3);
  const Node node = conditional(g, handle(g, 1), CU_GRAPH_COND_TYPE_IF);
  NEED(driver().cuGraphAddChildGraphNode(&node_out, node.bodies[0], nullptr, 0, child));
  EXPECT_ANSWER(run(executable(g)), CUDA_SUCCESS);
  EXPECT_VALUE(word(to), 3u);
}

}  // namespace
}  // namespace conformance

#endif
