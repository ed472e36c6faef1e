// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <string>
#include <vector>

#include "graph_calls.hpp"
#include "support/folder.hpp"
#include "support/structures.hpp"

namespace cushim::sim {
namespace {

// Adds a node that sets a word.
CUgraphNode add_set(CUgraph graph, CUdeviceptr to, unsigned value,
                    const std::vector<CUgraphNode> &after = {}) {
  const CUDA_MEMSET_NODE_PARAMS parameters = test::memset_node(to, value, 1, 4);
  CUcontext context = nullptr;
  CUgraphNode made = nullptr;
  need(driver().cuCtxGetCurrent(&context));
  need(driver().cuGraphAddMemsetNode(&made, graph, after.data(), after.size(), &parameters, context));
  return made;
}

TEST(Graphs, Run_independent_nodes_in_an_order_that_the_seed_chooses) {
  std::set<unsigned> last;
  for (unsigned long seed = 0; seed < 20; ++seed) {
    const Running running({.schedule = Schedule::seeded, .seed = seed});
    const CUdeviceptr word = running.memory();
    const CUgraph graph = make_graph();
    add_set(graph, word, 1);
    add_set(graph, word, 2);
    const CUstream stream = running.stream();
    need(driver().cuGraphLaunch(instantiate(graph), stream));
    need(driver().cuStreamSynchronize(stream));
    last.insert(word_at(word));
  }
  EXPECT_EQ(last, (std::set<unsigned>{1, 2}));
}

TEST(Graphs, Run_dependent_nodes_in_order_under_each_seed) {
  for (unsigned long seed = 0; seed < 20; ++seed) {
    const Running running({.schedule = Schedule::seeded, .seed = seed});
    const CUdeviceptr word = running.memory();
    const CUgraph graph = make_graph();
    CUgraphNode node = nullptr;
    for (unsigned value = 1; value <= 5; ++value)
      node = value == 1 ? add_set(graph, word, value) : add_set(graph, word, value, {node});
    const CUstream stream = running.stream();
    need(driver().cuGraphLaunch(instantiate(graph), stream));
    need(driver().cuMemsetD32Async(word + 4, 6, 1, stream));
    need(driver().cuStreamSynchronize(stream));
    EXPECT_EQ(word_at(word), 5u) << "seed " << seed;
  }
}

TEST(Graphs, Run_nodes_that_depend_on_nodes_created_later) {
  for (const Schedule schedule : {Schedule::eager, Schedule::deferred}) {
    const Running running({.schedule = schedule});
    const CUdeviceptr word = running.memory();
    const CUgraph graph = make_graph();
    const CUgraphNode last = add_set(graph, word, 3), middle = add_set(graph, word, 2),
                      first = add_set(graph, word, 1);
    const CUgraphNode from[] = {middle, first}, to[] = {last, middle};
    need(exact::cuGraphAddDependencies_v10000(driver())(graph, from, to, 2));
    const CUstream stream = running.stream();
    need(driver().cuGraphLaunch(instantiate(graph), stream));
    need(driver().cuStreamSynchronize(stream));
    EXPECT_EQ(word_at(word), 3u);
  }
}

TEST(Graphs, A_launch_after_the_memory_of_a_node_was_freed_fails_and_runs_the_nodes_before) {
  const Running running({.schedule = Schedule::deferred});
  const CUdeviceptr kept = running.memory(), freed = running.memory();
  const CUgraph graph = make_graph();
  add_set(graph, freed, 2, {add_set(graph, kept, 1)});
  const CUgraphExec executable = instantiate(graph);
  need(driver().cuMemFree(freed));
  EXPECT_EQ(driver().cuGraphLaunch(executable, running.stream()), CUDA_ERROR_INVALID_VALUE);
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(word_at(kept), 1u);
}

TEST(Graphs, Memory_of_a_launch_in_progress_is_freed_after_the_launch) {
  const Running running({.schedule = Schedule::deferred});
  const CUdeviceptr word = running.memory();
  const CUgraph graph = make_graph();
  add_set(graph, word, 1);
  const CUstream stream = running.stream();
  need(driver().cuGraphLaunch(instantiate(graph), stream));
  need(driver().cuMemFree(word));
  EXPECT_EQ(driver().cuStreamQuery(stream), CUDA_SUCCESS);
}

TEST(Graphs, A_graph_of_many_branches_and_joins_is_launched) {
  constexpr unsigned kBranches = 1'000;
  const Running running({.schedule = Schedule::deferred});
  const CUdeviceptr words = running.memory(4 * kBranches);
  const CUgraph graph = make_graph();
  const CUgraphNode fork = add_set(graph, words, 7);
  std::vector<CUgraphNode> branches;
  for (unsigned i = 0; i < kBranches; ++i) branches.push_back(add_set(graph, words + 4 * i, i + 1, {fork}));
  add_set(graph, words, 9, branches);
  const CUstream stream = running.stream();
  need(driver().cuGraphLaunch(instantiate(graph), stream));
  need(driver().cuStreamSynchronize(stream));
  EXPECT_EQ(word_at(words), 9u);
  EXPECT_EQ(word_at(words + 4 * (kBranches - 1)), kBranches);
  for (const CUgraphNode branch : branches) need(driver().cuGraphDestroyNode(branch));
  need(driver().cuGraphDestroy(graph));
}

TEST(Graphs, Are_counted_until_they_are_destroyed) {
  const Running running;
  const auto alive = [&](const std::string &what) {
    std::size_t count = 0;
    for (const Usage::Alive &each : running.machine.usage().alive)
      if (each.what == what) count += each.count;
    return count;
  };
  const CUgraph graph = make_graph();
  const CUgraphExec executable = instantiate(graph);
  EXPECT_EQ(alive("graphs"), 1u);
  EXPECT_EQ(alive("executable graphs"), 1u);
  need(driver().cuGraphDestroy(graph));
  need(driver().cuGraphExecDestroy(executable));
  EXPECT_EQ(alive("graphs"), 0u);
  EXPECT_EQ(alive("executable graphs"), 0u);
}

// Returns a graph that owns an object, whose destructor increments the count.
CUgraph graph_with_an_object(CUdeviceptr memory, int *destroys) {
  const CUgraph graph = make_graph();
  add_set(graph, memory, 1);
  CUuserObject object = nullptr;
  need(driver().cuUserObjectCreate(
      &object, destroys, [](void *count) { ++*static_cast<int *>(count); }, 1,
      CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  need(driver().cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  return graph;
}

TEST(Graphs, A_user_object_is_destroyed_after_the_launch_that_uses_it) {
  Running running({.schedule = Schedule::deferred});
  int destroys = 0;
  const CUgraph graph = graph_with_an_object(running.memory(), &destroys);
  const CUgraphExec executable = instantiate(graph);
  need(driver().cuGraphDestroy(graph));
  need(driver().cuGraphLaunch(executable, running.stream()));
  need(driver().cuGraphExecDestroy(executable));
  EXPECT_EQ(destroys, 0);
  need(driver().cuCtxSynchronize());
  running.machine.run();
  EXPECT_EQ(destroys, 1);
}

TEST(Graphs, An_update_replaces_the_user_objects_after_the_launch_that_uses_them) {
  Running running({.schedule = Schedule::deferred});
  int before = 0, after = 0;
  const CUgraph graph = graph_with_an_object(running.memory(), &before);
  const CUgraphExec executable = instantiate(graph);
  need(driver().cuGraphDestroy(graph));
  need(driver().cuGraphLaunch(executable, running.stream()));
  const CUgraph update = graph_with_an_object(running.memory(), &after);
  need(exact::cuGraphExecUpdate_v10020(driver())(executable, update, nullptr, nullptr));
  need(driver().cuGraphDestroy(update));
  EXPECT_EQ(before, 0);
  need(driver().cuCtxSynchronize());
  running.machine.run();
  EXPECT_EQ(before, 1);
  EXPECT_EQ(after, 0);
  need(driver().cuGraphExecDestroy(executable));
  running.machine.run();
  EXPECT_EQ(after, 1);
}

TEST(Graphs, New_parameters_of_a_child_graph_replace_its_user_objects_and_no_others) {
  Running running;
  const CUdeviceptr memory = running.memory();
  int of_outer = 0, of_child = 0, of_second = 0, of_first_change = 0, of_second_change = 0;
  const CUgraph outer = graph_with_an_object(memory, &of_outer);
  const auto add_child = [&](int *destroys) {
    const CUgraph graph = graph_with_an_object(memory, destroys);
    CUgraphNode node = nullptr;
    need(driver().cuGraphAddChildGraphNode(&node, outer, nullptr, 0, graph));
    need(driver().cuGraphDestroy(graph));
    return node;
  };
  const CUgraphNode child = add_child(&of_child);
  add_child(&of_second);
  const CUgraphExec executable = instantiate(outer);
  const auto change = [&](int *destroys) {
    const CUgraph graph = graph_with_an_object(memory, destroys);
    need(driver().cuGraphExecChildGraphNodeSetParams(executable, child, graph));
    need(driver().cuGraphDestroy(graph));
    running.machine.run();
  };
  change(&of_first_change);
  change(&of_second_change);
  EXPECT_EQ(of_first_change, 1);
  EXPECT_EQ(of_child, 0);  // the graph's node has it
  need(driver().cuGraphDestroy(outer));
  running.machine.run();
  EXPECT_EQ(of_child, 1);
  EXPECT_EQ(of_outer + of_second + of_second_change, 0);
  need(driver().cuGraphExecDestroy(executable));
  running.machine.run();
  for (const int destroys : {of_outer, of_child, of_second, of_first_change, of_second_change})
    EXPECT_EQ(destroys, 1);
}

TEST(Graphs, Are_described_in_the_dot_language) {
  const Running running;
  const Folder folder;
  const CUgraph graph = make_graph();
  add_set(graph, running.memory(), 2, {add_set(graph, running.memory(), 1)});
  const std::string path = folder.path("graph.dot");
  need(driver().cuGraphDebugDotPrint(graph, path.c_str(), 0));
  const std::string text = bytes_of(path);
  EXPECT_EQ(text.find("digraph"), 0u) << text;
  EXPECT_NE(text.find("label=\"memset\""), text.npos) << text;
  EXPECT_NE(text.find(" -> "), text.npos) << text;
}

// Returns the description of a graph with these flags.
std::string description_of(CUgraph graph, unsigned flags) {
  const Folder folder;
  const std::string path = folder.path("graph.dot");
  need(driver().cuGraphDebugDotPrint(graph, path.c_str(), flags));
  return bytes_of(path);
}

TEST(Graphs, Are_described_with_the_parameters_that_flags_ask_for) {
  const Running running;
  const CUgraph graph = make_graph();
  const CUgraphNode set = add_set(graph, running.memory(), 77);
  CUDA_HOST_NODE_PARAMS host{[](void *) {}, nullptr};
  CUgraphNode made = nullptr;
  need(driver().cuGraphAddHostNode(&made, graph, &set, 1, &host));
  need(driver().cuGraphAddEventRecordNode(&made, graph, &set, 1, running.event()));
  struct Row {
    unsigned flags;
    std::string_view added;
  };
  for (const auto &[flags, added] :
       {Row{CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS, "\\nvalue: 77"},
        Row{CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS, "\\nuserData: 0x0"},
        Row{CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS, "\\nevent: 0x"},
        Row{CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES, "\\nnode: 0x"}, Row{1U << 14, "[label=\"1 to 0\"]"},
        Row{CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS | CU_GRAPH_DEBUG_DOT_FLAGS_RUNTIME_TYPES,
            "cudaMemsetParams"}}) {
    EXPECT_EQ(description_of(graph, 0).find(added), std::string::npos) << added;
    EXPECT_EQ(description_of(graph, ~flags & 0xFFFEU).find(added), std::string::npos) << added;
    EXPECT_NE(description_of(graph, flags).find(added), std::string::npos) << added;
  }
  const std::string all = description_of(graph, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE);
  EXPECT_NE(all.find("CUDA_MEMSET_NODE_PARAMS"), all.npos) << all;
  EXPECT_NE(all.find("userData"), all.npos) << all;
}

#if CUDA_VERSION >= 13000
// Measured on an H200, driver 580.
TEST(Graphs, Need_a_function_of_a_kernel_before_they_need_a_graph) {
  const Running running;
  CUgraphNodeParams node{};
  node.type = CU_GRAPH_NODE_TYPE_KERNEL;
  EXPECT_EQ(driver().cuGraphAddNode(nullptr, nullptr, nullptr, nullptr, 0, &node), CUDA_ERROR_INVALID_HANDLE);
  node.type = CU_GRAPH_NODE_TYPE_HOST;
  EXPECT_EQ(driver().cuGraphAddNode(nullptr, nullptr, nullptr, nullptr, 0, &node), CUDA_ERROR_INVALID_VALUE);
}
#endif

TEST(CapturedStreams, End_their_capture_when_their_context_is_destroyed) {
  const Running running;
  CUcontext context = nullptr;
  need(exact::cuCtxCreate_v3020(driver())(&context, 0, 0));
  const CUstream stream = running.stream();
  need(exact::cuStreamBeginCapture_v10010(driver())(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  need(driver().cuCtxDestroy(context));
  CUdeviceptr memory = 0;
  need(driver().cuDevicePrimaryCtxRetain(&context, 0));
  need(driver().cuCtxSetCurrent(context));
  EXPECT_EQ(driver().cuMemAlloc(&memory, 16), CUDA_SUCCESS);
}

// Entry points that drivers before 13.1 and 13.2 lack.
#if CUDA_VERSION >= 13000
TEST(Graphs, Identify_a_node_by_the_number_in_the_printed_graph) {
  const Running running({.driver_version = 13020});
  const CUgraph graph = make_graph();
  const CUdeviceptr word = running.memory();
  const CUgraphNode first = add_set(graph, word, 1), second = add_set(graph, word, 2, {first});
  unsigned one = 0, two = 0;
  ASSERT_EQ(driver().cuGraphNodeGetLocalId(first, &one), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuGraphNodeGetLocalId(second, &two), CUDA_SUCCESS);
  const Folder folder;
  const std::string path = folder.path("graph.dot");
  need(driver().cuGraphDebugDotPrint(graph, path.c_str(), 0));
  EXPECT_NE(bytes_of(path).find("node_" + std::to_string(one) + " -> node_" + std::to_string(two)),
            std::string::npos);
  unsigned long long tools_one = 0, tools_two = 0;
  ASSERT_EQ(driver().cuGraphNodeGetToolsId(first, &tools_one), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuGraphNodeGetToolsId(second, &tools_two), CUDA_SUCCESS);
  EXPECT_NE(tools_one, tools_two);
  EXPECT_EQ(driver().cuGraphNodeGetLocalId(nullptr, &one), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuGraphNodeGetToolsId(first, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST(Graphs, Return_the_parameters_of_a_node_of_any_type) {
  const Running running({.driver_version = 13020});
  const CUgraph graph = make_graph();
  const CUdeviceptr word = running.memory();
  CUgraphNodeParams found{};
  ASSERT_EQ(driver().cuGraphNodeGetParams(add_set(graph, word, 5), &found), CUDA_SUCCESS);
  EXPECT_EQ(found.type, CU_GRAPH_NODE_TYPE_MEMSET);
  EXPECT_EQ(found.memset.dst, word);
  EXPECT_EQ(found.memset.value, 5u);
  CUcontext context = nullptr;
  need(driver().cuCtxGetCurrent(&context));
  EXPECT_EQ(found.memset.ctx, context);
  CUgraphNode empty = nullptr;
  need(driver().cuGraphAddEmptyNode(&empty, graph, nullptr, 0));
  ASSERT_EQ(driver().cuGraphNodeGetParams(empty, &found), CUDA_SUCCESS);
  EXPECT_EQ(found.type, CU_GRAPH_NODE_TYPE_EMPTY);
  EXPECT_EQ(driver().cuGraphNodeGetParams(empty, nullptr), CUDA_ERROR_INVALID_VALUE);
}
#endif

}  // namespace
}  // namespace cushim::sim
