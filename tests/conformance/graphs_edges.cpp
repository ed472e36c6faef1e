// SPDX-License-Identifier: Apache-2.0
// Dependencies between nodes, and clones of graphs.
#include "graphs.hpp"

#if CONFORMANCE_HAS_GRAPHS

namespace conformance {
namespace {

class GraphEdges : public OnGraph {
 public:
  CUresult connect(CUgraph graph, CUgraphNode from, CUgraphNode to) {
    return driver().cuGraphAddDependencies(graph, &from, &to, nullptr, 1);
  }
  CUresult disconnect(CUgraph graph, CUgraphNode from, CUgraphNode to) {
    return driver().cuGraphRemoveDependencies(graph, &from, &to, nullptr, 1);
  }
};

TEST_F(GraphEdges, Are_added_and_removed) {
  const CUgraph g = graph();
  const CUgraphNode a = empty(g), b = empty(g);
  EXPECT_ANSWER(connect(g, a, b), CUDA_SUCCESS);
  EXPECT_VALUE(edge_count(g), std::size_t{1});
  EXPECT_VALUE(dependencies_of(b) == Nodes{a}, true);
  EXPECT_ANSWER(disconnect(g, a, b), CUDA_SUCCESS);
  EXPECT_VALUE(edge_count(g), std::size_t{0});
}
TEST_F(GraphEdges, Are_returned_as_pairs) {
  const CUgraph g = graph();
  const CUgraphNode a = empty(g), b = empty(g, {a}), c = empty(g, {a, b});
  CUgraphNode from[4] = {}, to[4] = {};
  CUgraphEdgeData data[4] = {};
  count = 4;
  EXPECT_ANSWER(driver().cuGraphGetEdges(g, from, to, data, &count), CUDA_SUCCESS);
  EXPECT_VALUE(count, std::size_t{3});
  const auto name = [&](CUgraphNode node) {
    return node == a ? "a" : node == b ? "b" : node == c ? "c" : "0";
  };
  std::string text;
  for (int i = 0; i < 4; ++i) text += std::string(name(from[i])) + name(to[i]) + " ";
  EXPECT_VALUE(text, std::string("ab ac bc 00 "));
}
TEST_F(GraphEdges, Need_both_arrays_or_none) {
  const CUgraph g = graph();
  const CUgraphNode a = empty(g);
  empty(g, {a});
  CUgraphNode found[1] = {};
  count = 1;
  EXPECT_ANSWER(driver().cuGraphGetEdges(g, found, nullptr, nullptr, &count), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(GraphEdges, Do_not_exist_twice) {
  const CUgraph g = graph();
  const CUgraphNode a = empty(g), b = empty(g, {a});
  EXPECT_ANSWER(connect(g, a, b), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(GraphEdges, Do_not_lead_from_a_node_to_itself) {
  const CUgraph g = graph();
  const CUgraphNode a = empty(g);
  EXPECT_ANSWER(connect(g, a, a), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(GraphEdges, Of_a_cycle_are_found_by_the_instantiation) {
  const CUgraph g = graph();
  const CUgraphNode a = empty(g), b = empty(g, {a});
  EXPECT_ANSWER(connect(g, b, a), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuGraphInstantiate(&executable_out, g, 0), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(GraphEdges, To_another_graph_are_invalid) {
  const CUgraph g = graph();
  const CUgraphNode a = empty(g), b = empty(graph());
  EXPECT_ANSWER(connect(g, a, b), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(GraphEdges, That_do_not_exist_are_not_removed) {
  const CUgraph g = graph();
  const CUgraphNode a = empty(g), b = empty(g);
  EXPECT_ANSWER(disconnect(g, a, b), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(GraphEdges, Of_an_invalid_list_are_not_added_at_all) {
  const CUgraph g = graph();
  const CUgraphNode a = empty(g), b = empty(g);
  const CUgraphNode from[] = {a, a}, to[] = {b, a};
  EXPECT_ANSWER(driver().cuGraphAddDependencies(g, from, to, nullptr, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(edge_count(g), std::size_t{0});
}
TEST_F(GraphEdges, None_may_be_added) {
  EXPECT_ANSWER(driver().cuGraphAddDependencies(graph(), nullptr, nullptr, nullptr, 0), CUDA_SUCCESS);
}
TEST_F(GraphEdges, Arrays_must_not_be_null) {
  EXPECT_ANSWER(driver().cuGraphAddDependencies(graph(), nullptr, nullptr, nullptr, 1),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(GraphEdges, Of_a_programmatic_type_need_kernels) {
  const CUgraph g = graph();
  const CUgraphNode a = empty(g), b = empty(g);
  CUgraphEdgeData data{};
  data.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  EXPECT_ANSWER(driver().cuGraphAddDependencies(g, &a, &b, &data, 1), CUDA_ERROR_INVALID_VALUE);
  data.type = 77;
  EXPECT_ANSWER(driver().cuGraphAddDependencies(g, &a, &b, &data, 1), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(GraphEdges, Lead_to_the_dependent_nodes) {
  const CUgraph g = graph();
  const CUgraphNode a = empty(g), b = empty(g, {a}), c = empty(g, {a});
  CUgraphNode found[3] = {a, a, a};
  count = 3;
  EXPECT_ANSWER(driver().cuGraphNodeGetDependentNodes(a, found, nullptr, &count), CUDA_SUCCESS);
  EXPECT_VALUE(count, std::size_t{2});
  EXPECT_VALUE(found[0] == b && found[1] == c && found[2] == nullptr, true);
}
TEST_F(GraphEdges, Lead_back_in_the_order_in_which_they_were_added) {
  const CUgraph g = graph();
  const CUgraphNode a = empty(g), b = empty(g), c = empty(g), d = empty(g, {c, a});
  NEED(connect(g, b, d));
  EXPECT_VALUE(dependencies_of(d) == (Nodes{c, a, b}), true);
}

// ---- Clones ----

TEST_F(GraphEdges, Of_a_clone_are_those_of_the_original) {
  const CUgraph g = graph();
  const CUgraphNode a = empty(g), b = empty(g, {a});
  EXPECT_ANSWER(driver().cuGraphClone(&graph_out, g), CUDA_SUCCESS);
  EXPECT_VALUE(node_count(graph_out), std::size_t{2});
  EXPECT_VALUE(edge_count(graph_out), std::size_t{1});
  CUgraphNode found_a = nullptr, found_b = nullptr;
  EXPECT_ANSWER(driver().cuGraphNodeFindInClone(&found_a, a, graph_out), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuGraphNodeFindInClone(&found_b, b, graph_out), CUDA_SUCCESS);
  EXPECT_VALUE(found_a != a, true);
  EXPECT_VALUE(dependencies_of(found_b) == Nodes{found_a}, true);
}
TEST_F(GraphEdges, A_node_is_not_found_in_another_graph) {
  const CUgraphNode a = empty(graph());
  EXPECT_ANSWER(driver().cuGraphNodeFindInClone(&node_out, a, graph()), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(GraphEdges, A_new_node_is_not_found_in_the_clone) {
  const CUgraph g = graph();
  NEED(driver().cuGraphClone(&graph_out, g));
  EXPECT_ANSWER(driver().cuGraphNodeFindInClone(&node_out, empty(g), graph_out), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(GraphEdges, A_node_is_not_found_after_its_clone_was_destroyed) {
  const CUgraph g = graph();
  const CUgraphNode a = empty(g);
  NEED(driver().cuGraphClone(&graph_out, g));
  CUgraphNode found = nullptr;
  NEED(driver().cuGraphNodeFindInClone(&found, a, graph_out));
  NEED(driver().cuGraphDestroyNode(found));
  EXPECT_ANSWER(driver().cuGraphNodeFindInClone(&node_out, a, graph_out), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(GraphEdges, A_clone_of_a_clone_knows_its_original_only) {
  const CUgraph g = graph();
  const CUgraphNode a = empty(g);
  CUgraph first = nullptr;
  NEED(driver().cuGraphClone(&first, g));
  NEED(driver().cuGraphClone(&graph_out, first));
  EXPECT_ANSWER(driver().cuGraphNodeFindInClone(&node_out, a, graph_out), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGraphDestroy(first), CUDA_SUCCESS);
}

}  // namespace
}  // namespace conformance

#endif
