// SPDX-License-Identifier: Apache-2.0
// Graphs: creation, destruction, the list of nodes, user objects.
#include "graphs.hpp"

#if CONFORMANCE_HAS_GRAPHS

namespace conformance {
namespace {

STATEMENT(Graphs, Are_created, driver().cuGraphCreate(&graph_out, 0), CUDA_SUCCESS)
STATEMENT(Graphs, Are_not_created_with_flags, driver().cuGraphCreate(&graph_out, 1), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Graphs, Are_not_created_without_an_output, driver().cuGraphCreate(nullptr, 0),
          CUDA_ERROR_INVALID_VALUE)

TEST_F(Graphs, Are_created_without_a_context) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuGraphCreate(&graph_out, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuGraphAddEmptyNode(&node_out, graph_out, nullptr, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuGraphInstantiate(&executable_out, graph_out, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuGraphGetNodes(graph_out, nullptr, &count), CUDA_SUCCESS);
}

TEST_F(Graphs, Are_destroyed) { EXPECT_ANSWER(driver().cuGraphDestroy(own_graph()), CUDA_SUCCESS); }

STATEMENT(Graphs, A_null_graph_is_not_destroyed, driver().cuGraphDestroy(nullptr), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Graphs, A_null_graph_is_not_cloned, driver().cuGraphClone(&graph_out, nullptr),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Graphs, A_null_graph_has_no_nodes, driver().cuGraphGetNodes(nullptr, nullptr, &count),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Graphs, A_null_graph_is_not_instantiated, driver().cuGraphInstantiate(&executable_out, nullptr, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Graphs, A_null_graph_receives_no_node, driver().cuGraphAddEmptyNode(&node_out, nullptr, nullptr, 0),
          CUDA_ERROR_INVALID_VALUE)

TEST_F(Graphs, A_node_without_an_output_is_not_added) {
  EXPECT_ANSWER(driver().cuGraphAddEmptyNode(nullptr, graph(), nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Graphs, Dependencies_without_an_array_are_invalid) {
  const CUgraph g = graph();
  EXPECT_ANSWER(driver().cuGraphAddEmptyNode(&node_out, g, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(node_count(g), std::size_t{0});
}
TEST_F(Graphs, A_null_dependency_is_invalid) {
  const CUgraph g = graph();
  const CUgraphNode none = nullptr;
  EXPECT_ANSWER(driver().cuGraphAddEmptyNode(&node_out, g, &none, 1), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Graphs, A_dependency_of_another_graph_is_invalid) {
  const CUgraph g = graph();
  const CUgraphNode other = empty(graph());
  EXPECT_ANSWER(driver().cuGraphAddEmptyNode(&node_out, g, &other, 1), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Graphs, A_dependency_that_is_given_twice) {
  const CUgraph g = graph();
  const CUgraphNode first = empty(g);
  const CUgraphNode twice[] = {first, first};
  EXPECT_ANSWER(driver().cuGraphAddEmptyNode(&node_out, g, twice, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(node_count(g), std::size_t{1});
}

TEST_F(Graphs, Count_their_nodes) {
  const CUgraph g = graph();
  EXPECT_VALUE(node_count(g), std::size_t{0});
  empty(g);
  empty(g);
  EXPECT_VALUE(node_count(g), std::size_t{2});
}
TEST_F(Graphs, Return_their_nodes_in_the_order_of_creation) {
  const CUgraph g = graph();
  const CUgraphNode a = empty(g), b = empty(g), c = empty(g, {a});
  EXPECT_VALUE(nodes_of(g) == (Nodes{a, b, c}), true);
}
TEST_F(Graphs, Return_as_many_nodes_as_the_array_has_room_for) {
  const CUgraph g = graph();
  const CUgraphNode a = empty(g);
  empty(g);
  CUgraphNode found[1] = {};
  count = 1;
  EXPECT_ANSWER(driver().cuGraphGetNodes(g, found, &count), CUDA_SUCCESS);
  EXPECT_VALUE(count, std::size_t{1});
  EXPECT_VALUE(found[0] == a, true);
}
TEST_F(Graphs, Fill_the_rest_of_the_array_with_null) {
  const CUgraph g = graph();
  const CUgraphNode a = empty(g);
  CUgraphNode found[3] = {a, a, a};
  count = 3;
  EXPECT_ANSWER(driver().cuGraphGetNodes(g, found, &count), CUDA_SUCCESS);
  EXPECT_VALUE(count, std::size_t{1});
  EXPECT_VALUE(found[1] == nullptr && found[2] == nullptr, true);
}
TEST_F(Graphs, Do_not_return_nodes_without_a_count) {
  EXPECT_ANSWER(driver().cuGraphGetNodes(graph(), nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Graphs, Return_the_nodes_without_dependencies_as_roots) {
  const CUgraph g = graph();
  const CUgraphNode a = empty(g), b = empty(g);
  empty(g, {a});
  CUgraphNode found[3] = {};
  count = 3;
  EXPECT_ANSWER(driver().cuGraphGetRootNodes(g, found, &count), CUDA_SUCCESS);
  EXPECT_VALUE(count, std::size_t{2});
  EXPECT_VALUE((found[0] == a && found[1] == b) || (found[0] == b && found[1] == a), true);
}
TEST_F(Graphs, The_order_of_roots) {
  const CUgraph g = graph();
  const CUgraphNode a = empty(g), b = empty(g), c = empty(g), d = empty(g, {b}), e = empty(g);
  CUgraphNode found[5] = {};
  count = 5;
  NEED(driver().cuGraphGetRootNodes(g, found, &count));
  std::string text;
  for (CUgraphNode each : found)
    text += each == a ? "a" : each == b ? "b" : each == c ? "c" : each == d ? "d" : each == e ? "e" : "0";
  EXPECT_VALUE(text, std::string("ecba0"));
}

TEST_F(Graphs, A_destroyed_node_is_gone_with_its_edges) {
  const CUgraph g = graph();
  const CUgraphNode a = empty(g), b = empty(g, {a}), c = empty(g, {b});
  EXPECT_ANSWER(driver().cuGraphDestroyNode(b), CUDA_SUCCESS);
  EXPECT_VALUE(node_count(g), std::size_t{2});
  EXPECT_VALUE(edge_count(g), std::size_t{0});
  EXPECT_VALUE(dependencies_of(c).size(), std::size_t{0});
}
STATEMENT(Graphs, A_null_node_is_not_destroyed, driver().cuGraphDestroyNode(nullptr),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Graphs, A_null_node_has_no_dependencies,
          driver().cuGraphNodeGetDependencies(nullptr, nullptr, nullptr, &count), CUDA_ERROR_INVALID_VALUE)
TEST_F(Graphs, A_null_node_has_no_type) {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  EXPECT_ANSWER(driver().cuGraphNodeGetType(nullptr, &type), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Graphs, The_type_of_a_node_needs_an_output) {
  EXPECT_ANSWER(driver().cuGraphNodeGetType(empty(graph()), nullptr), CUDA_ERROR_INVALID_VALUE);
}

// ---- User objects ----

void CUDA_CB count_destroys(void *data) { ++*static_cast<int *>(data); }

TEST_F(Graphs, A_user_object) {
  CUuserObject object = nullptr;
  static int destroys;
  destroys = 0;
  EXPECT_ANSWER(driver().cuUserObjectCreate(&object, &destroys, count_destroys, 1, 0),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(
      driver().cuUserObjectCreate(&object, &destroys, nullptr, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
      CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(
      driver().cuUserObjectCreate(&object, &destroys, count_destroys, 0, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
      CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(
      driver().cuUserObjectCreate(&object, &destroys, count_destroys, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
      CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuUserObjectRetain(object, 2), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuUserObjectRetain(object, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuUserObjectRelease(object, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuUserObjectRelease(object, 2), CUDA_SUCCESS);
  EXPECT_VALUE(destroys, 0);
  EXPECT_ANSWER(driver().cuUserObjectRelease(object, 1), CUDA_SUCCESS);
}
TEST_F(Graphs, A_user_object_of_a_graph) {
  CUuserObject object = nullptr;
  static int destroys;
  destroys = 0;
  NEED(driver().cuUserObjectCreate(&object, &destroys, count_destroys, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  const CUgraph g = graph();
  EXPECT_ANSWER(driver().cuGraphRetainUserObject(g, object, 1, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGraphRetainUserObject(g, object, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGraphRetainUserObject(g, object, 1, CU_GRAPH_USER_OBJECT_MOVE), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuGraphRetainUserObject(g, object, 1, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuGraphReleaseUserObject(g, object, 1), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuGraphReleaseUserObject(g, object, 2), CUDA_SUCCESS);
}

}  // namespace
}  // namespace conformance

#endif
