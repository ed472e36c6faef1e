// SPDX-License-Identifier: Apache-2.0
// Graphs in the hazard checker: each defect with its corrected twin.
#include <cushim/exact.hpp>

#include "hazards_found.hpp"
#include "set_kernel.hpp"
#include "support/structures.hpp"

namespace cushim::check {
namespace {

constexpr std::size_t kSize = 1024;

class GraphHazards : public HazardsFound {
 protected:
  GraphHazards() {
    CUmodule module = nullptr;
    need(driver().cuModuleLoadData(&module, hazards::kSetKernel));
    need(driver().cuModuleGetFunction(&set_, module, "set"));
    need(driver().cuCtxGetCurrent(&context_));
    need(driver().cuGraphCreate(&graph_, 0));
  }
  using Nodes = std::vector<CUgraphNode>;

  CUDA_MEMCPY3D copy_of(CUdeviceptr to, CUdeviceptr from) const {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = from, copy.dstDevice = to;
    copy.WidthInBytes = kSize, copy.Height = copy.Depth = 1;
    return copy;
  }
  CUgraphNode add_copy(CUdeviceptr to, CUdeviceptr from, const Nodes &after) const {
    const CUDA_MEMCPY3D copy = copy_of(to, from);
    CUgraphNode made = nullptr;
    need(driver().cuGraphAddMemcpyNode(&made, graph_, after.data(), after.size(), &copy, context_));
    return made;
  }
  // Adds a child graph that sets `memory`.
  CUgraphNode add_child() {
    CUgraph inner = nullptr;
    need(driver().cuGraphCreate(&inner, 0));
    add_memset(memory, {}, inner);
    CUgraphNode child = nullptr;
    need(driver().cuGraphAddChildGraphNode(&child, graph_, nullptr, 0, inner));
    return child;
  }
  CUgraphNode add_memset(CUdeviceptr to, const Nodes &after, CUgraph graph = nullptr) const {
    const CUDA_MEMSET_NODE_PARAMS memset{
        .dst = to, .pitch = 0, .value = 1, .elementSize = 1, .width = kSize, .height = 1};
    CUgraphNode made = nullptr;
    need(driver().cuGraphAddMemsetNode(&made, graph != nullptr ? graph : graph_, after.data(), after.size(),
                                       &memset, context_));
    return made;
  }
  CUgraphNode add_kernel(CUdeviceptr to, const Nodes &after) const {
    void *parameters[] = {&to};
    CUDA_KERNEL_NODE_PARAMS launch{};
    launch.func = set_;
    launch.gridDimX = launch.gridDimY = launch.gridDimZ = 1;
    launch.blockDimX = kSize / 4, launch.blockDimY = launch.blockDimZ = 1;
    launch.kernelParams = parameters;
    CUgraphNode made = nullptr;
    need(driver().cuGraphAddKernelNode(&made, graph_, after.data(), after.size(), &launch));
    return made;
  }
  CUgraphExec instantiate(CUgraph graph = nullptr) const {
    CUgraphExec made = nullptr;
    need(exact::cuGraphInstantiateWithFlags_v11040(driver())(&made, graph != nullptr ? graph : graph_, 0));
    return made;
  }
  void launch(CUgraphExec executable, CUstream stream) const {
    need(driver().cuGraphLaunch(executable, stream));
  }

