// SPDX-License-Identifier: Apache-2.0
// The order of nodes and edges of graphs, and updates of executable graphs, which pair nodes by it.
#include <vector>

#include "graph_calls.hpp"
#include "support/structures.hpp"

namespace cushim::sim {
namespace {

using Nodes = std::vector<CUgraphNode>;

CUgraphNode add_empty(CUgraph graph, const Nodes &after = {}) {
  CUgraphNode made = nullptr;
  need(driver().cuGraphAddEmptyNode(&made, graph, after.data(), after.size()));
  return made;
}

// Adds a node that sets a word.
CUgraphNode add_set(CUgraph graph, CUdeviceptr to, unsigned value, const Nodes &after = {},
                    std::size_t height = 1) {
  CUDA_MEMSET_NODE_PARAMS parameters = test::memset_node(to, value, 1, 4);
  parameters.height = height;
  parameters.pitch = 16;
  CUcontext context = nullptr;
  CUgraphNode made = nullptr;
  need(driver().cuCtxGetCurrent(&context));
  need(driver().cuGraphAddMemsetNode(&made, graph, after.data(), after.size(), &parameters, context));
  return made;
}

CUresult connect(CUgraph graph, const Nodes &from, const Nodes &to) {
  return exact::cuGraphAddDependencies_v10000(driver())(graph, from.data(), to.data(), from.size());
}
CUresult disconnect(CUgraph graph, const Nodes &from, const Nodes &to) {
  return exact::cuGraphRemoveDependencies_v10000(driver())(graph, from.data(), to.data(), from.size());
}

Nodes dependents(CUgraphNode node) {
  Nodes found(8);
  std::size_t count = found.size();
  need(exact::cuGraphNodeGetDependentNodes_v10000(driver())(node, found.data(), &count));
  found.resize(count);
  return found;
}
Nodes roots(CUgraph graph) {
  Nodes found(8);
  std::size_t count = found.size();
  need(driver().cuGraphGetRootNodes(graph, found.data(), &count));
  found.resize(count);
  return found;
}

TEST(GraphStructure, The_last_edge_takes_the_place_of_a_removed_one) {
  const Running running;
  const CUgraph graph = make_graph();
  const CUgraphNode a = add_empty(graph), b = add_empty(graph, {a}), c = add_empty(graph, {a}),
                    d = add_empty(graph, {a});
  need(disconnect(graph, {a}, {b}));
  EXPECT_EQ(dependents(a), (Nodes{d, c}));
}

TEST(GraphStructure, A_node_that_becomes_a_root_is_the_first_one) {
  const Running running;
  const CUgraph graph = make_graph();
  const CUgraphNode a = add_empty(graph), b = add_empty(graph, {a}), c = add_empty(graph);
  EXPECT_EQ(roots(graph), (Nodes{c, a}));
  need(disconnect(graph, {a}, {b}));
  EXPECT_EQ(roots(graph), (Nodes{b, c, a}));
  need(connect(graph, {a}, {c}));
  EXPECT_EQ(roots(graph), (Nodes{b, a}));
}

TEST(GraphStructure, Edges_before_one_that_exists_are_added) {
  const Running running;
  const CUgraph graph = make_graph();
  const CUgraphNode a = add_empty(graph), b = add_empty(graph), c = add_empty(graph, {a}),
                    d = add_empty(graph);
  EXPECT_EQ(connect(graph, {a, a, a}, {b, c, d}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(dependents(a), (Nodes{c, b}));
  EXPECT_EQ(disconnect(graph, {a, a, a}, {b, d, c}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(dependents(a), Nodes{c});
  EXPECT_EQ(connect(graph, {a, b}, {d, b}), CUDA_ERROR_INVALID_VALUE) << "a loop";
  EXPECT_EQ(dependents(a), Nodes{c});
}

struct Update {
  explicit Update(CUgraphExec executable, CUgraph by) {
    code = exact::cuGraphExecUpdate_v10020(driver())(executable, by, &node, &result);
  }
  CUresult code = CUDA_SUCCESS;
  CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  CUgraphNode node = nullptr;
};

TEST(GraphStructure, An_update_reaches_the_partners_of_nodes_that_were_created_in_another_order) {
  const Running running;
  const CUdeviceptr words = running.memory();
  const CUgraph graph = make_graph(), other = make_graph();
  add_empty(graph, {add_set(graph, words, 1), add_set(graph, words + 4, 2)});
  const CUgraphNode second = add_set(other, words + 4, 4), first = add_set(other, words, 3);
  add_empty(other, {first, second});
  const CUgraphExec executable = instantiate(graph);
  const Update update(executable, other);
  EXPECT_EQ(update.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
  need(driver().cuGraphLaunch(executable, nullptr));
  EXPECT_EQ(word_at(words), 3u);
  EXPECT_EQ(word_at(words + 4), 4u);
}

TEST(GraphStructure, An_update_compares_backwards_from_the_newest_nodes_without_dependents) {
  const Running running;
  const CUdeviceptr word = running.memory();
  const CUgraph graph = make_graph(), other = make_graph();
  add_empty(graph);
  add_empty(graph);
  add_set(other, word, 1);
  const CUgraphNode newest = add_set(other, word, 1);
  const Update update(instantiate(graph), other);
  EXPECT_EQ(update.code, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(update.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
  EXPECT_EQ(update.node, newest);
}

TEST(GraphStructure, An_update_with_fewer_nodes_without_dependents_names_no_node) {
  const Running running;
  const CUgraph graph = make_graph(), other = make_graph();
  add_empty(graph);
  add_empty(graph);
  add_empty(other, {add_empty(other)});
  const Update update(instantiate(graph), other), back(instantiate(other), graph);
  EXPECT_EQ(update.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  EXPECT_EQ(update.node, nullptr);
  EXPECT_EQ(back.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  EXPECT_NE(back.node, nullptr);
}

TEST(GraphStructure, An_update_keeps_the_number_of_dimensions) {
  const Running running;
  const CUdeviceptr word = running.memory();
  const CUgraph graph = make_graph(), other = make_graph();
  add_set(graph, word, 1);
  const CUgraphNode changed = add_set(other, word, 1, {}, 2);
  const Update update(instantiate(graph), other);
  EXPECT_EQ(update.result, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
  EXPECT_EQ(update.node, changed);
}

TEST(GraphStructure, A_clone_keeps_the_order_of_the_nodes_without_dependents) {
  const Running running;
  const CUgraph graph = make_graph(), other = make_graph();
  const CUgraphNode first = add_empty(graph);
  add_set(graph, running.memory(), 1);
  need(driver().cuGraphDestroyNode(
      add_empty(graph, {first})));  // `first` is the newest one without dependents
  CUgraph clone = nullptr;
  need(driver().cuGraphClone(&clone, graph));
  add_set(other, running.memory(), 1);
  add_empty(other);
  EXPECT_EQ(Update(instantiate(graph), other).code, CUDA_SUCCESS);
  EXPECT_EQ(Update(instantiate(clone), other).code, CUDA_SUCCESS);
}

TEST(GraphStructure, An_update_names_a_node_of_a_child_graph) {
  const Running running;
  const CUdeviceptr word = running.memory();
  const CUgraph child = make_graph(), other_child = make_graph(), graph = make_graph(), other = make_graph();
  add_empty(child);
  add_set(other_child, word, 1);
  CUgraphNode node = nullptr, other_node = nullptr, inner = nullptr;
  need(driver().cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child));
  need(driver().cuGraphAddChildGraphNode(&other_node, other, nullptr, 0, other_child));
  CUgraph part = nullptr;
  std::size_t one = 1;
  need(driver().cuGraphChildGraphNodeGetGraph(other_node, &part));
  need(driver().cuGraphGetNodes(part, &inner, &one));
  const CUgraphExec executable = instantiate(graph);
  const Update update(executable, other);
  EXPECT_EQ(update.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
  EXPECT_EQ(update.node, inner);
  EXPECT_EQ(driver().cuGraphExecChildGraphNodeSetParams(executable, node, other_child),
            CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(driver().cuGraphExecChildGraphNodeSetParams(executable, node, child), CUDA_SUCCESS);
}

TEST(GraphStructure, The_shape_of_executable_memsets_of_two_dimensions_cannot_change) {
  const Running running;
  const CUdeviceptr words = running.memory();
  const CUgraph graph = make_graph();
  const CUgraphNode node = add_set(graph, words, 1, {}, 2);
  CUDA_MEMSET_NODE_PARAMS parameters{};
  need(driver().cuGraphMemsetNodeGetParams(node, &parameters));
  CUcontext context = nullptr;
  need(driver().cuCtxGetCurrent(&context));
  const CUgraphExec executable = instantiate(graph);
  ++parameters.value;
  EXPECT_EQ(driver().cuGraphExecMemsetNodeSetParams(executable, node, &parameters, context), CUDA_SUCCESS);
  parameters.height = 1;
  EXPECT_EQ(driver().cuGraphExecMemsetNodeSetParams(executable, node, &parameters, context),
            CUDA_ERROR_INVALID_VALUE);
}

TEST(GraphStructure, A_failed_free_makes_its_dependency_the_newest_node_without_dependents) {
  const Running running;
  const CUgraph graph = make_graph();
  const CUgraphNode first = add_empty(graph);
  add_set(graph, running.memory(), 1);
  const CUgraphExec executable = instantiate(graph);
  EXPECT_EQ(Update(executable, graph).code, CUDA_SUCCESS);
  CUgraphNode made = nullptr;
  EXPECT_EQ(driver().cuGraphAddMemFreeNode(&made, graph, &first, 1, 0), CUDA_ERROR_INVALID_VALUE);
  const Update update(executable, graph);
  EXPECT_EQ(update.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
  EXPECT_EQ(update.node, first);
}

TEST(GraphStructure, A_graph_that_holds_no_reference_releases_those_of_the_program) {
  Running running;
  int calls = 0;
  const auto count = [](void *data) { ++*static_cast<int *>(data); };
  CUuserObject object = nullptr;
  need(driver().cuUserObjectCreate(&object, &calls, count, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  const CUgraph graph = make_graph();
  EXPECT_EQ(driver().cuGraphReleaseUserObject(graph, object, 1), CUDA_SUCCESS);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(driver().cuGraphReleaseUserObject(graph, object, 2), CUDA_SUCCESS);
  running.machine.run();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(driver().cuUserObjectRelease(object, 1), CUDA_SUCCESS);
  running.machine.run();
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace cushim::sim
