// SPDX-License-Identifier: Apache-2.0
// Conditional nodes of graphs, with kernels in C++.
#include "graph_calls.hpp"
#include "support/ptx_header.hpp"
#include "support/schedules.hpp"
#include "support/structures.hpp"

#if CUDA_VERSION >= 13000

#include <cushim/sim/kernel.hpp>

#include <malloc.h>
#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace cushim::sim {
namespace {

const char *const kPtx = CUSHIM_PTX_HEADER R"(
.visible .entry count_down(.param .u64 handle, .param .u64 counter) { ret; }
.visible .entry add(.param .u64 to, .param .u32 value) { ret; }
)";

// A machine with two kernels: count_down decrements a word and sets the handle to it; add adds to a word.
struct WithKernels : RunningWithReports {
  explicit WithKernels(Options options = {}) : RunningWithReports(std::move(options)) {
    machine.kernel("count_down", [](const Launch &launch, cuuint64_t handle, std::uint32_t *counter) {
      launch.set_conditional(handle, --*counter);
    });
    machine.kernel("add", [](const Launch &, std::uint32_t *to, unsigned value) { *to += value; });
    need(driver().cuModuleLoadData(&module, kPtx));
    words = memory();
    need(driver().cuMemsetD8(words, 0, 4096));
    need(driver().cuCtxSynchronize());
  }

  CUgraphNode kernel(CUgraph graph, const char *name, std::vector<void *> arguments,
                     const std::vector<CUgraphNode> &after = {}) const {
    return add_kernel_node(graph, module, name, arguments.data(), after);
  }
  // Adds a loop that counts a word from `rounds` to 0, and returns its body. Each round adds 1 to `words`.
  CUgraph add_loop(CUgraph graph, unsigned rounds) const {
    CUgraphConditionalHandle handle = make_handle(graph, 1);
    CUdeviceptr counter = words + 4, to = words;
    unsigned one = 1;
    const CUDA_MEMSET_NODE_PARAMS start = test::memset_node(counter, rounds, 1, 4);
    CUgraphNode started = nullptr;
    need(driver().cuGraphAddMemsetNode(&started, graph, nullptr, 0, &start, context()));
    const CUgraph body = add_node(graph, handle, CU_GRAPH_COND_TYPE_WHILE, {started});
    const CUgraphNode added = kernel(body, "add", {&to, &one});
    kernel(body, "count_down", {&handle, &counter}, {added});
    return body;
  }
  static CUcontext context() {
    CUcontext found = nullptr;
    need(driver().cuCtxGetCurrent(&found));
    return found;
  }
  static CUgraphConditionalHandle make_handle(CUgraph graph, unsigned value,
                                              unsigned flags = CU_GRAPH_COND_ASSIGN_DEFAULT) {
    CUgraphConditionalHandle made = 0;
    need(driver().cuGraphConditionalHandleCreate(&made, graph, context(), value, flags));
    return made;
  }
  // Returns the first body.
  static CUgraph add_node(CUgraph graph, CUgraphConditionalHandle handle, CUgraphConditionalNodeType type,
                          const std::vector<CUgraphNode> &after = {}) {
    CUgraphNodeParams parameters = test::conditional_node(handle, type, 1, context());
    CUgraphNode made = nullptr;
    need(driver().cuGraphAddNode(&made, graph, after.data(), nullptr, after.size(), &parameters));
    return parameters.conditional.phGraph_out[0];
  }

  CUmodule module = nullptr;
  CUdeviceptr words = 0;  // zeros
};

class ConditionalNodesOfEachSchedule : public ::testing::TestWithParam<Schedule> {};
INSTANTIATE_TEST_SUITE_P(, ConditionalNodesOfEachSchedule, ::testing::ValuesIn(kEachSchedule),
                         ScheduleName());