  CUfunction set_ = nullptr;
  CUcontext context_ = nullptr;
  CUgraph graph_ = nullptr;
};

TEST_F(GraphHazards, Two_nodes_without_an_edge_are_reported_by_their_names) {
  add_memset(memory, {});
  add_copy(other, memory, {});
  const CUgraphExec executable = instantiate();
  EXPECT_EQ(rules(), kNone);
  launch(executable, a);
  EXPECT_EQ(found(), kUnordered);
  const Finding finding = checker.finish().front();
  const std::string text = finding.to_text();
  EXPECT_NE(finding.what.find("copy node 2 of graph 0x"), text.npos) << text;
  EXPECT_NE(finding.what.find(" reads memory that memset node 1 of graph 0x"), text.npos) << text;
  EXPECT_NE(finding.what.find("no path of edges orders them: 1024 bytes from 0x"), text.npos) << text;
  ASSERT_EQ(finding.calls.size(), 3u);
  EXPECT_NE(finding.calls[0].text.find(", added by cuGraphAddMemsetNode"), text.npos) << text;
  EXPECT_NE(finding.calls[1].text.find(", added by cuGraphAddMemcpyNode"), text.npos) << text;
  EXPECT_EQ(finding.calls[2].text.substr(0, 25), "cuGraphLaunch in stream 1") << text;
  for (const Finding::Call &call : finding.calls) EXPECT_FALSE(call.call_stack.frames().empty());
}
TEST_F(GraphHazards, Two_nodes_with_an_edge_are_not_reported) {
  add_copy(other, memory, {add_memset(memory, {})});
  launch(instantiate(), a);
  EXPECT_EQ(found(), kNone);
}
TEST_F(GraphHazards, Two_nodes_with_a_path_of_edges_are_not_reported) {
  const CUdeviceptr third = running.memory();
  const CUgraphNode first = add_memset(memory, {});
  const CUgraphNode between = add_memset(third, {first});
  add_memset(other, {first});
  add_copy(other + kSize, memory, {between});
  launch(instantiate(), a);
  EXPECT_EQ(found(), kNone);
}
TEST_F(GraphHazards, Two_nodes_on_branches_that_join_later_are_reported) {
  const CUgraphNode first = add_memset(other, {});
  const CUgraphNode one = add_memset(memory, {first}), another = add_memset(memory, {first});
  add_copy(other, memory, {one, another});
  launch(instantiate(), a);
  EXPECT_EQ(found(), kUnordered);
}

TEST_F(GraphHazards, A_kernel_node_and_a_copy_node_without_an_edge_are_reported) {
  add_kernel(memory, {});
  add_copy(other, memory, {});
  launch(instantiate(), a);
  EXPECT_EQ(rules(), kNone);  // it has not run
  EXPECT_EQ(found(), kUnordered);
  EXPECT_NE(words().find("kernel node 1 of graph 0x"), std::string::npos) << words();
  EXPECT_NE(words().find("(kernel set) writes"), std::string::npos) << words();
}
TEST_F(GraphHazards, A_kernel_node_and_a_copy_node_with_an_edge_are_not_reported) {
  add_copy(other, memory, {add_kernel(memory, {})});
  launch(instantiate(), a);
  EXPECT_EQ(found(), kNone);
}
TEST_F(GraphHazards, Kernel_nodes_on_different_parts_of_one_allocation_are_not_reported) {
  add_kernel(memory, {});
  add_kernel(memory + kSize, {});
  add_copy(other, memory + 2 * kSize, {});
  launch(instantiate(), a);
  EXPECT_EQ(found(), kNone);
}

TEST_F(GraphHazards, A_launch_is_ordered_in_its_stream_as_a_whole) {
  add_memset(memory, {});
  const CUgraphExec executable = instantiate();
  need(driver().cuMemcpyDtoDAsync(other, memory, kSize, a));
  launch(executable, a);
  launch(executable, a);
  need(driver().cuMemcpyDtoDAsync(other, memory, kSize, a));
  order(a, b);
  need(driver().cuMemcpyDtoDAsync(running.memory(), memory, kSize, b));
  EXPECT_EQ(found(), kNone);
}
TEST_F(GraphHazards, A_launch_and_other_work_without_order_are_reported) {
  add_memset(memory, {add_kernel(other, {})});
  launch(instantiate(), a);
  need(driver().cuMemcpyDtoDAsync(running.memory(), memory, kSize, b));
  EXPECT_EQ(found(), kUnordered);
  EXPECT_NE(words().find("cuGraphLaunch (memset node 2 of graph 0x"), std::string::npos) << words();
}
TEST_F(GraphHazards, A_kernel_of_a_launch_and_other_work_without_order_are_reported) {
  add_kernel(memory, {});
  launch(instantiate(), a);
  need(driver().cuMemcpyDtoDAsync(other, memory, kSize, b));
  EXPECT_EQ(found(), kUnordered);
}
TEST_F(GraphHazards, Two_graphs_in_two_streams_without_order_are_reported) {
  add_memset(memory, {});
  const CUgraphExec one = instantiate(), another = instantiate();
  launch(one, a);
  launch(another, b);
  EXPECT_EQ(found(), kUnordered);
}

// ---- Captures ----

class CapturedGraphs : public GraphHazards {
 protected:
  CUgraph captured(bool is_ordered) {
    need(driver().cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    need(driver().cuMemsetD8Async(other + kSize, 0, kSize, a));
    order(a, b);
    void *parameters[] = {const_cast<CUdeviceptr *>(&memory)};
    need(driver().cuLaunchKernel(set_, 1, 1, 1, kSize / 4, 1, 1, 0, a, parameters, nullptr));
    if (is_ordered) order(a, b);
    need(driver().cuMemcpyDtoDAsync(other, memory, kSize, b));
    order(b, a);
    CUgraph made = nullptr;
    need(driver().cuStreamEndCapture(a, &made));
    return made;
  }
};

TEST_F(CapturedGraphs, Work_of_two_streams_without_order_is_reported_with_the_captured_calls) {
  launch(instantiate(captured(false)), a);
  EXPECT_EQ(found(), kUnordered);
  EXPECT_NE(words().find(", added by cuLaunchKernel"), std::string::npos) << words();
  EXPECT_NE(words().find(", added by cuMemcpyDtoDAsync_v2"), std::string::npos) << words();
}
TEST_F(CapturedGraphs, Work_of_two_streams_in_order_is_not_reported) {
  const CUgraphExec executable = instantiate(captured(true));
  for (int i = 0; i < 3; ++i) launch(executable, a);
  EXPECT_EQ(found(), kNone);
}
TEST_F(CapturedGraphs, Host_functions_run_at_each_launch) {
  static int count;
  count = 0;
  need(driver().cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
  need(driver().cuLaunchHostFunc(
      a, [](void *) { ++count; }, nullptr));
  CUgraph made = nullptr;
  need(driver().cuStreamEndCapture(a, &made));
  const CUgraphExec executable = instantiate(made);
  for (int i = 0; i < 3; ++i) launch(executable, a);
  EXPECT_EQ(found(), kNone);
  EXPECT_EQ(count, 3);
}

// ---- Changes ----

TEST_F(GraphHazards, Changed_parameters_count_from_the_next_launch_on) {
  add_memset(memory, {});
  const CUgraphNode copy = add_copy(other, memory + kSize, {});
  const CUgraphExec executable = instantiate();
  launch(executable, a);
  EXPECT_EQ(found(), kNone);
  const CUDA_MEMCPY3D same_memory = copy_of(other, memory);
  need(driver().cuGraphExecMemcpyNodeSetParams(executable, copy, &same_memory, context_));
  launch(executable, a);
  EXPECT_EQ(found(), kUnordered);
}
TEST_F(GraphHazards, A_disabled_node_accesses_nothing) {
  const CUgraphNode set = add_memset(memory, {});
  add_copy(other, memory, {});
  const CUgraphExec executable = instantiate();
  need(driver().cuGraphNodeSetEnabled(executable, set, 0));
  launch(executable, a);
  EXPECT_EQ(found(), kNone);
  need(driver().cuGraphNodeSetEnabled(executable, set, 1));
  launch(executable, a);
  EXPECT_EQ(found(), kUnordered);
}
TEST_F(GraphHazards, An_update_replaces_the_accesses) {
  const CUgraphNode set = add_memset(memory, {});
  add_copy(other, memory + 2 * kSize, {set});
  const CUgraphExec executable = instantiate();
  CUDA_MEMSET_NODE_PARAMS elsewhere{
      .dst = other, .pitch = 0, .value = 1, .elementSize = 1, .width = kSize, .height = 1};
  need(driver().cuGraphMemsetNodeSetParams(set, &elsewhere));
  need(exact::cuGraphExecUpdate_v10020(driver())(executable, graph_, nullptr, nullptr));
  launch(executable, a);
  need(driver().cuMemcpyDtoDAsync(running.memory(), memory, kSize, b));
  EXPECT_EQ(found(), kNone);
}

// ---- Child graphs and memory of graphs ----

TEST_F(GraphHazards, A_node_of_a_child_graph_and_one_beside_it_are_reported) {
  add_child();
  add_copy(other, memory, {});
  launch(instantiate(), a);
  EXPECT_EQ(found(), kUnordered);
  EXPECT_NE(words().find("memset node 1 of child graph node 1 of graph 0x"), std::string::npos) << words();
}
TEST_F(GraphHazards, A_node_after_a_child_graph_is_not_reported) {
  add_copy(other, memory, {add_child()});
  launch(instantiate(), a);
  EXPECT_EQ(found(), kNone);
}

TEST_F(GraphHazards, Memory_that_a_node_allocates_needs_an_edge_to_its_users) {
  for (const bool is_ordered : {false, true}) {
    Hazards own(driver());
    need(driver().cuGraphCreate(&graph_, 0));
    CUDA_MEM_ALLOC_NODE_PARAMS allocation = test::allocation_node(kSize);
    CUgraphNode allocate = nullptr, free = nullptr;
    need(driver().cuGraphAddMemAllocNode(&allocate, graph_, nullptr, 0, &allocation));
    const CUgraphNode set = add_memset(allocation.dptr, {allocate});
    const CUgraphNode copy = add_copy(other, allocation.dptr, {is_ordered ? set : allocate});
    const CUgraphNode ends[] = {set, copy};
    need(driver().cuGraphAddMemFreeNode(&free, graph_, ends, 2, allocation.dptr));
    const CUgraphExec executable = instantiate();
    for (int i = 0; i < 2; ++i) launch(executable, a);
    need(driver().cuCtxSynchronize());
    Names names;
    for (const Finding &finding : own.finish()) names.push_back(finding.rule);
    EXPECT_EQ(names, is_ordered ? kNone : kUnordered);
  }
}

// 1,000 stages of eight parallel nodes.
TEST_F(GraphHazards, A_large_graph_is_checked) {
  const CUdeviceptr large = running.memory(8 * kSize);
  CUgraphNode last = nullptr;
  for (int stage = 0; stage < 1000; ++stage) {
    Nodes branches;
    for (int i = 0; i < 8; ++i)
      branches.push_back(add_memset(large + i * kSize, last != nullptr ? Nodes{last} : Nodes{}));
    last = add_memset(memory, branches);
  }
  add_copy(other, memory, {});
  launch(instantiate(), a);
  ASSERT_EQ(found(), kUnordered);
}

#if CUDA_VERSION >= 13000

class ConditionalHazards : public GraphHazards {
 protected:
  // Adds a conditional node whose condition is 1, and returns its bodies.
  std::vector<CUgraph> add_conditional(CUgraphConditionalNodeType type, unsigned bodies, const Nodes &after,
                                       CUgraphNode *made) const {
    CUgraphConditionalHandle handle = 0;
    need(driver().cuGraphConditionalHandleCreate(&handle, graph_, context_, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNodeParams parameters = test::conditional_node(handle, type, bodies, context_);
    need(driver().cuGraphAddNode(made, graph_, after.data(), nullptr, after.size(), &parameters));
    return {parameters.conditional.phGraph_out, parameters.conditional.phGraph_out + bodies};
  }
};

TEST_F(ConditionalHazards, Of_a_body_and_a_node_beside_it_are_reported) {
  CUgraphNode conditional = nullptr;
  add_memset(memory, {}, add_conditional(CU_GRAPH_COND_TYPE_IF, 1, {}, &conditional)[0]);
  add_memset(memory, {});
  launch(instantiate(), a);
  EXPECT_EQ(found(), kUnordered);
  EXPECT_NE(words().find(" of conditional node 1 of graph 0x"), std::string::npos) << words();
}

TEST_F(ConditionalHazards, Of_a_body_and_a_node_before_or_after_it_are_not_reported) {
  CUgraphNode conditional = nullptr;
  add_memset(memory, {},
             add_conditional(CU_GRAPH_COND_TYPE_IF, 1, {add_memset(memory, {})}, &conditional)[0]);
  add_memset(memory, {conditional});
  launch(instantiate(), a);
  EXPECT_EQ(found(), kNone);
}

TEST_F(ConditionalHazards, Of_two_bodies_are_not_reported) {
  CUgraphNode conditional = nullptr;
  for (const CUgraph body : add_conditional(CU_GRAPH_COND_TYPE_SWITCH, 2, {}, &conditional))
    add_memset(memory, {}, body);
  launch(instantiate(), a);
  EXPECT_EQ(found(), kNone);
}

TEST_F(ConditionalHazards, Of_two_nodes_of_a_body_are_reported) {
  CUgraphNode conditional = nullptr;
  const CUgraph body = add_conditional(CU_GRAPH_COND_TYPE_IF, 1, {}, &conditional)[0];
  add_memset(memory, {}, body);
  add_memset(memory, {}, body);
  launch(instantiate(), a);
  EXPECT_EQ(found(), kUnordered);
  EXPECT_NE(words().find(" of conditional node 1 of graph 0x"), std::string::npos) << words();
}

#endif

}  // namespace
}  // namespace cushim::check
