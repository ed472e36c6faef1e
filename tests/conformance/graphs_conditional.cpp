// SPDX-License-Identifier: Apache-2.0
// Conditional nodes of graphs. The statements follow the documentation: CUDA_CONDITIONAL_NODE_PARAMS,
// CU_GRAPH_NODE_TYPE_CONDITIONAL and cuGraphConditionalHandleCreate in cuda.h, and "Conditional Graph Nodes"
// in the CUDA C++ Programming Guide. No answers of a GPU are recorded for them yet, and the documentation
// does not tell every error code.
#include "graphs.hpp"

#if CONFORMANCE_HAS_GRAPHS

namespace conformance {
namespace {

// set: sets the value of a handle. count_down: decrements a word and sets the handle to it. add: adds to a
// word.
const char *const kConditionalCode = R"(
.version 7.8
.target sm_52
.address_size 64
.extern .func cudaGraphSetConditional (.param .b64 handle, .param .b32 value);
.visible .entry set(.param .u64 handle, .param .u32 value) {
  .reg .u64 h; .reg .u32 v;
  ld.param.u64 h, [handle]; ld.param.u32 v, [value];
  { .param .b64 p0; .param .b32 p1;
    st.param.b64 [p0], h; st.param.b32 [p1], v; call.uni cudaGraphSetConditional, (p0, p1); }
  ret;
}
.visible .entry count_down(.param .u64 handle, .param .u64 counter) {
  .reg .u64 h, c; .reg .u32 v;
  ld.param.u64 h, [handle]; ld.param.u64 c, [counter];
  ld.global.u32 v, [c]; sub.u32 v, v, 1; st.global.u32 [c], v;
  { .param .b64 p0; .param .b32 p1;
    st.param.b64 [p0], h; st.param.b32 [p1], v; call.uni cudaGraphSetConditional, (p0, p1); }
  ret;
}
.visible .entry add(.param .u64 to, .param .u32 value) {
  .reg .u64 t; .reg .u32 v, w;
  ld.param.u64 t, [to]; ld.param.u32 v, [value];
  ld.global.u32 w, [t]; add.u32 w, w, v; st.global.u32 [t], w;
  ret;
}
)";

class GraphConditions : public OnGraph {
 protected:
  void SetUp() override {
    OnGraph::SetUp();
    if (IsSkipped()) return;
    NEED(driver().cuModuleLoadData(&conditional_module, kConditionalCode));
    to = memory();
    NEED(driver().cuMemsetD8(to, 0, 4096));
    NEED(driver().cuCtxSynchronize());
  }
  void TearDown() override {
    OnGraph::TearDown();
    if (conditional_module != nullptr) driver().cuModuleUnload(conditional_module);
  }

 public:
  CUgraphConditionalHandle handle(CUgraph graph) {
    CUgraphConditionalHandle made = 0;
    NEED(driver().cuGraphConditionalHandleCreate(&made, graph, context, 0, 0));
    return made;
  }
  // Makes a handle that has this value at the start of each launch.
  CUgraphConditionalHandle handle(CUgraph graph, unsigned value) {
    CUgraphConditionalHandle made = 0;
    NEED(driver().cuGraphConditionalHandleCreate(&made, graph, context, value, CU_GRAPH_COND_ASSIGN_DEFAULT));
    return made;
  }

  CUgraphNodeParams parameters_of(CUgraphConditionalHandle handle, CUgraphConditionalNodeType type,
                                  unsigned size) const {
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    parameters.conditional.handle = handle;
    parameters.conditional.type = type;
    parameters.conditional.size = size;
    parameters.conditional.ctx = context;
    return parameters;
  }
  struct Node {
    CUgraphNode node = nullptr;
    std::vector<CUgraph> bodies{};
  };
  Node conditional(CUgraph graph, CUgraphConditionalHandle handle, CUgraphConditionalNodeType type,
                   unsigned size = 1, const Nodes &after = {}) {
    CUgraphNodeParams parameters = parameters_of(handle, type, size);
    Node made;
    NEED(driver().cuGraphAddNode(&made.node, graph, after.data(), nullptr, after.size(), &parameters));
    CUgraph *const bodies = parameters.conditional.phGraph_out;
    made.bodies.assign(bodies, bodies + size);
    return made;
  }
  CUresult add(CUgraph graph, CUgraphConditionalHandle handle, CUgraphConditionalNodeType type,
               unsigned size) {
    CUgraphNodeParams parameters = parameters_of(handle, type, size);
    return driver().cuGraphAddNode(&node_out, graph, nullptr, nullptr, 0, &parameters);
  }

  CUgraphNode kernel_node(CUgraph graph, const char *name, std::vector<void *> arguments,
                          const Nodes &after = {}) {
    CUgraphNode made = nullptr;
    const CUDA_KERNEL_NODE_PARAMS parameters = launch_of(name, arguments);
    NEED(driver().cuGraphAddKernelNode(&made, graph, after.data(), after.size(), &parameters));
    return made;
  }
  CUDA_KERNEL_NODE_PARAMS launch_of(const char *name, std::vector<void *> &arguments) {
    CUDA_KERNEL_NODE_PARAMS parameters{};
    parameters.func = function(name);
    parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 1;
    parameters.blockDimX = parameters.blockDimY = parameters.blockDimZ = 1;
    parameters.kernelParams = arguments.data();
    return parameters;
  }
  CUfunction function(const char *name) {
    CUfunction found = nullptr;
    NEED(driver().cuModuleGetFunction(&found, conditional_module, name));
    return found;
  }
  CUgraphNode set_handle(CUgraph graph, CUgraphConditionalHandle handle, unsigned value,
                         const Nodes &after = {}) {
    return kernel_node(graph, "set", {&handle, &value}, after);
  }
  CUgraphNode count_down(CUgraph graph, CUgraphConditionalHandle handle, CUdeviceptr counter,
                         const Nodes &after = {}) {
    return kernel_node(graph, "count_down", {&handle, &counter}, after);
  }
  CUgraphNode add_to(CUgraph graph, CUdeviceptr address, unsigned value, const Nodes &after = {}) {
    return kernel_node(graph, "add", {&address, &value}, after);
  }
  // Adds a loop whose rounds count the word `to` down, and add 1 to the next word.
  void add_loop(CUgraph graph, unsigned rounds) {
    const auto h = handle(graph, 1);
    const CUgraphNode count = set(graph, to, rounds);
    const Node node = conditional(graph, h, CU_GRAPH_COND_TYPE_WHILE, 1, {count});
    const CUgraphNode added = add_to(node.bodies[0], to + 4, 1);
    count_down(node.bodies[0], h, to, {added});
  }
  CUgraphInstantiateResult instantiate(CUgraph graph) {
    CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
    code = driver().cuGraphInstantiateWithParams(&executable_out, graph, &parameters);
    node_in_error = parameters.hErrNode_out;
    return parameters.result_out;
  }

  CUmodule conditional_module = nullptr;
  CUdeviceptr to = 0;  // 4096 bytes of zeros
  CUgraphConditionalHandle handle_out = 0;
  CUresult code = CUDA_SUCCESS;
  CUgraphNode node_in_error = nullptr;
};

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