TEST_P(ConditionalNodesOfEachSchedule, Run_their_rounds_in_stream_order) {
  const WithKernels with({.schedule = GetParam()});
  const CUgraph graph = make_graph();
  with.add_loop(graph, 50);
  const CUgraphExec executable = instantiate(graph);
  const CUstream stream = with.stream(), other = with.stream();
  auto *const seen = with.pinned(2);
  // Work that the wait below does not need.
  need(driver().cuMemsetD8Async(with.words + 64, 1, 64, other));
  for (unsigned i = 0; i < 2; ++i) {
    need(driver().cuGraphLaunch(executable, stream));
    need(driver().cuMemcpyDtoHAsync(seen + i, with.words, 4, stream));
  }
  need(driver().cuStreamSynchronize(stream));
  EXPECT_EQ(seen[0], 50u);
  EXPECT_EQ(seen[1], 100u);
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(with.machine.unfinished(), 0u);
}

TEST_P(ConditionalNodesOfEachSchedule, Take_the_same_virtual_time) {
  const auto time_of = [](const Options &options) {
    const WithKernels with(options);
    const CUgraph graph = make_graph();
    with.add_loop(graph, 10);
    const CUgraphExec executable = instantiate(graph);
    const CUstream stream = with.stream();
    const CUevent start = with.event(), end = with.event();
    need(driver().cuEventRecord(start, stream));
    need(driver().cuGraphLaunch(executable, stream));
    need(driver().cuEventRecord(end, stream));
    need(driver().cuEventSynchronize(end));
    float milliseconds = 0;
    need(driver().cuEventElapsedTime(&milliseconds, start, end));
    return milliseconds;
  };
  const float found = time_of({.schedule = GetParam()});
  EXPECT_EQ(found, time_of({.schedule = Schedule::deferred}));
  EXPECT_GE(found, 20 * 2e-3F);  // a launch takes 2 us
}

TEST_P(ConditionalNodesOfEachSchedule, Keep_their_memory_until_the_last_round) {
  const WithKernels with({.schedule = GetParam()});
  const CUgraph graph = make_graph();
  const CUgraph body = with.add_loop(graph, 20);
  const CUdeviceptr memory = with.memory();
  const CUDA_MEMSET_NODE_PARAMS set = test::memset_node(memory, 0, 4096, 1);
  CUgraphNode node = nullptr;
  need(driver().cuGraphAddMemsetNode(&node, body, nullptr, 0, &set, WithKernels::context()));
  const CUgraphExec executable = instantiate(graph);
  need(driver().cuGraphLaunch(executable, with.stream()));
  need(driver().cuMemFree(memory));
  EXPECT_EQ(word_at(with.words), 20u);
  EXPECT_EQ(driver().cuGraphLaunch(executable, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_P(ConditionalNodesOfEachSchedule, End_with_a_kernel_that_fails) {
  const WithKernels with({.schedule = GetParam()});
  const CUgraph graph = make_graph();
  const CUgraphConditionalHandle handle = WithKernels::make_handle(graph, 1);
  const CUgraph body = WithKernels::add_node(graph, handle, CU_GRAPH_COND_TYPE_WHILE);
  CUgraphConditionalHandle unknown = handle + 1;
  CUdeviceptr counter = with.words;
  with.kernel(body, "count_down", {&unknown, &counter});
  const CUgraphExec executable = instantiate(graph);
  static_cast<void>(driver().cuGraphLaunch(executable, with.stream()));
  EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(with.reports->find("no conditional handle of the kernel's context"), std::string::npos);
}

TEST_P(ConditionalNodesOfEachSchedule, May_be_unfinished_when_the_machine_ends) {
  const WithKernels with({.schedule = GetParam()});
  const CUgraph graph = make_graph();
  with.add_loop(graph, 50);
  need(driver().cuGraphLaunch(instantiate(graph), with.stream()));
}

#ifdef __GLIBC__
TEST(ConditionalNodes, Use_no_more_memory_for_100000_rounds_than_for_1000) {
  if (kIsSanitized) GTEST_SKIP() << "the sanitizer's heap keeps freed memory";
  const WithKernels with({.schedule = Schedule::deferred});
  const auto run = [&](unsigned rounds) {
    const CUgraph graph = make_graph();
    with.add_loop(graph, rounds);
    const CUgraphExec executable = instantiate(graph);
    need(driver().cuGraphLaunch(executable, nullptr));
    need(driver().cuCtxSynchronize());
    const std::size_t used = ::mallinfo2().uordblks;
    need(driver().cuGraphExecDestroy(executable));
    need(driver().cuGraphDestroy(graph));
    return used;
  };
  const std::size_t few = run(1'000), many = run(100'000);
  EXPECT_LT(many, few + (64 << 10));
  EXPECT_EQ(word_at(with.words), 101'000u);
}
#endif

TEST(ConditionalNodes, Report_a_condition_that_has_no_value) {
  const WithKernels with;
  const CUgraph graph = make_graph();
  CUdeviceptr to = with.words;
  unsigned one = 1;
  const CUgraphConditionalHandle handle = WithKernels::make_handle(graph, 1, 0);
  with.kernel(WithKernels::add_node(graph, handle, CU_GRAPH_COND_TYPE_IF), "add", {&to, &one});
  need(driver().cuGraphLaunch(instantiate(graph), nullptr));
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(word_at(with.words), 0u);
  EXPECT_NE(with.reports->find("undefined condition"), std::string::npos) << *with.reports;
}

TEST(ConditionalNodes, Are_missing_if_a_handle_of_a_child_graph_is_unused) {
  const WithKernels with;
  const CUgraph graph = make_graph(), child = make_graph();
  CUgraphNode node = nullptr;
  CUgraph part = nullptr;
  need(driver().cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child));
  need(driver().cuGraphChildGraphNodeGetGraph(node, &part));
  WithKernels::make_handle(part, 0);
  CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
  CUgraphExec made = nullptr;
  EXPECT_EQ(driver().cuGraphInstantiateWithParams(&made, graph, &parameters), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(static_cast<int>(parameters.result_out), 5);  // CONDITIONAL_HANDLE_UNUSED
}

TEST(ConditionalNodes, Are_in_the_description_of_a_graph) {
  const WithKernels with;
  const CUgraph graph = make_graph();
  with.add_loop(graph, 1);
  const std::string path = ::testing::TempDir() + "conditional_nodes.dot";
  need(driver().cuGraphDebugDotPrint(graph, path.c_str(), 0));
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_NE(text.str().find("conditional while 1"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("kernel count_down"), std::string::npos) << text.str();
}

TEST(ConditionalNodes, Return_their_parameters) {
  const WithKernels with({.driver_version = 13020});
  const CUgraph graph = make_graph();
  const CUgraphConditionalHandle handle = WithKernels::make_handle(graph, 0);
  const CUgraph body = WithKernels::add_node(graph, handle, CU_GRAPH_COND_TYPE_SWITCH);
  CUgraphNode node = nullptr;
  std::size_t count = 1;
  need(driver().cuGraphGetNodes(graph, &node, &count));
  CUgraphNodeParams found{};
  need(cushim::exact::cuGraphNodeGetParams_v13020(driver())(node, &found));
  EXPECT_EQ(found.type, CU_GRAPH_NODE_TYPE_CONDITIONAL);
  EXPECT_EQ(found.conditional.handle, handle);
  EXPECT_EQ(found.conditional.type, CU_GRAPH_COND_TYPE_SWITCH);
  EXPECT_EQ(found.conditional.size, 1u);
  EXPECT_EQ(found.conditional.phGraph_out[0], body);
  EXPECT_EQ(found.conditional.ctx, WithKernels::context());
}

TEST(ConditionalNodes, Of_a_body_can_use_a_handle_again_after_the_node_is_destroyed) {
  const WithKernels with;
  const CUgraph graph = make_graph();
  const CUgraphConditionalHandle handle = WithKernels::make_handle(graph, 0);
  WithKernels::add_node(graph, handle, CU_GRAPH_COND_TYPE_IF);
  CUgraphNode node = nullptr;
  std::size_t count = 1;
  need(driver().cuGraphGetNodes(graph, &node, &count));
  need(driver().cuGraphDestroyNode(node));
  WithKernels::add_node(graph, handle, CU_GRAPH_COND_TYPE_IF);
  instantiate(graph);
}

// Returns the result of a conditional node with this handle.
CUresult add_with(CUgraph graph, CUgraphConditionalHandle handle) {
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  parameters.conditional = {handle, CU_GRAPH_COND_TYPE_IF, 1, nullptr, WithKernels::context()};
  CUgraphNode made = nullptr;
  return driver().cuGraphAddNode(&made, graph, nullptr, nullptr, 0, &parameters);
}

// Measured on an H200, driver 580, as the following tests.
TEST(ConditionalNodes, Share_the_handles_of_their_graph_with_its_bodies) {
  const WithKernels with;
  const CUgraph graph = make_graph();
  const CUgraphConditionalHandle first = WithKernels::make_handle(graph, 0);
  const CUgraph body = WithKernels::add_node(graph, first, CU_GRAPH_COND_TYPE_IF);
  const CUgraphConditionalHandle second = WithKernels::make_handle(body, 0);
  EXPECT_EQ(add_with(body, first), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add_with(graph, second), CUDA_SUCCESS);
}

TEST(ConditionalNodes, Forbid_clones_of_all_parts_of_their_graph) {
  const WithKernels with;
  const CUgraph graph = make_graph();
  CUgraphNode node = nullptr;
  CUgraph part = nullptr, clone = nullptr;
  need(driver().cuGraphAddChildGraphNode(&node, graph, nullptr, 0, make_graph()));
  need(driver().cuGraphChildGraphNodeGetGraph(node, &part));
  EXPECT_EQ(driver().cuGraphClone(&clone, part), CUDA_SUCCESS);
  WithKernels::make_handle(part, 0);
  EXPECT_EQ(driver().cuGraphClone(&clone, part), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(driver().cuGraphAddChildGraphNode(&node, make_graph(), nullptr, 0, graph),
            CUDA_ERROR_NOT_SUPPORTED);
}

TEST(ConditionalNodes, Are_not_instantiated_while_their_graph_has_a_clone) {
  const WithKernels with;
  const CUgraph graph = make_graph(), outer = make_graph();
  CUgraph clone = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec made = nullptr;
  need(driver().cuGraphClone(&clone, graph));
  need(driver().cuGraphAddChildGraphNode(&node, outer, nullptr, 0, graph));
  WithKernels::add_node(graph, WithKernels::make_handle(graph, 0), CU_GRAPH_COND_TYPE_IF);
  EXPECT_EQ(driver().cuGraphInstantiate(&made, graph, 0), CUDA_ERROR_NOT_SUPPORTED);
  need(driver().cuGraphDestroy(clone));
  EXPECT_EQ(driver().cuGraphInstantiate(&made, graph, 0), CUDA_ERROR_NOT_SUPPORTED);
  need(driver().cuGraphDestroyNode(node));
  EXPECT_EQ(driver().cuGraphInstantiate(&made, graph, 0), CUDA_SUCCESS);
}

TEST(ConditionalNodes, Do_not_outlive_their_context_while_they_run) {
  const WithKernels with({.schedule = Schedule::deferred});
  CUcontext own = nullptr;
  need(cushim::exact::cuCtxCreate_v3020(driver())(&own, 0, 0));
  CUmodule module = nullptr;
  need(driver().cuModuleLoadData(&module, kPtx));
  const CUgraph graph = make_graph();
  CUgraphConditionalHandle handle = WithKernels::make_handle(graph, 1);
  const CUgraph body = WithKernels::add_node(graph, handle, CU_GRAPH_COND_TYPE_WHILE);
  auto *const counter = with.pinned();
  *counter = 30;
  CUdeviceptr address = reinterpret_cast<CUdeviceptr>(counter);
  void *arguments[] = {&handle, &address};
  add_kernel_node(body, module, "count_down", arguments);
  need(driver().cuGraphLaunch(instantiate(graph), with.stream()));
  need(driver().cuCtxDestroy(own));
  EXPECT_EQ(with.machine.unfinished(), 0u);
}

}  // namespace
}  // namespace cushim::sim

#endif
